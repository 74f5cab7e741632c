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

# shellcheck source=tests/python/environment.sh
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

# tests ENVIRONMENT CLASSES PACKAGES: installs and counts each test. Words of both lists are split.
tests() {
  local output=$folder/$1.log
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
  count_tests "$folder/$1/bin/python" "$root/tests/python" none $2
}

tests datasets "test_streams.HuggingFaceTest" "torch torchdata datasets"
tests streaming "test_streams.MosaicTest test_streams.WebDatasetTest test_streams.EnergonTest" \
  "torch mosaicml-streaming webdataset megatron-energon"
finish
