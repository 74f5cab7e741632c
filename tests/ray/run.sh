#!/usr/bin/env bash
# Tests evenkeel.ray with a real Ray (1 GB of packages), in a fresh environment with the wheel of client/python, whose
# planner is compiled in build/python. The last line counts: "N passed, N failed".
#
#   tests/ray/run.sh [--keep FOLDER] [--help]
#
#   --keep FOLDER  keep the virtual environment in FOLDER, for the next run and for tests/bench/ray_lengths.py
set -uo pipefail
export LC_ALL=C.UTF-8 OPENBLAS_NUM_THREADS=1 RAY_USAGE_STATS_ENABLED=0 RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO=0

# shellcheck source=tests/python/environment.sh
. "$(dirname "${BASH_SOURCE[0]}")/../python/environment.sh"

[ -x "$folder/ray/bin/python" ] || python3 -m venv "$folder/ray" || exit 1
if ! "$folder/ray/bin/pip" install -q "$root/client/python[ray]" >"$folder/log" 2>&1 ||
  ! "$folder/ray/bin/pip" install -q --force-reinstall --no-deps "$root/client/python" >>"$folder/log" 2>&1; then
  tail -n 20 "$folder/log"
  not_installed
fi
count_tests "$folder/ray/bin/python" "$root/tests/ray" none test_ray
finish
