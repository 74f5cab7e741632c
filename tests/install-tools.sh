#!/usr/bin/env bash
# Puts the test tools that are no ready Debian packages into FOLDER/bin: grpcurl and buf at pinned versions; prometheus,
# promtool and redis-server of Debian. Does nothing for those that are there.
#
#   tests/install-tools.sh FOLDER
set -euo pipefail

grpcurl_version=v1.9.1 # the last release that Debian 12's Go 1.19 builds
buf_version=1.75.0

[ $# = 1 ] || { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
mkdir -p "$1/bin"
tools=$(cd "$1" && pwd)

# The Debian package's Go is preferred: a newer one also builds grpcurl, but a fresh machine does not have it.
find_go() {
  local go
  for go in /usr/lib/go-1.19/bin/go /usr/bin/go "$(command -v go || true)"; do
    [ -x "$go" ] && { echo "$go"; return; }
  done
  echo "install-tools.sh: no Go compiler: apt-get install golang-go" >&2
  return 1
}

if [ ! -x "$tools/bin/grpcurl-$grpcurl_version" ]; then
  echo "grpcurl $grpcurl_version"
  go=$(find_go)
  GOBIN="$tools/bin" GOPATH="$tools/go" GOCACHE="$tools/go-cache" GOTOOLCHAIN=local \
    "$go" install -p 2 -ldflags=-s "github.com/fullstorydev/grpcurl/cmd/grpcurl@$grpcurl_version"
  mv "$tools/bin/grpcurl" "$tools/bin/grpcurl-$grpcurl_version"
  chmod -R u+w "$tools/go" && rm -rf "$tools/go" "$tools/go-cache"
fi
ln -sf "grpcurl-$grpcurl_version" "$tools/bin/grpcurl"

if [ ! -x "$tools/bin/buf-$buf_version" ]; then
  echo "buf $buf_version"
  /usr/bin/python3 -m venv "$tools/buf"
  "$tools/buf/bin/pip" install --quiet --disable-pip-version-check --no-deps "buf-bin==$buf_version"
  cp "$tools/buf/bin/buf" "$tools/bin/buf-$buf_version"
  rm -rf "$tools/buf"
fi
ln -sf "buf-$buf_version" "$tools/bin/buf"

# Installing these packages would start a service on this machine, so they are unpacked by hand.
if [ ! -x "$tools/bin/prometheus" ]; then
  echo "prometheus and promtool"
  unpacked=$(mktemp -d)
  trap 'rm -rf "$unpacked"' EXIT
  (cd "$unpacked" && apt-get download -q -o APT::Sandbox::User=root prometheus >/dev/null &&
    dpkg-deb -x prometheus_*.deb .)
  rm -f "$tools/bin/promtool"
  cp "$unpacked/usr/bin/promtool" "$unpacked/usr/bin/prometheus" "$tools/bin/"
fi

# redis-server is the same program under another name. redis-tools contains it without the service.
ln -sf "$(command -v redis-check-rdb)" "$tools/bin/redis-server"
