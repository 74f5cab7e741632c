#!/usr/bin/env bash
# Fuzzes: builds tests/fuzz with clang, AddressSanitizer and UndefinedBehaviorSanitizer, and lets libFuzzer search each
# target for so many seconds, one after the other. A finding is kept in build-fuzz/findings/TARGET/ and fails the run.
#
#   tests/fuzz/run.sh [--seconds N] [--keep] [--build-only] [TARGET ...]
#
#   --seconds N    for each target [600]
#   --keep         inputs found that are worth keeping go into tests/fuzz/corpus/TARGET/, at most 40 files there
#   --build-only   no search
#   TARGET         folders of tests/fuzz/corpus [all]
#
# Searches begin with tests/fuzz/corpus and with build-fuzz/corpus, which grows from run to run.
# The last line counts the targets: "N passed, N failed".
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

seconds=600
keep=0
search=1
targets=()
build="build-fuzz"
corpus=tests/fuzz/corpus
while [ $# -gt 0 ]; do
  case $1 in
    --seconds) seconds=$2; shift ;;
    --keep) keep=1 ;;
    --build-only) search=0 ;;
    -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) echo "run.sh: unknown option $1" >&2; exit 2 ;;
    *) targets+=("$1") ;;
  esac
  shift
done
if [ ${#targets[@]} = 0 ]; then mapfile -t targets < <(ls $corpus); fi

generator=()
[ -e $build/CMakeCache.txt ] || generator=(-G Ninja)
cmake -S . -B $build "${generator[@]}" -DCMAKE_CXX_COMPILER=clang++-14 -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_FLAGS_RELEASE="-O1 -g1" -DEVENKEEL_BUILD_FUZZERS=ON -DEVENKEEL_BUILD_BENCHMARKS=OFF >$build.log ||
  { cat $build.log; exit 1; }
rm -f $build.log
cmake --build $build --parallel "${EVENKEEL_TEST_JOBS:-2}" --target "${targets[@]/#/fuzz_}"
[ $search = 1 ] || exit 0

export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1
passed=0
failed=0
for target in "${targets[@]}"; do
  grown=$build/corpus/$target
  findings=$build/findings/$target
  mkdir -p "$grown" "$findings"
  options=(-timeout=300 -rss_limit_mb=4096 -malloc_limit_mb=2048 -max_len=16384 -artifact_prefix="$findings/")
  [ ! -e "tests/fuzz/dictionaries/$target.dict" ] || options+=(-dict="tests/fuzz/dictionaries/$target.dict")
  echo "== $target, $seconds s"
  if "$build/fuzz/fuzz_$target" -max_total_time="$seconds" -print_final_stats=1 "${options[@]}" \
    "$grown" "$corpus/$target" >"$build/$target.log" 2>&1; then
    passed=$((passed + 1))
    grep -E '^(stat::number_of_executed_units|stat::average_exec_per_sec|stat::peak_rss_mb)' "$build/$target.log" |
      sed 's/^stat:://;s/^/   /'
    [ $keep = 0 ] || tests/fuzz/keep.py "$build/fuzz/fuzz_$target" "$grown" "$corpus/$target"
  else
    failed=$((failed + 1))
    echo "   FAILED: $build/$target.log, input in $findings/"
    grep -aE 'ERROR|runtime error|what\(\)|Test unit written' "$build/$target.log" | head -n 5 | sed 's/^/   /'
  fi
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
