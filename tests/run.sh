#!/usr/bin/env bash
# Builds and tests everything, on a fresh Debian 12 too. Logs are in build/test-logs/. The last line counts the tests:
# "N passed, N failed"; the exit status is 0 only if none failed.
#
#   tests/run.sh [--all] [--sanitize] [--only SUITE]... [--start-within MINUTES] [--no-install] [--help]
#
#   --all          the build with clang and that with sanitizers too
#   --sanitize     only the builds with sanitizers and their tests
#   --only SUITE   only this suite (and the build that it needs); may be given several times
#   --start-within MINUTES
#                  start no suite after that many minutes; the summary names those that were left out
#   --no-install   install nothing: the packages of deploy/packages-{build,test}.txt are there
#   --help         this text
#
# Suites, in order:
#   lint           layers, lengths, comments of the contract, clang-format, buf, shellcheck; each linter's own test
#   build          gcc, every warning an error; tests too
#   unit           ctest: unit, property and golden tests, brute-force twins of every search, and the fuzzers' corpora
#   integration    real server, real evenkeelctl, real grpcurl
#   footprint      idle memory (at most 40 MiB) and start-up time of the server
# with --all, or when named:
#   clang          each source alone with clang, every warning an error; benchmarks too
#   compilers      plans of gcc and clang builds are equal, byte for byte
#   asan           AddressSanitizer + UndefinedBehaviorSanitizer over everything that is free of gRPC
# and only when named:
#   tsan           ThreadSanitizer over the same
#   clang-tidy     a small list of checks over the planner (.clang-tidy)
#   bench          the benchmarks of tests/bench
#
# Property tests draw 60 cases from a fixed seed, so that a failure comes again; RC_PARAMS="seed=N max_success=M" draws
# others.
# shellcheck disable=SC2317  # suite runs functions by name
set -uo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
tools=build/tools
logs=build/test-logs
jobs=${EVENKEEL_TEST_JOBS:-2}
python=/usr/bin/python3 # Debian's own: python3-grpcio belongs to it
install=1
start_within=0 # seconds; 0: no limit
known="lint build unit integration footprint clang compilers asan tsan clang-tidy bench"
suites=()
passed=0
failed=0
rows=()

usage() { sed -n '2,/^[^#]/{/shellcheck/d;s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; }

while [ $# -gt 0 ]; do
  case $1 in
    --all) suites+=(lint build unit integration footprint clang compilers asan) ;;
    --sanitize) suites+=(asan tsan) ;;
    --only)
      [[ " $known " == *" ${2:-none} "* ]] || { echo "run.sh: --only takes one of: $known" >&2; exit 2; }
      suites+=("$2")
      shift
      ;;
    --start-within)
      [[ ${2:-} =~ ^[1-9][0-9]{0,3}$ ]] || { echo "run.sh: --start-within takes minutes, 1 to 9999" >&2; exit 2; }
      start_within=$(($2 * 60))
      shift
      ;;
    --no-install) install=0 ;;
    -h | --help) usage; exit 0 ;;
    *) echo "run.sh: unknown option $1" >&2; usage >&2; exit 2 ;;
  esac
  shift
