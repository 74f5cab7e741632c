#!/usr/bin/env bash
# Tries an earlier version of Evenkeel together with this one: its stores under this server and back, its evenkeelctl on
# this server and the other way round. Builds server and evenkeelctl of that version into build/upgrade/. Needs what
# tests/run.sh builds and installs.
#
#   tests/upgrade/run.sh [COMMIT]        COMMIT: the last release by default
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
commit=${1:-$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null || true)}
[ -n "$commit" ] || { echo "upgrade: there is no release yet, so name a commit" >&2; exit 2; }
commit=$(git rev-parse --verify --short=12 "$commit^{commit}")
earlier=$PWD/build/upgrade/$commit

if [ ! -x "$earlier/build/bin/evenkeel-server" ]; then
  mkdir -p "$earlier"
  git archive "$commit" | tar -x -C "$earlier"
  cmake -S "$earlier" -B "$earlier/build" -G Ninja -DCMAKE_CXX_COMPILER=g++ -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DEVENKEEL_BUILD_TESTS=OFF >"$earlier/configure.log"
  cmake --build "$earlier/build" --parallel 2 --target evenkeel-server evenkeelctl
fi
EVENKEEL_EARLIER=$earlier exec /usr/bin/python3 tests/upgrade/test_upgrade.py -v
