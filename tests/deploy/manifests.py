"""Renders overlays and checks objects. The tests of this folder share it."""
import functools
import glob
import json
import os
import subprocess

import harness
import yaml

TOOLS = None  # set by run.py
KUBERNETES = os.path.join(harness.ROOT, "deploy", "kubernetes")
OVERLAYS = sorted(os.path.basename(path) for path in glob.glob(os.path.join(KUBERNETES, "overlays", "*")))
# The oldest release with native sidecars by default, and the newest one that the validator knows.
VERSIONS = ("1.29", "1.37")
CUSTOM = ("monitoring.coreos.com/", "cert-manager.io/")


@functools.lru_cache(maxsize=None)
def rendered(overlay):
    """Returns the text that kustomize makes of an overlay (or `base`)."""
    folder = "base" if overlay == "base" else os.path.join("overlays", overlay)
    done = harness.run([os.path.join(TOOLS, "kustomize"), "build", os.path.join(KUBERNETES, folder)])
    assert done.returncode == 0, done.stderr
    return done.stdout


def objects(overlay):
    return [found for found in yaml.safe_load_all(rendered(overlay)) if found]


def named(found, kind, name):
    return next(item for item in found if (item["kind"], item["metadata"]["name"]) == (kind, name))


def templates(found):
    """Returns [(object, pod template)]."""
    return [(item, item["spec"]["template"]) for item in found
            if item["kind"] in ("Deployment", "StatefulSet", "DaemonSet", "Job")]


def containers(template):
    return [*template["spec"].get("initContainers", []), *template["spec"]["containers"]]


def check_custom(found):
    """Returns the faults of custom resources, one per line."""
    done = harness.run(["node", os.path.join(os.path.dirname(__file__), "check_custom.mjs"),
                        os.path.join(TOOLS, "npm", "node_modules")], text=json.dumps(found))
    assert done.returncode == (1 if done.stdout else 0), done.stderr
    return done.stdout


def check_core(found, version):
    """Returns the faults of built-in kinds, one per line. A kind without a schema is a fault."""
    done = subprocess.run([os.path.join(TOOLS, "python", "bin", "kubernetes-validate"), "--strict", "--quiet", "-k",
                           version, "-"], input=yaml.safe_dump_all(found), text=True, capture_output=True, check=False)
    assert done.returncode == 0 or done.stdout, done.stderr
    return done.stdout


def faults(found):
    """Returns all faults, against each version."""
    custom = [item for item in found if item["apiVersion"].startswith(CUSTOM)]
    core = [item for item in found if item not in custom]
    text = "".join(check_core(core, version) for version in VERSIONS) if core else ""
    return text + (check_custom(custom) if custom else "")
