#!/usr/bin/env bash
# Tests evenkeel.streams and evenkeel.energon against the newest releases of the real packages: Hugging Face datasets,
# MosaicML Streaming, WebDataset, Megatron-Energon. Two environments, because Streaming pins an older huggingface-hub
# than datasets needs. 12 GB, of which 6 GB are fetched. The last line counts: "N passed, N failed".
#
#   tests/python/online.sh [--keep FOLDER] [--help]
#
#   --keep FOLDER  keep the virtual environments in FOLDER, for the next run
set -uo pipefail
export LC_ALL=C.UTF-8 OPENBLAS_NUM_THREADS=1

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=
passed=0
failed=0

while [ $# -gt 0 ]; do
  case $1 in
    --keep) folder=$(realpath -m "${2:?--keep names a folder}"); shift ;;
    -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "online.sh: unknown option $1" >&2; exit 2 ;;
  esac
  shift
done
if [ -z "$folder" ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
fi
mkdir -p "$folder"

# tests ENVIRONMENT CLASSES PACKAGES: installs and counts each test. Words of both lists are split.
tests() {
  local output=$folder/$1.log ran bad
  if [ ! -x "$folder/$1/bin/python" ]; then
    python3 -m venv "$folder/$1" || return 1
  fi
  # shellcheck disable=SC2086
  if ! "$folder/$1/bin/pip" install -q $3 "$root/client/python" >"$output" 2>&1; then
    echo "FAILED  packages of $1: $3"
    tail -n 20 "$output"
    failed=$((failed + 1))
    return
  fi
  # shellcheck disable=SC2086
  (cd "$root/tests/python" && "$folder/$1/bin/python" -m unittest -v $2) >"$output" 2>&1 </dev/null
  grep -aE '^test_.*\.\.\.|^(FAIL|ERROR)' "$output" | cut -c1-160
  ran=$(sed -n 's/^Ran \([0-9]*\) test.*/\1/p' "$output")
  bad=$(grep -acE '^(FAIL|ERROR): ' "$output")
  [ -n "$ran" ] && [ "$ran" != 0 ] && ! grep -aq 'skipped=' "$output" || bad=$((bad + 1)) # nothing may be skipped here
  [ "$bad" = 0 ] || tail -n 60 "$output"
  failed=$((failed + bad))
  passed=$((passed + ${ran:-0} - bad))
}

tests datasets "test_streams.HuggingFaceTest" "torch torchdata datasets"
tests streaming "test_streams.MosaicTest test_streams.WebDatasetTest test_streams.EnergonTest" \
  "torch mosaicml-streaming webdataset megatron-energon"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
