#!/usr/bin/env bash
# The long forms of the reliability tests, each into a log under build/soak-logs/, and a table of their results. Needs
# what tests/run.sh builds and installs (tests/run.sh --only build). Timings want idle cores.
#
#   tests/soak/run.sh [SCENARIO]...      without one: all of them
#
# Scenarios (docs/RELIABILITY.md says what each has to reach):
#   stores       1,000 damaged files of plans, of profiles, and of each that an earlier version wrote; cost of the check
#   kills        the server killed 200 times while it writes its file of plans
#   redis        the shared profile store killed 50 times during writes
#   replicas     10,000 calls during a rolling restart, and during an upgrade and back
#   rotation     20 certificates in 30 s under load, and bad files for 5 s each
#   floods       more connections than files, 60,000 resets, 400 slow peers, hostile messages
#   overload     60 s at four times saturation, heavy jobs with known plans, deadlines, fairness, histories
#   steady       30 minutes at half load, with all of it on: errors, memory, descriptors, threads, latency
#   known        known plans against an echo: 1, 8 and 64 callers
#   series       100,000 different jobs, and how many series of metrics they leave
#   random       3,000 random jobs of full size and 100,000 small ones, and what must hold of their plans, by two
#                processes (tests/metamorphic/checks.h); EVENKEEL_RANDOM_FULL, EVENKEEL_RANDOM_SMALL and
#                EVENKEEL_RANDOM_SEED change counts and seed. Findings: build/soak-logs/random-{full,small}/
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
python=/usr/bin/python3
logs=build/soak-logs
mkdir -p $logs
scenarios=("$@")
[ ${#scenarios[@]} -gt 0 ] ||
  scenarios=(stores kills redis replicas rotation floods overload known series random steady)
bad=0
rows=()

integration() { "$python" tests/integration/run.py "$@"; }

# random_jobs SIZE COUNT OPTION...: all findings go to the folder, and a summary to the log.
random_jobs() {
  local folder=$logs/random-$1
  rm -rf "$folder"
  build/tests/random_jobs --size "$1" --jobs "$2" --seed "${EVENKEEL_RANDOM_SEED:-1}" --parallel 2 \
    --out "$folder" "${@:3}"
}

# Runs both sizes, even if one fails. Each ends with its own count.
random() {
  local bad=0
  random_jobs full "${EVENKEEL_RANDOM_FULL:-3000}" --pins 1 --one-in 8 || bad=1
  random_jobs small "${EVENKEEL_RANDOM_SMALL:-100000}" --pins 1 --one-in 8 || bad=1
  return $bad
}

scenario() {
  case $1 in
    stores)
      EVENKEEL_DAMAGED_FILES=1000 EVENKEEL_STORE_MIB=1024 build/tests/core_tests \
        --gtest_filter='Damaged*:PlanStoreTest.TellsWhatItsCheckCosts'
      ;;
    kills) EVENKEEL_KILLS=200 integration test_kills_while_it_writes ;;
    redis) EVENKEEL_REDIS_KILLS=50 integration test_shared_profiles ;;
    replicas) EVENKEEL_REPLICA_CALLS=10000 integration RollingTest ;;
    rotation) EVENKEEL_ROTATIONS=20 EVENKEEL_BAD_FILE_SECONDS=5 integration test_tls ;;
    floods) EVENKEEL_RESETS=60000 EVENKEEL_SLOW_PEERS=200 integration test_flood ;;
    overload) EVENKEEL_SOAK_SECONDS=60 integration test_overload ;;
    known) build/bin/known_plan_bench ;;
    series) EVENKEEL_SERIES_JOBS=100000 build/tests/server_tests --gtest_filter='Bounded*Many*' ;;
    random) random ;;
    steady) "$python" tests/soak/steady.py --minutes "${EVENKEEL_STEADY_MINUTES:-30}" ;;
    *) echo "run.sh: no scenario $1" >&2; return 2 ;;
  esac
}

for name in "${scenarios[@]}"; do
  started=$SECONDS
  echo "== $name"
  if scenario "$name" >"$logs/$name.log" 2>&1 </dev/null; then word=ok; else word=FAILED; bad=$((bad + 1)); fi
  tail -n 12 "$logs/$name.log" | sed 's/^/    /'
  rows+=("$(printf '%-10s %-6s %5d s' "$name" "$word" $((SECONDS - started)))")
done
echo
printf '%s\n' "${rows[@]}"
[ $bad = 0 ]
