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

# shellcheck source=tests/python/environment.sh
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
python=$folder/loop/bin/python

install() {
  [ -x "$python" ] || /usr/bin/python3 -m venv "$folder/loop" || return
  "$python" -m pip install -q torch transformers accelerate lightning torchtitan &&
    "$python" -m pip install -q --no-deps megatron-core &&
    "$python" -m pip install -q --force-reinstall --no-deps "$root/client/python" &&
    "$python" -m pip install -q "$root/client/python"
}

if [ ! -x "$root/build/bin/evenkeel-server" ]; then
  echo "build/bin/evenkeel-server is missing: tests/run.sh --only build"
  not_installed
fi
install || not_installed
count_tests "$python" "$root/tests/python/loop" some test_trainers
count_tests "$python" "$root/tests/python/loop" some test_loop
if "$python" "$root/tests/python/loop/overhead.py"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
finish
