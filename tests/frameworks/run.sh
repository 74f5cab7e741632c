#!/usr/bin/env bash
# Launch settings against the trainers' own code and the Kubernetes operators' own schemas.
#
#   tests/frameworks/run.sh              needs build/bin/evenkeelctl (EVENKEELCTL: another); about a minute
#
# Installs, as root on Debian 12: python3-torch (apt), four trainers without their dependencies (pip, into
# build/frameworks), and takes CustomResourceDefinitions from Go modules. Last line: "frameworks: N passed, N failed".
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
work=${EVENKEEL_FRAMEWORKS:-$root/build/frameworks}
python=/usr/bin/python3
[ "${1:-}" = "" ] || { sed -n '2,9p' "$0" | sed 's/^# \{0,1\}//'; [ "$1" = --help ]; exit; }

# Versions for which the settings were written; docs/LAUNCH.md names them too.
trainers=(megatron-core==0.16.1 flag-scale==0.8.0 deepspeed==0.19.8 torchtitan==0.3.0)
# Packages that the trainers import. Their own torch would take gigabytes.
needed=(hjson einops msgpack py-cpuinfo pydantic==2.14.3 pydantic-core==2.50.4 annotated-types typing-inspection
  'typing-extensions>=4.15' tqdm psutil packaging ninja tyro docstring-parser shtab typeguard)
modules=(github.com/kubeflow/training-operator@v1.8.1 github.com/kubeflow/trainer/v2@v2.0.0 sigs.k8s.io/jobset@v0.10.1)
crds=(manifests/base/crds/kubeflow.org_pytorchjobs.yaml manifests/base/crds/trainer.kubeflow.org_trainjobs.yaml
  config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml)
names=(pytorchjob trainjob jobset)

install_packages() {
  local missing=()
  "$python" -c 'import torch' 2>/dev/null || missing+=(python3-torch)
  "$python" -c 'import yaml' 2>/dev/null || missing+=(python3-yaml)
  "$python" -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
  command -v go >/dev/null || missing+=(golang-go)
  [ ${#missing[@]} = 0 ] && return
  DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}" >/dev/null
}

install_trainers() {
  [ -x "$work/venv/bin/python" ] || "$python" -m venv --system-site-packages "$work/venv"
  "$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps "${trainers[@]}" "${needed[@]}"
}

# A module contains its CRDs. A toolchain older than a module's go.mod asks for can still download it.
fetch_crds() {
  mkdir -p "$work/crds" "$work/module"
  local i folder
  for i in "${!modules[@]}"; do
    folder=$(cd "$work/module" && go mod download -json "${modules[$i]}" |
      "$python" -c 'import json, sys; print(json.load(sys.stdin)["Dir"])')
    install -m 644 "$folder/${crds[$i]}" "$work/crds/${names[$i]}.yaml"
  done
}

mkdir -p "$work"
install_packages
install_trainers
fetch_crds
cd "$here"
EVENKEEL_CRDS=$work/crds PYTHONDONTWRITEBYTECODE=1 exec "$work/venv/bin/python" run.py
