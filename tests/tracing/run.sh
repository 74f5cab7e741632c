#!/usr/bin/env bash
# The spans of a real evenkeel-server, as a real OpenTelemetry Collector sees them.
#
#   tests/tracing/run.sh [--no-install]
#
# Needs build/bin/evenkeel-server (deploy/quickstart.sh or tests/run.sh --only build), root for missing packages, and
# the Go module proxy: the collector is built into build/tracing-tools, in some minutes the first time. Last line:
# "integration: N passed, N failed".
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
version=v0.115.0 # of the collector; also in builder.yaml

case ${1:-} in
  '') deploy/install-packages.sh test ;;
  --no-install) ;;
  *) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
[ -x build/bin/evenkeel-server ] ||
  { echo "run.sh: no build/bin/evenkeel-server: tests/run.sh --only build" >&2; exit 1; }

tools=$PWD/build/tracing-tools
if [ ! -x "$tools/otelcol-$version" ]; then
  echo "OpenTelemetry Collector $version"
  go=$(client/go/toolchain.sh build/tools)
  PATH=$(dirname "$go"):$PATH
  export PATH GOTOOLCHAIN=local GOBIN=$tools GOFLAGS='-p=2 -buildvcs=false'
  go install "go.opentelemetry.io/collector/cmd/builder@$version"
  "$tools/builder" --config tests/tracing/builder.yaml
  mv "$tools/otelcol/otelcol" "$tools/otelcol-$version"
  rm -rf "$tools/otelcol" "$tools/builder"
fi
EVENKEEL_COLLECTOR=$tools/otelcol-$version exec /usr/bin/python3 tests/tracing/test_collector.py
