#!/usr/bin/env bash
# From a fresh Debian 12 to a first plan: installs packages, builds, starts the server, and asks it for the plan of
# a real job: InternViT-6B + InternLM2-20B on 4 nodes of 8 A100-80G, with lengths of real vision-language data.
#
#   deploy/quickstart.sh [--keep] [--no-install] [--help]
#
#   --keep         leave the server running, on 127.0.0.1:50051 if that port is free
#   --no-install   install nothing: the packages of deploy/packages-build.txt are there
#   --help         this text
#
# Root (or sudo) is needed only to install. Everything else stays in build/.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
job=deploy/examples/internvl-6b-20b.json
default_address=127.0.0.1:50051
log=build/quickstart.log
server_log=build/quickstart-server.log
keep=0
install=1
server_pid=
socket_folder=

usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

while [ $# -gt 0 ]; do
  case $1 in
    --keep) keep=1 ;;
    --no-install) install=0 ;;
    -h | --help) usage; exit 0 ;;
    *) echo "quickstart.sh: unknown option $1" >&2; usage >&2; exit 2 ;;
  esac
  shift
done

say() { printf '%s\n' "$*"; }

fail() {
  say "quickstart: $1" >&2
  if [ -s "${2:-}" ]; then
    say "What $2 says:" >&2
    { tail -n 400 "$2" | grep -E 'error:|^E: |FAILED' | head -n 10; echo ...; tail -n 20 "$2"; } |
      cut -c1-300 | sed 's/^/    /' >&2
  fi
  exit 1
}

# Stops what was started, and nothing else. With --keep, a server that answered is left alone.
cleanup() {
  if [ -n "$server_pid" ] && kill -0 "$server_pid" 2>/dev/null; then
    kill -TERM "$server_pid" 2>/dev/null || true
    wait "$server_pid" 2>/dev/null || true
  fi
  [ -z "$socket_folder" ] || rm -rf "$socket_folder"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# step TITLE COMMAND [ARGUMENT ...]: runs the command into the log, shows its last line from time to time, and stops on
# failure.
step() {
  local title=$1 started=$SECONDS shown=$SECONDS last pid pause=15
  shift
  [ -t 1 ] && pause=1
  say "== $title"
  printf '\n== %s\n' "$title" >>"$log"
  "$@" >>"$log" 2>&1 </dev/null &
  pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.3
    if [ $((SECONDS - shown)) -ge $pause ]; then
      shown=$SECONDS
      last=$(tail -n 1 "$log" | tr -dc '[:print:]' | cut -c1-88)
      if [ -t 1 ]; then printf '\r\033[K   %s' "$last"; else say "   $((SECONDS - started)) s: $last"; fi
    fi
  done
  [ -t 1 ] && printf '\r\033[K'
  wait "$pid" || fail "\"$title\" failed after $((SECONDS - started)) s." "$log"
  say "   done in $((SECONDS - started)) s"
}

# One compiler per core, but no more than memory allows, because a gRPC source takes up to 1 GB.
jobs() {
  local cores gigabytes
  cores=$(nproc)
  gigabytes=$(awk '/MemAvailable/ {print int($2 / 1000000)}' /proc/meminfo)
  [ "$gigabytes" -ge 1 ] || gigabytes=1
  echo $((cores < gigabytes ? cores : gigabytes))
}

configure() {
  local generator=()
  [ -e build/CMakeCache.txt ] || generator=(-G Ninja)
  cmake -S . -B build "${generator[@]}" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DEVENKEEL_BUILD_TESTS=OFF
}

compile() { cmake --build build --parallel "$(jobs)" --target evenkeel-server evenkeelctl; }

answers() { build/bin/evenkeelctl list --server "$1" --timeout 2 >/dev/null 2>&1; }

# Starts the server on the address, and waits until it answers.
start_server() {
  local address=$1 waited=0 detached=()
  [ $keep = 0 ] || detached=(setsid)
  "${detached[@]}" build/bin/evenkeel-server --listen "$address" --metrics-address "$2" >"$server_log" 2>&1 </dev/null &
  server_pid=$!
  until answers "$address"; do
    kill -0 "$server_pid" 2>/dev/null || { server_pid=; return 1; }
    waited=$((waited + 1))
    [ "$waited" -lt 100 ] || return 1
    sleep 0.1
  done
}

# Sets `address`: the default one with --keep, otherwise that of a server for this run only, which disturbs nobody.
serve() {
  if [ $keep = 1 ]; then
    address=$default_address
    if answers "$address"; then
      say "   a server runs there already: using it"
      return
    fi
    if start_server "$address" 127.0.0.1:9464; then return; fi
    say "   $address or the metrics port 9464 is taken: on a unix socket instead"
  fi
  socket_folder=$(mktemp -d -t evenkeel.XXXXXX)
  address=unix:$socket_folder/evenkeel.sock
  start_server "$address" off || fail "the server did not start." "$server_log"
}

cd "$root"
mkdir -p build
: >"$log"
say "Evenkeel quickstart: log in $log"
[ $install = 0 ] || step "Packages (deploy/packages-build.txt)" deploy/install-packages.sh build
for tool in cmake ninja g++ protoc; do
  command -v $tool >/dev/null ||
    fail "$tool is missing: run without --no-install, or install deploy/packages-build.txt."
done
step "Configure" configure
step "Build (some minutes the first time)" compile
say "== Server"
address=
serve
say "   answers on $address"
say "== Plan"
say "   \$ evenkeelctl plan --job $job"
say ""
# The address is passed by the environment, so that the questions that the answer suggests do not name a socket that is
# soon gone.
EVENKEEL_SERVER=$address build/bin/evenkeelctl plan --job "$job" || fail "the plan failed." "$server_log"

cat <<TEXT

== What next (all of this took $SECONDS s)
The programs are in build/bin:
    export PATH=$root/build/bin:\$PATH
Start the server by hand, on $default_address with metrics on 127.0.0.1:9464:
    evenkeel-server
Ask it, or leave the server out with --local:
    evenkeelctl plan --model internvl-chat-v1.5 --gpu a100-sxm-80gb --gpus 64
    evenkeelctl plan --local --job deploy/examples/misfit.json
    evenkeelctl stats YOUR_LENGTHS.json
    evenkeelctl --help
More jobs: deploy/examples/README.md
TEXT
if [ $keep = 1 ] && [ -n "$server_pid" ]; then
  say "The server stays, on $address: stop it with  kill $server_pid"
  [ "$address" = "$default_address" ] || say "Tell evenkeelctl:  export EVENKEEL_SERVER=$address"
  server_pid=
  socket_folder=
fi
