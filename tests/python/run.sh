#!/usr/bin/env bash
# Tests the Python package as it is installed: pip from client/python, mypy --strict, the blocks of docs/PYTHON.md, and
# training by real DataLoaders in several processes. On a fresh Debian 12 it installs what it needs, as root. The last
# line counts: "N passed, N failed".
#
#   tests/python/run.sh [--no-install] [--torch2] [--keep FOLDER] [--help]
#
#   --no-install   the Debian packages are there (deploy/packages-test.txt, python3-torch, python3-venv)
#   --torch2       a third environment (6 GB, of which 3 GB are fetched): the newest PyTorch, torchdata's
#                  StatefulDataLoader, Lightning, Accelerate, Transformers and Datasets
#   --keep FOLDER  keep the virtual environments in FOLDER, for the next run
#
# Two environments: `debian` has Debian 12's PyTorch, gRPC, protobuf and NumPy, `current` the newest releases of the
# package index, pyarrow, Pillow and soundfile. The package is the wheel of client/python, whose planner is compiled
# in build/python: 8 min on two cores the first time. The server is build/bin's (tests/run.sh --only build). What
# needs neither PyTorch nor the planner in the process is tested by tests/run.sh too:
# tests/integration/test_python_*.py.
# shellcheck disable=SC2317  # check runs functions by name
set -uo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
here=$root/tests/python
python=/usr/bin/python3
install=1
torch2=0
folder=
passed=0
failed=0

while [ $# -gt 0 ]; do
  case $1 in
    --no-install) install=0 ;;
    --torch2) torch2=1 ;;
    --keep) folder=$(realpath -m "${2:?--keep names a folder}"); shift ;;
    -h | --help) sed -n '2,/^[^#]/{/shellcheck/d;s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "run.sh: unknown option $1" >&2; exit 2 ;;
  esac
  shift
