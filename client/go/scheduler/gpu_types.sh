#!/usr/bin/env bash
# Writes gpu_types.json: every name and alias of the planner's catalogue, as node labels are compared, and its GPU type.
#
#   client/go/scheduler/gpu_types.sh [EVENKEELCTL]      default: build/bin/evenkeelctl
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
"${1:-../../../build/bin/evenkeelctl}" gpus --local --output json | python3 -c '
import json, sys
names = {}
for gpu in json.load(sys.stdin)["gpus"]:
    for alias in [gpu["name"], *gpu["aliases"]]:
        names[alias.lower().replace(" ", "-").replace("_", "-")] = gpu["name"]
json.dump(names, sys.stdout, indent=1, sort_keys=True)
print()' > gpu_types.json
