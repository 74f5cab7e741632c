#!/usr/bin/env python3
"""The cost of the sidecar of deploy/kubernetes while nobody asks it: memory, and CPU with its probes as often as a
kubelet makes them. As root.  Usage: sidecar_idle.py [SECONDS]          [120]

Fails above 40 MiB or 1% of a core. A probe's CPU is that of evenkeelctl, which runs inside the container and counts
against it.
"""
import os
import resource
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "integration"))
from pod import Pod  # noqa: E402  pylint: disable=wrong-import-position
from test_kubernetes import example_pod  # noqa: E402  pylint: disable=wrong-import-position

MOST_BYTES = 40 << 20
MOST_CORES = 0.01


def process(pid):
    """Returns CPU seconds and resident bytes."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        kibibytes = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), kibibytes * 1024


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 120
    with Pod(example_pod()) as pod:
        sidecar = pod.start("evenkeel").wait_until("startupProbe")
        time.sleep(2)
        due = {name: 0.0 for name in ("readinessProbe", "livenessProbe")}
        began, probes = time.monotonic(), 0
        cpu, most = process(sidecar.process.pid)
        before = children_seconds()
        while (now := time.monotonic() - began) < seconds:
            for name, at in due.items():
                if now >= at:
                    assert sidecar.probe(name).returncode == 0, name
                    probes += 1
                    due[name] = at + sidecar.spec[name]["periodSeconds"]
            most = max(most, process(sidecar.process.pid)[1])
            time.sleep(0.5)
        server = (process(sidecar.process.pid)[0] - cpu) / seconds
        asked = (children_seconds() - before) / seconds
    print(f"idle sidecar over {seconds:.0f} s: {most / 2**20:.1f} MiB (limit {MOST_BYTES >> 20} MiB); "
          f"{server:.2%} of a core, and {asked:.2%} for {probes} probes with their nsenter "
          f"(limit {MOST_CORES:.0%} together)")
    bad = most > MOST_BYTES or server + asked > MOST_CORES
    print(f"sidecar: {int(not bad)} passed, {int(bad)} failed")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