done
if [ -z "$folder" ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
fi

mkdir -p "$folder"

finish() {
  echo "$passed passed, $failed failed"
  [ "$failed" = 0 ]
  exit
}

# check NAME COMMAND [ARGUMENT ...]: counts as one.
check() {
  local name=$1 started=$SECONDS
  shift
  if "$@" >"$folder/log" 2>&1 </dev/null; then
    passed=$((passed + 1))
    echo "ok      $name ($((SECONDS - started)) s)"
  else
    failed=$((failed + 1))
    echo "FAILED  $name"
    tail -n 40 "$folder/log" | sed 's/^/        /'
    return 1
  fi
}

# tests ENVIRONMENT MODULE: runs unittest and counts each test.
tests() {
  local output=$folder/$1-$2.log ran bad skipped
  echo "== $2 ($1)"
  (cd "$here" && "$folder/$1/bin/python" -m unittest -v "$2") >"$output" 2>&1 </dev/null
  grep -aE '\.\.\. |% to |^(FAIL|ERROR)' "$output"
  ran=$(sed -n 's/^Ran \([0-9]*\) test.*/\1/p' "$output")
  bad=$(sed -n 's/^FAILED.*failures=\([0-9]*\).*/\1/p' "$output")
  bad=$((${bad:-0} + $(sed -n 's/^FAILED.*errors=\([0-9]*\).*/\1/p' "$output" | head -n 1 | grep . || echo 0)))
  skipped=$(sed -n 's/.*skipped=\([0-9]*\).*/\1/p' "$output")
  [ -n "$ran" ] && [ "$ran" != 0 ] || bad=1
  [ "$bad" = 0 ] || grep -avE '\.\.\. ok' "$output" | tail -n 60
  failed=$((failed + bad))
  passed=$((passed + ${ran:-0} - bad - ${skipped:-0}))
}

dist() {
  rm -rf "$folder/dist" "$folder/pure" && mkdir "$folder/dist" "$folder/pure" &&
    "$folder/current/bin/pip" wheel --no-deps --wheel-dir "$folder/dist" "$root/client/python" &&
    ls -l "$folder/dist"/evenkeel-*-cp310-abi3-linux_*.whl &&
    "$folder/current/bin/python" -m build --sdist --outdir "$folder/pure" "$root/client/python"
}

# The archive has every source that the planner was compiled from, and is configured with nothing of the repository.
source_distribution() {
  local file
  rm -rf "$folder/unpacked" && mkdir "$folder/unpacked" &&
    tar -C "$folder/unpacked" --strip-components 1 -xzf "$folder/pure"/evenkeel-*.tar.gz || return
  ninja -C "$root/build/python" -t deps | grep -o "$root/[^ ]*" | grep -v "^$root/build/" |
    sort -u >"$folder/sources"
  [ "$(wc -l <"$folder/sources")" -gt 300 ] || { echo "too few sources"; return 1; }
  while read -r file; do
    [ -f "$folder/unpacked/repository/${file#"$root"/}" ] || { echo "not in the archive: $file"; return 1; }
  done <"$folder/sources"
  cmake -S "$folder/unpacked/repository" -B "$folder/unpacked/build" -G Ninja -DEVENKEEL_ONLY_PYTHON=ON
}

# The client alone, from the archive, where nothing compiles.
pure_wheel() {
  EVENKEEL_PURE=1 "$folder/current/bin/pip" wheel --no-deps --wheel-dir "$folder/pure" \
    "$folder/pure"/evenkeel-*.tar.gz &&
    "$python" -m venv --system-site-packages "$folder/alone" &&
    "$folder/alone/bin/pip" install --force-reinstall --no-deps "$folder/pure"/evenkeel-*-py3-none-any.whl &&
    "$folder/alone/bin/pip" install "$folder/pure"/evenkeel-*-py3-none-any.whl &&
    "$folder/alone/bin/python" -c 'import evenkeel
evenkeel.Client("unix:/nothing").close()
try:
    evenkeel.plan({})
except ImportError as error:
    assert "EVENKEEL_PURE" in str(error), error
else:
    raise SystemExit("planned")'
}

# Names the packages to install if a compiler is missing.
no_compiler() {
  local said
  said=$(cd "$root/client/python" && PATH=/nothing EVENKEEL_BUILD_DIR="$folder/none" "$python" -c 'import native_build
native_build.build("/nothing/evenkeel")' 2>&1)
  echo "$said"
  [[ $said == *"cmake is not there"*"install-packages.sh python"*"EVENKEEL_PURE=1"* ]]
}

environment() { # NAME [OPTION ...]
  local name=$1
  shift
  [ -x "$folder/$name/bin/pip" ] || "$python" -m venv "$@" "$folder/$name"
}

wheel() { # ENVIRONMENT [EXTRA]
  local wheels=("$folder/dist"/evenkeel-*.whl)
  "$folder/$1/bin/pip" install --force-reinstall --no-deps "${wheels[0]}" &&
    "$folder/$1/bin/pip" install "${wheels[0]}${2:-}"
}

# Debian's own protobuf stays, with the newest common messages that still work with it.
debian_wheel() {
  "$folder/debian/bin/pip" install "protobuf==$("$python" -c 'import google.protobuf as p; print(p.__version__)')" \
    "googleapis-common-protos>=1.56" && wheel debian &&
    "$folder/debian/bin/python" -c 'import google.protobuf as p, grpc; print(p.__version__, grpc.__version__)
assert p.__version__.startswith("4."), "the package replaced the protobuf of Debian"'
}

# mypy_finds MESSAGE PROGRAM: the package's types must show that the program is wrong.
mypy_finds() {
  local said
  said=$("$folder/current/bin/python" -m mypy --strict -c "$2")
  echo "$said"
  [[ $said == *"$1"* ]]
}

no_build_isolation() { # Without a package index: Debian's setuptools, protoc and protobuf.
  "$python" -m venv --system-site-packages "$folder/offline" &&
    "$folder/offline/bin/pip" install --no-index --no-deps --no-build-isolation "$root/client/python" &&
    "$folder/offline/bin/python" -c 'from evenkeel.v1 import job_pb2
assert job_pb2.Job(model={"name": "x"}).model.name == "x"'
}

if [ ! -x "$root/build/bin/evenkeel-server" ]; then
  echo "build/bin/evenkeel-server is missing: tests/run.sh --only build"
  failed=1
  finish
fi
if [ $install = 1 ]; then
  check "Debian packages" apt-get install -y --no-install-recommends python3 python3-venv python3-torch python3-numpy \
    python3-grpcio python3-protobuf python3-setuptools python3-wheel ca-certificates || finish
  check "Debian packages that compile" "$root/deploy/install-packages.sh" python || finish
fi
check "environment current" environment current || finish
check "environment debian" environment debian --system-site-packages || finish
check "tools" "$folder/current/bin/pip" install --upgrade build mypy types-protobuf types-grpcio || finish
check "wheel and source distribution" dist || finish
check "the source distribution is whole" source_distribution
check "the client alone" pure_wheel
check "a missing compiler is named" no_compiler
check "wheel in current" wheel current "[parquet,images,audio]" || finish
check "wheel in debian" debian_wheel || finish
check "installs without a package index" no_build_isolation
check "mypy --strict" bash -c "cd '$root/client/python' && '$folder/current/bin/python' -m mypy --python-version 3.10"
wrong='incompatible type "int"; expected "str"'
check "mypy finds a wrong type" mypy_finds "$wrong" "import evenkeel; evenkeel.Client(7)"
check "mypy finds it in a module" mypy_finds "$wrong" "import evenkeel; evenkeel.aio.Client(7)"
check "mypy finds a wrong name" mypy_finds 'no attribute "Clinet"' "import evenkeel; evenkeel.Clinet()"
tests current test_package
tests current test_media
tests current test_in_process
tests debian test_package
tests debian test_in_process
tests debian test_docs
tests debian test_training
if [ $torch2 = 1 ]; then
  check "environment torch2" environment torch2 || finish
  check "frameworks in torch2" "$folder/torch2/bin/pip" install torch torchdata lightning accelerate transformers \
    datasets || finish
  check "wheel in torch2" wheel torch2 "[parquet]" || finish
  tests torch2 test_package
  tests torch2 test_docs
  tests torch2 test_training
  tests torch2 test_stateful
  tests torch2 test_frameworks
fi
finish
