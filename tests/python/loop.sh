#!/usr/bin/env bash
# Tests StepReporter with real PyTorch: the loop from a plan over a training with gloo to the prediction of a job of
# another shape, the callbacks in Hugging Face's Trainer and in Lightning, what the hooks of torchtitan and Megatron
# take, and the overhead. 6 GB, of which 3 GB are fetched; it trains for about 5 min on two idle cores. The last line
# counts: "N passed, N failed".
#
#   tests/python/loop.sh [--keep FOLDER] [--help]
#
#   --keep FOLDER  keep the virtual environment in FOLDER, for the next run
set -uo pipefail
export LC_ALL=C.UTF-8 EVENKEEL_PURE=1

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=
passed=0
failed=0

while [ $# -gt 0 ]; do
  case $1 in
    --keep) folder=$(realpath -m "${2:?--keep names a folder}"); shift ;;
    -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "loop.sh: unknown option $1" >&2; exit 2 ;;
  esac
  shift
done
if [ -z "$folder" ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
fi
mkdir -p "$folder"
python=$folder/loop/bin/python

install() {
  [ -x "$python" ] || /usr/bin/python3 -m venv "$folder/loop" || return
  "$python" -m pip install -q torch transformers accelerate lightning torchtitan &&
    "$python" -m pip install -q --no-deps megatron-core &&
    "$python" -m pip install -q --force-reinstall --no-deps "$root/client/python" &&
    "$python" -m pip install -q "$root/client/python"
}

tests() {
  local output=$folder/$1.log ran bad skipped
  (cd "$root/tests/python/loop" && "$python" -m unittest -v "$1") >"$output" 2>&1 </dev/null
  grep -aE '^test_.*\.\.\.|^(FAIL|ERROR)|predicted' "$output" | cut -c1-200
  ran=$(sed -n 's/^Ran \([0-9]*\) test.*/\1/p' "$output")
  bad=$(grep -acE '^(FAIL|ERROR): ' "$output")
  skipped=$(sed -n 's/.*skipped=\([0-9]*\).*/\1/p' "$output")
  [ -n "$ran" ] && [ "$ran" != 0 ] || bad=$((bad + 1))
  [ "$bad" = 0 ] || tail -n 60 "$output"
  failed=$((failed + bad))
  passed=$((passed + ${ran:-0} - bad - ${skipped:-0}))
}

if [ ! -x "$root/build/bin/evenkeel-server" ]; then
  echo "build/bin/evenkeel-server is missing: tests/run.sh --only build"
  echo "0 passed, 1 failed"
  exit 1
fi
install || { echo "0 passed, 1 failed"; exit 1; }
tests test_trainers
tests test_loop
if "$python" "$root/tests/python/loop/overhead.py"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
