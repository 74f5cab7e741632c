#!/usr/bin/env python3
"""Start of EvenkeelBatchSampler for 1.2 million samples, the server's packing and both ways over the socket included.

    tests/bench/python_sampler.py [SAMPLES]      with the package installed, or Debian's python3-{grpcio,numpy}

Lengths are drawn from the shipped histogram (deploy/examples/vl-mix.histogram.json). At most 2 s is asked for.
"""
import json
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "integration"))

import harness  # noqa: E402
import numpy as np  # noqa: E402

import evenkeel  # noqa: E402

LIMIT_SECONDS = 2
RANKS = 64


def draw(count):
    with open(os.path.join(harness.EXAMPLES, "vl-mix.histogram.json"), encoding="utf-8") as file:
        bins = {name: np.array(values, np.int64) for name, values in json.load(file).items() if name != "encoder_count"}
    chance = np.random.default_rng(1)
    picked = chance.choice(bins["sample_count"].size, count, p=bins["sample_count"] / bins["sample_count"].sum())
    return bins["llm_tokens"][picked], bins["units"][picked]


def main():
    tokens, units = draw(int(sys.argv[1]) if len(sys.argv) > 1 else 1_200_000)
    worst = 0
    with harness.Server() as server, evenkeel.Client(server.address) as client:
        for caps in ((9, 4096), (18, 6016), (37, 11008)):
            rule = {"unit_cap": caps[0], "token_cap": caps[1]}
            times, calls = [], []
            for epoch in range(5):
                began = time.perf_counter()
                sampler = evenkeel.EvenkeelBatchSampler(server.address, rule, tokens, units, rank=3, world_size=RANKS,
                                                        epoch=epoch, prefetch=False)
                times.append(time.perf_counter() - began)
                began = time.perf_counter()
                client.pack_dataset(rule, tokens, units, data_parallel=RANKS, epoch=epoch)
                calls.append(time.perf_counter() - began)
            began = time.perf_counter()
            for _ in sampler:
                pass
            through = time.perf_counter() - began
            worst = max(worst, statistics.median(times))
            print(f"caps {caps}: sampler ready in {statistics.median(times):.2f} s ({min(times):.2f} to "
                  f"{max(times):.2f}), of that pack_dataset {statistics.median(calls):.2f} s; "
                  f"{len(sampler)} batches of one rank in {through * 1e3:.0f} ms")
    print(f"{tokens.size} samples: {worst:.2f} s at worst, {LIMIT_SECONDS} s asked for")
    return 0 if worst <= LIMIT_SECONDS or len(sys.argv) > 1 else 1


if __name__ == "__main__":
    sys.exit(main())
