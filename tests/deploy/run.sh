#!/usr/bin/env bash
# Renders deploy/kubernetes, checks every object strictly against the schemas of Kubernetes and of its CRDs, and runs
# what each overlay would run: real servers, real Redis, the rendered settings, the example's training. As root on
# Debian 12, after a build.
#
#   tests/deploy/run.sh [--no-install] [PATTERN]     PATTERN: only tests whose name contains it
#
# Tools go to build/deploy-tools: kustomize (a Go module), kubernetes-validate (PyPI), @kubernetes-models (npm). Where
# there is a kubectl, its kustomize must render the same. The last line counts: "N passed, N failed".
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
validate_version=1.37.0
prometheus_operator_models=6.0.0
cert_manager_models=6.0.0

if [ "${1:-}" = --no-install ]; then shift; else deploy/install-packages.sh build test deploy; fi
for program in evenkeel-server evenkeelctl; do
  [ -x build/bin/$program ] || { echo "run.sh: no build/bin/$program: run deploy/quickstart.sh first" >&2; exit 1; }
done
[ "$(id -u)" = 0 ] || { echo "run.sh: run as root: it makes namespaces and runs programs as other users" >&2; exit 1; }

tools=$PWD/build/deploy-tools
mkdir -p "$tools"
tests/deploy/kustomize.sh "$tools" >/dev/null
if [ ! -e "$tools/python/validate-$validate_version" ]; then
  echo "kubernetes-validate $validate_version"
  /usr/bin/python3 -m venv --clear "$tools/python"
  "$tools/python/bin/pip" install --quiet "kubernetes-validate==$validate_version"
  touch "$tools/python/validate-$validate_version"
fi
if [ ! -e "$tools/npm/models-$prometheus_operator_models-$cert_manager_models" ]; then
  echo "@kubernetes-models"
  rm -rf "$tools/npm"
  npm install --prefix "$tools/npm" --no-audit --no-fund --no-save --loglevel=error \
    "@kubernetes-models/prometheus-operator@$prometheus_operator_models" \
    "@kubernetes-models/cert-manager@$cert_manager_models"
  touch "$tools/npm/models-$prometheus_operator_models-$cert_manager_models"
fi
exec /usr/bin/python3 tests/deploy/run.py "$tools" "$@"
