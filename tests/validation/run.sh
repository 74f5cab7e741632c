#!/usr/bin/env bash
# Predicted against measured, for every row that the model covers:
#   tests/validation/run.sh [--measured DIR] [--only NAME] [--parts] [--set CONSTANT=VALUE ...]
# DIR holds *.json in the format of tests/validation/measured, which is the default. Status 1: a bound does not hold.
#   tests/validation/run.sh --runs tests/validation/runs|FILE.jsonl [--only NAME] [--trainer NAME] [--parts] [--set ...]
# Errors on published runs of many trainers by family, trainer, GPU and regime, and how many are in their intervals.
# A file of the folder is one family: what its rows share, its models by name, its rows. A line of FILE.jsonl is a whole
# row, in these words or in others that harness/row_words.cc knows. Bytes are GiB, times seconds of one step.
# --trainer generic predicts every run as if its trainer were unknown.
# Status 1: fewer than 60% of the times of a family of 20 or more are inside. Status 2: no row is covered.
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
