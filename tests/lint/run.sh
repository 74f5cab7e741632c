#!/usr/bin/env bash
# Runs every linter, and first that each of them still finds what it should: a linter that cannot fail proves nothing.
#
#   tests/lint/run.sh [TOOLS_BIN]        TOOLS_BIN: folder with buf (default: build/tools/bin)
#
# Last line: "lint: N passed, N failed".
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
tools=$(realpath -m "${1:-$root/build/tools/bin}")
python=/usr/bin/python3
[ -x "$python" ] || python=python3
cd "$root" || exit 1
passed=0
failed=0

# check NAME COMMAND [ARGUMENT ...]: the command must succeed.
check() {
  local name=$1 output
  shift
  if output=$("$@" 2>&1); then
    passed=$((passed + 1))
    echo "ok      $name"
  else
    failed=$((failed + 1))
    echo "FAILED  $name"
    printf '%s\n' "$output" | head -n 40 | sed 's/^/        /'
  fi
}

# must_fail MESSAGE COMMAND [ARGUMENT ...]: the command must fail and print MESSAGE.
must_fail() {
  local message=$1 output
  shift
  if output=$("$@" 2>&1); then
    echo "passed, but should have failed"
    return 1
  fi
  case $output in *"$message"*) ;; *) echo "failed for another reason: $output"; return 1 ;; esac
}

clang_format() {
  local clang_format_14=clang-format-14
  command -v $clang_format_14 >/dev/null || clang_format_14=clang-format
  "$clang_format_14" --dry-run -Werror --ferror-limit=20 "$@"
}

mapfile -t sources < <(find planner server client tests -path '*/fixtures/*' -prune -o \
  -type f \( -name '*.h' -o -name '*.cc' \) -print | sort)
mapfile -t scripts < <(find client deploy tests .ci -path '*/fixtures/*' -prune -o -type f -print | sort |
  while read -r file; do head -c 64 "$file" | grep -aqE '^#!.*\b(ba)?sh\b' && echo "$file"; done)

# The build with clang checks all sources; this checks that the locks of server/base/mutex.h take part.
thread_safety() { clang++ -std=c++20 -I. -fsyntax-only -Wthread-safety -Werror "tests/lint/fixtures/thread_safety/$1"; }

lint_buf() { (cd "$1" && "$tools/buf" lint); }

# The contract as the last release had it. A release adds proto/releases/vX.Y.Z.binpb:
#   (cd proto && buf build --exclude-source-info -o releases/vX.Y.Z.binpb)
released=$(find "$root/proto/releases" -name '*.binpb' | sort -V | tail -n 1)
breaking() { (cd "$1" && "$tools/buf" breaking --against "$released"); }
broken_contract() {
  local copy status=0
  copy=$(mktemp -d)
  cp -r proto/. "$copy"
  sed -i '/ gpu_type = /d' "$copy/evenkeel/v1/cluster.proto"
  breaking "$copy" || status=$?
  rm -rf "$copy"
  return $status
}

check "linters find their fixtures" "$python" tests/lint/test_linters.py
check "clang-format finds its fixture" must_fail "clang-formatted" clang_format tests/lint/fixtures/clang_format/bad.cc
check "shellcheck finds its fixture" must_fail "SC2086" shellcheck tests/lint/fixtures/shellcheck/bad.sh
check "buf finds its fixture" must_fail "COLOUR_" lint_buf tests/lint/fixtures/buf
check "buf finds a removed field" must_fail '"gpu_type"' broken_contract
check "one version finds its fixture" must_fail "Dockerfile:1: says 2.0.0" \
  "$python" tests/lint/one_version.py tests/lint/fixtures/one_version
check "thread safety finds its fixture" must_fail "requires holding mutex 'mutex_'" thread_safety bad.cc
check "thread safety lets correct locking pass" thread_safety good.cc
check "layers" "$python" tests/lint/check_layers.py
check "floors" "$python" tests/lint/floors.py
check "tidy" "$python" tests/lint/tidy.py
check "hidden names" "$python" tests/lint/hidden_names.py
check "links of pages" "$python" tests/lint/doc_links.py
check "proto comments" "$python" tests/lint/proto_comments.py
check "clang-format" clang_format "${sources[@]}"
check "shellcheck" shellcheck "${scripts[@]}"
check "buf lint" lint_buf proto
check "buf breaking" breaking proto
check "one version" "$python" tests/lint/one_version.py

echo "lint: $passed passed, $failed failed"
[ "$failed" = 0 ]
