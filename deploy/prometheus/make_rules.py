#!/usr/bin/env python3
"""Makes PrometheusRule objects from recording-rules.yaml and alerts.yaml, for the Prometheus operator.

    deploy/prometheus/make_rules.py      writes recording-rules.yaml and alerts.yaml of components/monitoring

kustomize can not put a file into a field of an object, so these are generated; a test holds them to their sources.
"""
import os

HERE = os.path.dirname(os.path.abspath(__file__))
OUTPUT = os.path.join(HERE, "..", "kubernetes", "components", "monitoring")
HEAD = """# Made by deploy/prometheus/make_rules.py of deploy/prometheus/{name}.yaml: change that, and run it.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: evenkeel-{name}
  labels: {{app.kubernetes.io/name: evenkeel}}
spec:
"""
NAMES = ("recording-rules", "alerts")


def made(name):
    """Returns the text of the object: the rules as they are, two columns to the right; comments stay in the source."""
    with open(os.path.join(HERE, name + ".yaml"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    return HEAD.format(name=name) + "".join(f"  {line}\n" for line in lines if not line.lstrip().startswith("#"))


def path(name):
    return os.path.normpath(os.path.join(OUTPUT, name + ".yaml"))


def main():
    for name in NAMES:
        with open(path(name), "w", encoding="utf-8") as file:
            file.write(made(name))


if __name__ == "__main__":
    main()
