#!/usr/bin/env bash
# Compares the parameters that the planner counts for a config.json with those of the model that transformers builds
# from it on the meta device: every architecture of server/convert/config/architectures.cc, at transformers' default
# shape and at two others. Needs build/bin/evenkeelctl, and network for PyTorch and transformers (3 GB), which go into
# build/models-venv.
#
#   tests/models/run.sh [MODEL_TYPE]...      without one: all of them
#   tests/models/run.sh flops [MODEL_TYPE]...    FLOPs of a forward pass against PyTorch's operator-level counter
#                                            (flops.py); needs build/tests/forward_flops too
#   tests/models/run.sh lengths [--vectors FILE]    lengths of images, videos and recordings against transformers' own
#                                            processors (lengths.py); FILE: tests/client/media/media_vectors.json
#
# The last line counts: "N passed, N failed".
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
environment=${EVENKEEL_MODELS_VENV:-build/models-venv}
if [ ! -x "$environment/bin/python" ]; then
  python3 -m venv "$environment" || exit 1
  "$environment/bin/pip" install -q torch torchvision pillow num2words 'transformers==5.23.0' || exit 1
fi
if [ "${1:-}" = lengths ]; then
  shift
  exec "$environment/bin/python" tests/models/lengths.py "$@"
fi
if [ "${1:-}" = flops ]; then
  shift
  exec "$environment/bin/python" tests/models/flops.py "$@"
fi
exec "$environment/bin/python" tests/models/compare.py "$@"
