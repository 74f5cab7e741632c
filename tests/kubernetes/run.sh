#!/usr/bin/env bash
# The Go client, the kube-scheduler plugin and the Kueue controller: unit tests with the race detector, and end to end
# with a real etcd, kube-apiserver, kube-scheduler and Kueue, built here from Go modules, and a real evenkeel-server.
# That API server is also given every object of deploy/kubernetes.
#
#   tests/kubernetes/run.sh [--only unit|e2e|throughput]... [--no-install]
#
# Needs build/bin/evenkeel-server (deploy/quickstart.sh or tests/run.sh --only build), root for missing packages, the Go
# module proxy, 8 GB of disk, and half an hour on two cores the first time, for compilers mostly. Everything listens on
# 127.0.0.1 and ends by itself. Throughput is only believed on a machine with nothing else to do:
# EVENKEEL_THROUGHPUT_REPEATS sets its rounds. Last line: "N passed, N failed".
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
root=$PWD
suites=()
install=1
while [ $# -gt 0 ]; do
  case $1 in
    --only)
      [[ " unit e2e throughput " == *" ${2:-none} "* ]] ||
        { echo "run.sh: --only takes unit, e2e or throughput" >&2; exit 2; }
      suites+=("$2")
      shift
      ;;
    --no-install) install=0 ;;
    *) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
  esac
  shift
