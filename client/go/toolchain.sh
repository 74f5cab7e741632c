#!/usr/bin/env bash
# Prints the path of a Go command that is new enough for client/go (1.26), and fetches one first where there is none.
# Debian 12 has Go 1.19, which knows no GOTOOLCHAIN; but the Go module proxy serves toolchains as modules, and that Go
# can download a module, with its checksum.
#
#   client/go/toolchain.sh FOLDER        FOLDER: where a fetched toolchain is kept, such as build/tools
set -euo pipefail
version=1.26.8
sum="h1:ZOmGe1OnfREDMIdb1Qi4G9JSuDPBLGExZMQ4nis1RXM="

[ $# = 1 ] || { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2; }

new_enough() {
  local found
  found=$(GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null) || return 1
  [ "$(printf '%s\n' "go1.26" "$found" | sort -V | head -n 1)" = go1.26 ]
}

installed=$(command -v go || true)
if [ -n "$installed" ] && new_enough "$installed"; then
  echo "$installed"
  exit
fi
mkdir -p "$1"
folder=$(cd "$1" && pwd)/go-$version
if [ ! -x "$folder/bin/go" ]; then
  [ -n "$installed" ] || { echo "toolchain.sh: no Go at all: apt-get install golang-go" >&2; exit 1; }
  cache=$(mktemp -d)
  trap 'chmod -R u+w "$cache" && rm -rf "$cache"' EXIT
  echo "fetching Go $version" >&2
  GOMODCACHE=$cache GOFLAGS=-modcacherw "$installed" mod download -json \
    "golang.org/toolchain@v0.0.1-go$version.linux-amd64" >"$cache/report.json" ||
    { cat "$cache/report.json" >&2; exit 1; }
  grep -qF "\"$sum\"" "$cache/report.json" || { echo "toolchain.sh: the toolchain has another checksum" >&2; exit 1; }
  # A module keeps no rights to execute.
  cp -r "$cache/golang.org/toolchain@v0.0.1-go$version.linux-amd64" "$folder.new"
  chmod -R u+w "$folder.new"
  chmod +x "$folder.new"/bin/* "$folder.new"/pkg/tool/linux_amd64/*
  mv "$folder.new" "$folder"
fi
new_enough "$folder/bin/go" || { echo "toolchain.sh: $folder/bin/go does not run" >&2; exit 1; }
echo "$folder/bin/go"
