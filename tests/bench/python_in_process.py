#!/usr/bin/env python3
"""The planner in this process: import, the example's plan, a packing of 1.2 million samples from NumPy arrays.

    tests/bench/python_in_process.py [SAMPLES]      with the wheel installed (docs/PYTHON.md)

Plans are timed in processes of their own: importing with reading the job, the first plan, the median of ten more.
Lengths are drawn from the shipped histogram (deploy/examples/vl-mix.histogram.json).
"""
import json
import os
import statistics
import subprocess
import sys
import time

import numpy as np

import evenkeel

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "deploy", "examples")
PLAN = f"""
import time
begin, begin_cpu = time.perf_counter(), time.process_time()
import evenkeel
job = evenkeel.load_job({os.path.join(EXAMPLES, 'internvl-6b-20b.json')!r})
evenkeel.plan
imported, imported_cpu = time.perf_counter(), time.process_time()
evenkeel.plan(job)
first = time.perf_counter()
rest = []
for _ in range(10):
    started, cpu = time.perf_counter(), time.process_time()
    evenkeel.plan(job)
    rest.append((time.perf_counter() - started, time.process_time() - cpu))
print(imported - begin, imported_cpu - begin_cpu, first - imported, *(sorted(times)[5] for times in zip(*rest)))
"""


def draw(count):
    with open(os.path.join(EXAMPLES, "vl-mix.histogram.json"), encoding="utf-8") as file:
        bins = {name: np.array(values, np.int64) for name, values in json.load(file).items() if name != "encoder_count"}
    chance = np.random.default_rng(1)
    picked = chance.choice(bins["sample_count"].size, count, p=bins["sample_count"] / bins["sample_count"].sum())
    return bins["llm_tokens"][picked], bins["units"][picked]


def main():
    runs = [list(map(float, subprocess.run([sys.executable, "-c", PLAN], stdout=subprocess.PIPE, text=True,
                                           check=True).stdout.split())) for _ in range(5)]
    for name, values in zip(("import", "import, CPU", "first plan", "more plans", "more plans, CPU"), zip(*runs)):
        print(f"{name}: {1e3 * statistics.median(values):.0f} ms, {1e3 * min(values):.0f} at best")
    tokens, units = draw(int(sys.argv[1]) if len(sys.argv) > 1 else 1_200_000)
    for caps in ((9, 4096), (18, 6016)):
        times = []
        for epoch in range(5):
            started, cpu = time.perf_counter(), time.process_time()
            packed = evenkeel.pack({"unit_cap": caps[0], "token_cap": caps[1]}, tokens, units, data_parallel=64,
                                   epoch=epoch)
            times.append((time.perf_counter() - started, time.process_time() - cpu))
        took, cpu = (statistics.median(column) for column in zip(*times))
        print(f"{len(tokens):,} samples packed at {caps}: {took:.3f} s, CPU {cpu:.3f} s; {packed.pack_count:,} packs")


if __name__ == "__main__":
    main()