done
[ ${#suites[@]} -gt 0 ] || suites=(lint build unit integration footprint)

# finish: prints the summary and the last line.
finish() {
  echo
  echo "Summary after $SECONDS s:"
  printf '  %s\n' "${rows[@]}"
  echo "$passed passed, $failed failed"
  [ "$failed" = 0 ]
  exit
}

# suite NAME COMMAND [ARGUMENT ...]: runs it into its log. Its last line may count ("N passed, N failed"); otherwise it
# counts as one.
suite() {
  local name=$1 started=$SECONDS status=0 good=0 bad=0 last
  shift
  if [ "$start_within" != 0 ] && [ "$started" -gt "$start_within" ]; then
    rows+=("$(printf '%-12s left out: %d s had passed' "$name" "$started")")
    echo "== $name: left out, $started s have passed"
    return 1
  fi
  echo "== $name"
  "$@" >"$logs/$name.log" 2>&1 </dev/null || status=$?
  last=$(tail -n 1 "$logs/$name.log")
  if [[ $last =~ ([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    good=${BASH_REMATCH[1]}
    bad=${BASH_REMATCH[2]}
    [ "$status" = 0 ] || [ "$bad" != 0 ] || bad=1
  elif [ "$status" = 0 ]; then
    good=1
  else
    bad=1
  fi
  passed=$((passed + good))
  failed=$((failed + bad))
  rows+=("$(printf '%-12s %5d passed %4d failed %5d s' "$name" "$good" "$bad" $((SECONDS - started)))")
  echo "   $good passed, $bad failed, $((SECONDS - started)) s"
  if [ "$bad" != 0 ]; then
    echo "   the end of $logs/$name.log:"
    grep -nE 'FAILED|error:|ERROR|Failure|runtime error' "$logs/$name.log" | head -n 30 | sed 's/^/    /'
    tail -n 30 "$logs/$name.log" | sed 's/^/    /'
  fi
  return $((bad != 0))
}

# configure FOLDER [CMAKE OPTION ...]
configure() {
  local folder=$1 generator=()
  shift
  [ -e "$folder/CMakeCache.txt" ] || generator=(-G Ninja)
  cmake -S . -B "$folder" "${generator[@]}" "$@"
}

build_gcc() {
  local benchmarks=OFF
  if wanted bench; then benchmarks=ON; fi
  configure build -DCMAKE_CXX_COMPILER=g++ -DCMAKE_BUILD_TYPE=RelWithDebInfo -DEVENKEEL_BUILD_TESTS=ON \
    -DEVENKEEL_BUILD_BENCHMARKS="$benchmarks" &&
    cmake --build build --parallel "$jobs"
}

# Uses another optimisation level than gcc's on purpose, because plans must not depend on it. Each source is compiled
# separately, so that a missing include is found.
configure_clang() {
  configure build-clang -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG" -DEVENKEEL_BUILD_TESTS=ON -DEVENKEEL_COMPILE_TOGETHER=OFF
}

build_clang() { configure_clang && cmake --build build-clang --parallel "$jobs"; }

# run_ctest FOLDER [CTEST OPTION ...]
run_ctest() {
  local folder=$1 results
  shift
  results=$PWD/$folder/test-results
  rm -rf "$results" && mkdir -p "$results"
  local -x RC_PARAMS=${RC_PARAMS:-seed=1 max_success=60}
  GTEST_OUTPUT="json:$results/" ctest --test-dir "$folder" --output-on-failure --parallel "$jobs" \
    --output-junit "$results/junit.xml" "$@"
  "$python" tests/tally.py "$results/junit.xml" "$results"
}

# Left out under sanitizers: tests that judge times, and tests that plan hundreds of jobs in full, which take minutes
# each there. Other tests go through the same code.
slow_when_instrumented="CostBombs.StopIsAskedOftenEnough:PlanCost.OrdersJobsAsTheyTake:Deadline.*"
slow_when_instrumented+=":GroupedPlanTest.NoPinnedSplitLiesBelowTheBound:SearchTest.WholeSpaceAsIfAllWerePlanned"
slow_when_instrumented+=":MisfitTest.RandomMisfits*:MakePlanTest.EveryLanguageModelOnSomeGpus"
slow_when_instrumented+=":MakeLaunchTest.ATrainerLosesNothingOfItsPlans"
slow_when_instrumented+=":ChooseOffloadTest.HostMemoryIsNeverExceeded:ChooseOffloadTest.NoPinnedShareIsBetter"
slow_when_instrumented+=":ChooseOffloadTest.HoldsHostsOfEverySchedule:TimeLevelTest.LongSets*"
slow_when_instrumented+=":NetworkTiersTest.PodsNeverHelp*:NetworkTiersTest.ADomainIsAsGoodAsANode"
slow_when_instrumented+=":PaddedPlanTest.NoPinnedPlanIsBetter:MakePlanTest.StopsWhereverItIsTold:MakePlanTest.AsksOften"
slow_when_instrumented+=":GroupedPlanTest.IsSoundUnderEveryKindOfTrainer:GroupedPlanTest.AMixedJobIsPlannedTheSameWay"
slow_when_instrumented+=":GroupedPlanTest.LatentAttentionAndExpertsAreInTimeAndMemory"
slow_when_instrumented+=":MakePlanTest.SameJobSamePlanToTheLastBit:PlanCheckerTest.HoldsAPlanToWhatItsTrainerCanDo"

# Left out under ThreadSanitizer: it nests the locks of replicas, which in truth are other processes, on one thread in
# every order.
nests_replicas="LeaseModelTest.*"

# sanitized FOLDER SANITIZERS [LEFT_OUT]: builds and runs what is free of gRPC, with fewer cases of each property. Under
# sanitizers, gcc gives false warnings of uninitialized values (GCC bug 105562 in std::regex) and of bounds, so these
# are left to other builds.
sanitized() {
  configure "$1" -DCMAKE_CXX_COMPILER=g++ -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g1 -Wno-maybe-uninitialized -Wno-array-bounds" \
    -DEVENKEEL_SANITIZERS="$2" -DEVENKEEL_BUILD_TESTS=ON -DEVENKEEL_BUILD_BENCHMARKS=OFF &&
    cmake --build "$1" --parallel "$jobs" --target grpc_free &&
    RC_PARAMS="${RC_PARAMS:-seed=1 max_success=20}" GTEST_FILTER="-$slow_when_instrumented${3:+:$3}" \
      ASAN_OPTIONS=strict_string_checks=1:detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1 \
      run_ctest "$1" -L grpc_free
}

# Compares the plans of all shipped jobs by both builds.
compare_compilers() {
  local job name good=0 bad=0 folder
  folder=$(mktemp -d)
  for job in deploy/examples/*.json; do
    case $job in *.histogram.json) continue ;; esac
    name=$(basename "$job" .json)
    build/bin/evenkeelctl plan --local --job "$job" --output json >"$folder/gcc" 2>"$folder/gcc.err"
    build-clang/bin/evenkeelctl plan --local --job "$job" --output json >"$folder/clang" 2>"$folder/clang.err"
    if [ -s "$folder/gcc" ] && cmp "$folder/gcc" "$folder/clang"; then
      echo "ok      $name: $(sha256sum <"$folder/gcc" | cut -c1-16)"
      good=$((good + 1))
    else
      echo "FAILED  $name"
      head -n 5 "$folder/gcc.err" "$folder/clang.err"
      bad=$((bad + 1))
    fi
  done
  rm -rf "$folder"
  echo "$good passed, $bad failed"
  [ "$bad" = 0 ] && [ "$good" -gt 0 ]
}

clang_tidy() {
  configure_clang &&
    find planner -name '*.cc' -print0 | xargs -0 -n 4 -P "$jobs" clang-tidy-14 -p build-clang --quiet
}

# Runs the benchmarks. They judge themselves (exit status) or only report.
benchmarks() {
  local program good=0 bad=0
  for program in build/bin/*_bench; do
    [ -x "$program" ] || continue
    if "$program"; then good=$((good + 1)); else bad=$((bad + 1)); fi
  done
  echo "$good passed, $bad failed"
  [ "$bad" = 0 ]
}

wanted() { [[ " ${suites[*]} " == *" $1 "* ]]; }

mkdir -p $logs
if [ $install = 1 ]; then
  suite packages deploy/install-packages.sh build test || finish
fi
if wanted lint || wanted integration; then
  suite tools tests/install-tools.sh $tools || finish
fi
if wanted lint; then suite lint tests/lint/run.sh $tools/bin; fi
gcc=0
if wanted build || wanted unit || wanted integration || wanted footprint || wanted compilers || wanted bench; then
  suite build build_gcc && gcc=1
fi
if wanted clang-tidy; then suite clang-tidy clang_tidy; fi
if [ $gcc = 1 ]; then
  if wanted unit; then suite unit run_ctest build; fi
  if wanted integration; then suite integration "$python" tests/integration/run.py; fi
  if wanted footprint; then suite footprint "$python" tests/bench/footprint.py; fi
  if wanted bench; then suite bench benchmarks; fi
fi
if wanted clang || wanted compilers; then
  if suite clang build_clang && [ $gcc = 1 ] && wanted compilers; then suite compilers compare_compilers; fi
fi
if wanted asan; then suite asan sanitized build-asan address,undefined; fi
if wanted tsan; then suite tsan sanitized build-tsan thread "$nests_replicas"; fi
finish
