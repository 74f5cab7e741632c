#!/usr/bin/env bash
# Tries deploy/slurm out on a real one-node Slurm: munged, slurmctld and slurmd of Debian 12, a real evenkeel-server, in
# a network of their own with nothing but a loopback. As root, after a build; under a minute.
#
#   tests/slurm/run.sh [--no-install] [PATTERN]     PATTERN: only tests whose name contains it
#
# The last line counts: "N passed, N failed".
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
[ "$(id -u)" = 0 ] || { echo "run.sh: run as root: slurmd starts jobs of other users" >&2; exit 1; }

# The packages would start services, but the test starts its own. Files that somebody else put there stay.
install() {
  local policy=/usr/sbin/policy-rc.d
  if [ -e $policy ]; then deploy/install-packages.sh build test slurm; return; fi
  printf '#!/bin/sh\nexit 101\n' >$policy
  chmod +x $policy
  deploy/install-packages.sh build test slurm || { rm $policy; return 1; }
  rm $policy
}

if [ "${1:-}" = --no-install ]; then shift; else install; fi
for program in evenkeel-server evenkeelctl; do
  [ -x build/bin/$program ] || { echo "run.sh: no build/bin/$program: run deploy/quickstart.sh first" >&2; exit 1; }
done
exec unshare --net --mount --propagation private /usr/bin/python3 tests/slurm/test_slurm.py "$@"
