#!/usr/bin/env bash
# Builds the image with buildah, where there is no Docker engine and perhaps no registry. Runs as root, on Debian with
# the packages buildah and debootstrap. Prints sizes; tests/image/run.sh tries the image out.
#
#   deploy/image/build.sh [--debian IMAGE | --base FOLDER] [--ccache FOLDER] [--archive FILE] [--with-tests]
#
#   --debian IMAGE   Debian 12 to build in, as the Dockerfile's DEBIAN [localhost/debian:bookworm-slim, made here]
#   --base FOLDER    make that from this root file system of Debian 12 [from debootstrap]
#   --ccache FOLDER  keep compiled objects there from build to build
#   --archive FILE   write the image as an OCI archive too
#   --with-tests     the stage `test` first: everything that tests/run.sh has
#
# Images: localhost/evenkeel:VERSION and localhost/evenkeel:latest. DEBIAN_MIRROR names another mirror for debootstrap.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

debian=
base=
ccache=
archive=
with_tests=0
while [ $# -gt 0 ]; do
  case $1 in
    --debian) debian=$2; shift ;;
    --base) base=$(realpath "$2"); shift ;;
    --ccache) mkdir -p "$2"; ccache=$(realpath "$2"); shift ;;
    --archive) archive=$(realpath "$2"); shift ;;
    --with-tests) with_tests=1 ;;
    -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "build.sh: unknown option $1" >&2; exit 2 ;;
  esac
  shift
done
command -v buildah >/dev/null || { echo "build.sh: apt-get install buildah" >&2; exit 1; }

# Chroot isolation and the vfs driver work inside containers and virtual machines of any kind.
export BUILDAH_ISOLATION=${BUILDAH_ISOLATION:-chroot} STORAGE_DRIVER=${STORAGE_DRIVER:-vfs}
version=$(sed -n 's/.*kReleaseVersion = "\(.*\)".*/\1/p' server/convert/version.h)

# make_base IMAGE: makes it from $base, or with debootstrap.
make_base() {
  local folder=$base made='' container
  if [ -z "$folder" ]; then
    command -v debootstrap >/dev/null || { echo "build.sh: apt-get install debootstrap" >&2; exit 1; }
    made=$(mktemp -d)
    folder=$made/root
    debootstrap --variant=minbase --include=ca-certificates bookworm "$folder" \
      "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" >"$made/log" 2>&1 || { tail -n 5 "$made/log" >&2; exit 1; }
    rm -f "$folder"/var/cache/apt/archives/*.deb
  fi
  container=$(buildah from scratch)
  buildah add --quiet "$container" "$folder" / >/dev/null
  # debootstrap leaves out updates and security fixes, which Debian's own image has.
  buildah run "$container" -- sh -c 'printf "%s\n" \
    "deb http://deb.debian.org/debian bookworm main" "deb http://deb.debian.org/debian bookworm-updates main" \
    "deb http://deb.debian.org/debian-security bookworm-security main" >/etc/apt/sources.list'
  buildah config --cmd bash "$container"
  buildah commit --quiet "$container" "$1" >/dev/null
  buildah rm "$container" >/dev/null
  [ -z "$made" ] || rm -rf --one-file-system "$made"
}

if [ -z "$debian" ]; then
  debian=localhost/debian:bookworm-slim
  if [ -n "$base" ] || ! buildah inspect --type image "$debian" >/dev/null 2>&1; then
    echo "== base $debian"
    make_base "$debian"
  fi
fi

# The format is docker's, because OCI's has no HEALTHCHECK.
options=(--format docker --layers --build-arg "DEBIAN=$debian" --build-arg "VERSION=$version"
  --build-arg "JOBS=${EVENKEEL_BUILD_JOBS:-$(nproc)}")
[ -z "$ccache" ] || options+=(-v "$ccache:/var/cache/ccache:rw")
if [ $with_tests = 1 ]; then
  echo "== test"
  buildah bud "${options[@]}" --target test .
fi
echo "== runtime"
buildah bud "${options[@]}" --target runtime -t "localhost/evenkeel:$version" -t localhost/evenkeel:latest .

container=$(buildah from localhost/evenkeel:latest)
root=$(buildah mount "$container")
bytes=$(find "$root" -type f -printf '%s\n' | awk '{sum += $1} END {print sum}')
compressed=$(tar -C "$root" -cf - . | gzip -6 | wc -c)
buildah umount "$container" >/dev/null
buildah rm "$container" >/dev/null
printf 'localhost/evenkeel:%s: %s bytes of files, %s bytes compressed\n' "$version" "$bytes" "$compressed"
if [ -n "$archive" ]; then
  rm -f "$archive"
  buildah push --quiet localhost/evenkeel:latest "oci-archive:$archive:evenkeel:$version"
fi
