#!/usr/bin/env bash
# Shared by the suites that run unittest in a virtual environment of their own: loop.sh, online.sh, tests/ray/run.sh.
# A script sources this with its own arguments. It then has `root` (the repository), `folder` (for environments and
# logs; removed at the end unless --keep names it), and the functions below.
# shellcheck disable=SC2034  # for the scripts that source this
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=
passed=0
failed=0

while [ $# -gt 0 ]; do
  case $1 in
    --keep) folder=$(realpath -m "${2:?--keep names a folder}"); shift ;;
    -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "$(basename "$0"): unknown option $1" >&2; exit 2 ;;
  esac
  shift
done
if [ -z "$folder" ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
fi
mkdir -p "$folder"

# count_tests PYTHON PLACE SKIPS NAME...: runs these modules or classes of unittest in the folder PLACE and counts each
# test. SKIPS: "none" if a test that is skipped has failed, "some" if it does not count.
count_tests() {
  local python=$1 place=$2 skips=$3 output=$folder/log ran bad skipped
  shift 3
  (cd "$place" && "$python" -m unittest -v "$@") >"$output" 2>&1 </dev/null
  grep -aE '^test_.*\.\.\.|^(FAIL|ERROR)|predicted' "$output" | cut -c1-200
  ran=$(sed -n 's/^Ran \([0-9]*\) test.*/\1/p' "$output")
  bad=$(grep -acE '^(FAIL|ERROR): ' "$output")
  skipped=$(sed -n 's/.*skipped=\([0-9]*\).*/\1/p' "$output")
  [ -n "$ran" ] && [ "$ran" != 0 ] || bad=$((bad + 1))
  [ "$skips" = some ] || bad=$((bad + ${skipped:-0}))
  [ "$skips" = none ] || ran=$((${ran:-0} - ${skipped:-0}))
  [ "$bad" = 0 ] || tail -n 60 "$output"
  failed=$((failed + bad))
  passed=$((passed + ${ran:-0} - bad))
}

# not_installed: ends the suite, because what it needs is not there.
not_installed() {
  failed=$((failed + 1))
  finish
}

finish() {
  echo "$passed passed, $failed failed"
  [ "$failed" = 0 ]
  exit
}
