#!/usr/bin/env bash
# Prints the path of the kustomize that tests render deploy/kubernetes with, and builds it first where it is not there.
#
#   tests/deploy/kustomize.sh FOLDER        FOLDER: where it is kept, such as build/deploy-tools
set -euo pipefail
version=v5.0.3 # the last that Debian 12's Go 1.19 builds without being told another toolchain

[ $# = 1 ] || { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd)
if [ ! -x "$folder/kustomize-$version" ]; then
  echo "kustomize $version" >&2
  go=/usr/lib/go-1.19/bin/go
  [ -x $go ] || go=$(command -v go) || { echo "kustomize.sh: no Go: apt-get install golang-go" >&2; exit 1; }
  GOBIN=$folder GOPATH=$folder/go GOCACHE=$folder/go-cache GOTOOLCHAIN=local GOFLAGS='' \
    "$go" install -p 2 -ldflags=-s "sigs.k8s.io/kustomize/kustomize/v5@$version" >&2
  mv "$folder/kustomize" "$folder/kustomize-$version"
  chmod -R u+w "$folder/go" && rm -rf "$folder/go" "$folder/go-cache"
fi
ln -sf "kustomize-$version" "$folder/kustomize"
echo "$folder/kustomize"
