#!/usr/bin/env bash
# Predicted against measured, for every row that the model covers:
#   tests/validation/run.sh [--measured DIR] [--only NAME] [--parts] [--set CONSTANT=VALUE ...]
# DIR holds *.json in the format of tests/validation/measured, which is the default. Status 1: a bound does not hold.
#   tests/validation/run.sh --runs tests/validation/runs|FILE.jsonl [--only NAME] [--parts] [--set CONSTANT=VALUE ...]
# Errors on published runs of many trainers, family by family. A file is one family: what its rows share, its models by
# name, its rows. Bytes are GiB, times seconds of one step.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${EVENKEEL_BUILD:-build}
if [ ! -x "$build/tests/validate" ]; then
  generator=()
  [ -e "$build/CMakeCache.txt" ] || generator=(-G Ninja)
  cmake -S . -B "$build" "${generator[@]}" >/dev/null
  cmake --build "$build" --target validate >/dev/null
fi
exec "$build/tests/validate" "$@"
