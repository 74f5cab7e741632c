#!/usr/bin/env bash
# Tests evenkeel.ray with a real Ray (1 GB of packages), in a fresh environment with the wheel of client/python, whose
# planner is compiled in build/python. The last line counts: "N passed, N failed".
#
#   tests/ray/run.sh [--keep FOLDER] [--help]
#
#   --keep FOLDER  keep the virtual environment in FOLDER, for the next run and for tests/bench/ray_lengths.py
set -uo pipefail
export LC_ALL=C.UTF-8 OPENBLAS_NUM_THREADS=1 RAY_USAGE_STATS_ENABLED=0 RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO=0

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=

while [ $# -gt 0 ]; do
  case $1 in
    --keep) folder=$(realpath -m "${2:?--keep names a folder}"); shift ;;
    -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "run.sh: unknown option $1" >&2; exit 2 ;;
  esac
  shift
done
if [ -z "$folder" ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
fi
mkdir -p "$folder"

[ -x "$folder/ray/bin/python" ] || python3 -m venv "$folder/ray" || exit 1
if ! "$folder/ray/bin/pip" install -q "$root/client/python[ray]" >"$folder/log" 2>&1 ||
  ! "$folder/ray/bin/pip" install -q --force-reinstall --no-deps "$root/client/python" >>"$folder/log" 2>&1; then
  tail -n 20 "$folder/log"
  echo "0 passed, 1 failed"
  exit 1
fi
(cd "$root/tests/ray" && "$folder/ray/bin/python" -m unittest -v test_ray) >"$folder/log" 2>&1 </dev/null
grep -aE '^test_.*\.\.\.|^(FAIL|ERROR)' "$folder/log" | cut -c1-160
ran=$(sed -n 's/^Ran \([0-9]*\) test.*/\1/p' "$folder/log")
bad=$(grep -acE '^(FAIL|ERROR): ' "$folder/log")
[ -n "$ran" ] && [ "$ran" != 0 ] && ! grep -aq 'skipped=' "$folder/log" || bad=$((bad + 1)) # nothing may be skipped
[ "$bad" = 0 ] || tail -n 60 "$folder/log"
echo "$((${ran:-0} - bad)) passed, $bad failed"
[ "$bad" = 0 ]
