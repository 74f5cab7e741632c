#!/usr/bin/env bash
# Writes client/go/evenkeelv1 from proto/ with the generators that go.mod pins. Needs protoc (protobuf-compiler).
#
#   client/go/generate.sh [--check]      --check: writes nothing, fails if the committed code is not what comes out
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
root=$(cd ../.. && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

mkdir -p "$folder/bin" "$folder/out"
GOBIN=$folder/bin go install -p 2 google.golang.org/protobuf/cmd/protoc-gen-go \
  google.golang.org/grpc/cmd/protoc-gen-go-grpc
# The contract names no Go package: it belongs to no language. Here it gets one.
package=evenkeel.dev/client/go/evenkeelv1
mapfile -t protos < <(cd "$root/proto" && find evenkeel -name '*.proto' | sort)
mapping=()
for proto in "${protos[@]}"; do
  mapping+=("--go_opt=M$proto=$package" "--go-grpc_opt=M$proto=$package")
done
PATH=$folder/bin:$PATH protoc -I "$root/proto" "${mapping[@]}" \
  --go_out="$folder/out" --go_opt=module=evenkeel.dev/client/go \
  --go-grpc_out="$folder/out" --go-grpc_opt=module=evenkeel.dev/client/go "${protos[@]}"
# Which protoc made it is no part of the result: every version writes the same code for these files.
sed -i '/^\/\/ \(- \)\?\t\?protoc  *v/d;/^\/\/ \tprotoc /d;/^\/\/ - protoc /d' "$folder"/out/evenkeelv1/*.go

if [ "${1:-}" = --check ]; then
  diff -r "$folder/out/evenkeelv1" evenkeelv1 >/dev/null ||
    { echo "client/go/evenkeelv1 is not what proto/ gives: run client/go/generate.sh" >&2; exit 1; }
  echo "client/go/evenkeelv1 is current"
else
  rm -rf evenkeelv1
  cp -r "$folder/out/evenkeelv1" evenkeelv1
fi