done
[ ${#suites[@]} -gt 0 ] || suites=(unit e2e throughput)

export EVENKEEL_SERVER_REQUIRED=1 EVENKEEL_SERVER_PROGRAM=${EVENKEEL_SERVER_PROGRAM:-$root/build/bin/evenkeel-server}
[ -x "$EVENKEEL_SERVER_PROGRAM" ] ||
  { echo "run.sh: no $EVENKEEL_SERVER_PROGRAM: tests/run.sh --only build" >&2; exit 1; }
[ $install = 0 ] || deploy/install-packages.sh test || exit 1
go=$(client/go/toolchain.sh build/tools) || exit 1
# Uses this machine's toolchain, whatever the modules require, with its own folder first in PATH, for the programs that
# it calls.
PATH=$(dirname "$go"):$PATH
export PATH GOTOOLCHAIN=local GOFLAGS=-buildvcs=false
work=$(mktemp -d)
export TMPDIR=$work # what an interrupted test leaves goes with it
trap 'rm -rf "$work"' EXIT
passed=0
failed=0
# CRDs that deploy/kubernetes uses besides Kubernetes' own: MODULE@VERSION:FOLDER
crd_modules=(github.com/prometheus-operator/prometheus-operator@v0.83.0:example/prometheus-operator-crd
  github.com/cert-manager/cert-manager@v1.18.2:deploy/crds)

# count NAME LOG STATUS: adds the tests of a `go test -v` log. A program that failed without naming a test is one.
count() {
  local good bad
  good=$(grep -cE '^--- PASS' "$2")
  bad=$(grep -cE '^--- FAIL' "$2")
  [ "$3" = 0 ] || [ "$bad" -gt 0 ] || bad=1
  passed=$((passed + good))
  failed=$((failed + bad))
  echo "$1: $good passed, $bad failed"
  if [ "$3" != 0 ] || [ "$bad" -gt 0 ]; then
    grep -vE '^(=== |--- PASS|PASS|ok )' "$2" | head -n 120
  fi
}

# check NAME COMMAND [ARGUMENT ...]: a test that is not a Go test.
check() {
  local name=$1
  shift
  if "$@" >"$work/log" 2>&1; then
    passed=$((passed + 1))
    echo "$name: ok"
  else
    failed=$((failed + 1))
    echo "$name: FAILED"
    head -n 40 "$work/log"
  fi
}

formatted() {
  local wrong
  wrong=$(gofmt -l client/go tests/kubernetes)
  echo "$wrong"
  [ -z "$wrong" ]
}

unit() {
  local module
  check "generated code is current" client/go/generate.sh --check
  check "gofmt" formatted
  for module in client/go client/go/scheduler client/go/kueue; do
    check "vet $module" go -C $module vet -p 2 ./...
    go -C $module test -p 2 -race -v ./... >"$work/unit.log" 2>&1
    count "$module" "$work/unit.log" $?
  done
}

programs() {
  [ ! -x "$work/etcd" ] || return 0
  echo "building etcd, kube-apiserver, Kueue, the scheduler and the controller"
  local version
  version=$(go -C tests/kubernetes list -m -f '{{.Version}}' k8s.io/kubernetes) || return 1 # Kueue asks for it
  go -C tests/kubernetes build -p 2 -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$version" \
    -o "$work/" ./cmd/... &&
    go -C tests/kubernetes/kueue build -p 2 -ldflags "-s -w" -o "$work/" sigs.k8s.io/kueue/cmd/kueue &&
    go -C client/go/scheduler build -p 2 -ldflags "-s -w" -o "$work/" ./cmd/... &&
    go -C client/go/kueue build -p 2 -ldflags "-s -w" -o "$work/" ./cmd/... || return 1
  go -C tests/kubernetes test -c -p 2 -o "$work/e2e.test" ./e2e
}

# Collects what Kueue's own modules say of the kinds of jobs that it is tried with.
kinds() {
  local folder
  export EVENKEEL_JOB_CRDS=$work/kinds
  [ ! -d "$work/kinds" ] || return 0
  mkdir "$work/kinds"
  folder=$(go -C tests/kubernetes/kueue list -m -f '{{.Dir}}' sigs.k8s.io/jobset) &&
    install -m 644 -t "$work/kinds" "$folder"/config/components/crd/bases/*.yaml &&
    folder=$(go -C tests/kubernetes/kueue list -m -f '{{.Dir}}' github.com/kubeflow/trainer/v2) &&
    install -m 644 -t "$work/kinds" "$folder"/manifests/base/crds/trainer*.yaml \
      "$folder"/manifests/base/runtimes/torch_distributed.yaml
}

# Renders deploy/kubernetes, and collects the CRDs of objects that are not Kubernetes' own. Without a CRD, the objects
# of its kind are left out, and the test reports that.
manifests() {
  local kustomize path module folder
  export EVENKEEL_MANIFESTS=$work/manifests EVENKEEL_MANIFEST_CRDS=$work/crds
  [ ! -d "$work/manifests" ] || return 0
  mkdir "$work/manifests" "$work/crds"
  kustomize=$(tests/deploy/kustomize.sh build/deploy-tools) || return 1
  for path in deploy/kubernetes/base deploy/kubernetes/overlays/*; do
    "$kustomize" build "$path" >"$work/manifests/$(basename "$path").yaml" || return 1
  done
  for module in "${crd_modules[@]}"; do
    folder=$(cd "$work" && go mod download -json "${module%%:*}" | sed -n 's/^.*"Dir": "\(.*\)".*$/\1/p')
    [ -z "$folder" ] || install -m 644 -t "$work/crds" "$folder/${module#*:}"/*.yaml
  done
}

e2e() {
  local status
  if ! programs >"$work/build.log" 2>&1; then
    tail -n 40 "$work/build.log"
    failed=$((failed + 1))
    return
  fi
  EVENKEEL_KUEUE_CRDS=$(go -C client/go/kueue list -m -f '{{.Dir}}' sigs.k8s.io/kueue)/config/components/crd/bases
  export EVENKEEL_KUEUE_CRDS
  export EVENKEEL_K8S_PROGRAMS=$work
  kinds || failed=$((failed + 1))
  manifests || failed=$((failed + 1))
  (cd tests/kubernetes/e2e && timeout 1500 "$work/e2e.test" -test.v -test.timeout 25m "$@") >"$work/e2e.log" 2>&1
  status=$?
  count "end to end" "$work/e2e.log" $status
  grep -E 'pods: |throughput lost|after the planner came back' "$work/e2e.log" | sed 's/^ *//'
}

for suite in "${suites[@]}"; do
  case $suite in
    unit) unit ;;
    e2e) e2e -test.skip '^TestThroughput' ;;
    throughput) e2e -test.run '^TestThroughput' ;;
  esac
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
