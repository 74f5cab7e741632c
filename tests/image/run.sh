#!/usr/bin/env bash
# Tries the runtime image out as Kubernetes would run it: as root, after deploy/image/build.sh.
#
#   tests/image/run.sh [IMAGE]        [localhost/evenkeel:latest]
#
# The container is run with crun: user 65532, no capabilities, read-only root file system, no new privileges, own
# mount, pid, ipc and uts namespaces; the host's network, so that it is reached from outside too.
# The last line counts: "N passed, N failed".
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
image=${1:-localhost/evenkeel:latest}
export BUILDAH_ISOLATION=${BUILDAH_ISOLATION:-chroot} STORAGE_DRIVER=${STORAGE_DRIVER:-vfs}
for tool in buildah crun; do
  command -v $tool >/dev/null || { echo "run.sh: apt-get install $tool" >&2; exit 1; }
done
# crun accepts cgroups of version 1 or 2, but not both together ("hybrid"). Nothing here needs cgroups. If there are
# both, crun sees only those of version 2, in a separate mount namespace.
if [ -d /sys/fs/cgroup/unified ]; then
  # shellcheck disable=SC2016  # the inner shell expands them
  exec unshare --mount sh -c 'mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec "$0" "$1"' tests/image/run.sh "$image"
fi
container=$(buildah from "$image")
config=$(mktemp)
trap 'buildah umount "$container" >/dev/null; buildah rm "$container" >/dev/null; rm -f "$config"' EXIT
buildah inspect --type image "$image" >"$config"
/usr/bin/python3 tests/image/test_image.py "$(buildah mount "$container")" "$config"
