#!/usr/bin/env python3
"""Idle memory of the server, and its time from exec to SERVING. Usage: footprint.py [RUNS]

EVENKEEL_BUILD names another build folder.

Memory above 40 MiB fails; the time is only reported against 0.3 s, because it depends on what else the machine does.
"""
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import harness  # noqa: E402  pylint: disable=wrong-import-position

MAX_IDLE_BYTES = 40 << 20
TARGET_START_SECONDS = 0.3


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    starts, idle = [], []
    for _ in range(runs):
        with harness.Server() as server:
            starts.append(server.start_seconds)
            time.sleep(1)
            idle.append(server.resident_bytes())
            planned = server.client().call("PlanJob", harness.job_request())
            after = server.resident_bytes()
            assert planned.plan_id
    start = statistics.median(starts)
    print(f"idle memory: {max(idle) / 2**20:.1f} MiB at most over {runs} runs (limit {MAX_IDLE_BYTES >> 20} MiB), "
          f"{after / 2**20:.1f} MiB after one plan")
    print(f"exec to SERVING: median {start:.3f} s, {min(starts):.3f} to {max(starts):.3f} s "
          f"(target {TARGET_START_SECONDS} s{'' if start <= TARGET_START_SECONDS else ': MISSED'})")
    bad = max(idle) > MAX_IDLE_BYTES
    print(f"footprint: {int(not bad)} passed, {int(bad)} failed")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
