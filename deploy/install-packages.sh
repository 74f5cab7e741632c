#!/usr/bin/env bash
# Installs lists of Debian packages; a list is deploy/packages-NAME.txt. Does nothing if all packages are there.
#
#   deploy/install-packages.sh NAME [NAME ...]        NAME: build, runtime, test, image, deploy, python or slurm
#
# A line is a package, or "PACKAGE unless COMMAND": the package is not wanted if that command is there from elsewhere
# (Node.js of another origin, say, whose npm conflicts with Debian's).
# Needs root, or sudo, only where something is missing.
set -euo pipefail

[ $# -ge 1 ] || { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

packages=()
for name in "$@"; do
  list="$here/packages-$name.txt"
  [ -r "$list" ] || { echo "install-packages.sh: no such list: packages-$name.txt" >&2; exit 2; }
  while read -r package unless command _; do
    case $package in ''|'#'*) continue ;; esac
    if [ "$unless" = unless ] && command -v "$command" >/dev/null; then continue; fi
    packages+=("$package")
  done <"$list"
done

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "install-packages.sh: this is no Debian system; install packages like these by hand and use --no-install:" >&2
  printf '  %s\n' "${packages[@]}" >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | sort -u || true)
  [ "$state" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then exit 0; fi

as_root=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || { echo "install-packages.sh: run as root to install: ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
echo "apt-get update"
"${apt[@]}" update -qq
echo "apt-get install ${missing[*]}"
"${apt[@]}" install -y -qq --no-install-recommends "${missing[@]}"
