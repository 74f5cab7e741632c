#!/usr/bin/env python3
"""evenkeel.ray on many samples: seconds and memory of the histogram, of packs by partition and of their order.

    tests/bench/ray_lengths.py FOLDER [--samples N ...] [--caps UxT] [--ranks N] [--cpus N] [--spread]

Samples are drawn from the shipped histogram (deploy/examples/vl-mix.histogram.json) into Parquet files of 4 million in
FOLDER/lengths, which are kept: 6 bytes a sample. Memory is the proportional set size of this process and all of Ray's,
the object store included, looked at every second. Exit status 1 if packs are more than 0.1% above the proven bound, or
memory is above 12 GiB. Needs an environment with the package and `ray[data]`, as tests/ray/run.sh makes.
"""
import argparse
import json
import os
import shutil
import sys
import threading
import time

import numpy as np
import pyarrow
import pyarrow.parquet
import ray
import ray.data

import evenkeel
import evenkeel.ray

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FILE_SAMPLES = 4_000_000
LIMIT_EXCESS, LIMIT_BYTES = 0.001, 12 << 30


def draw(path, count, seed):
    """Spreads samples evenly over the 32 lengths of a bin, as packing_bench does."""
    with open(os.path.join(ROOT, "deploy", "examples", "vl-mix.histogram.json"), encoding="utf-8") as file:
        bins = {name: np.array(values, np.int64) for name, values in json.load(file).items() if name != "encoder_count"}
    chance = np.random.default_rng(seed)
    share = np.cumsum(bins["sample_count"]) / bins["sample_count"].sum()
    picked = np.searchsorted(share, chance.random(count), side="right")
    tokens = np.maximum(bins["llm_tokens"][picked] // 32 * 32 + chance.integers(0, 32, count), 1)
    table = pyarrow.table({"vit_num": bins["units"][picked].astype(np.int32), "token_num": tokens.astype(np.int32)})
    pyarrow.parquet.write_table(table, path + ".part", compression="none")
    os.replace(path + ".part", path)


def files(folder, samples):
    os.makedirs(folder, exist_ok=True)
    paths = []
    for at in range(0, samples, FILE_SAMPLES):
        count = min(FILE_SAMPLES, samples - at)
        path = os.path.join(folder, f"{at // FILE_SAMPLES:05}-{count}.parquet")
        if not os.path.exists(path):
            draw(path, count, at // FILE_SAMPLES)
        paths.append(path)
    return paths


def children():
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append((int(name), int(fields[11]) + int(fields[12])))
    return parents


def whole_tree():
    """Returns this process and all below, with their clock ticks."""
    parents, found = children(), [(os.getpid(), 0)]
    for process, _ in found:
        found.extend(parents.get(process, []))
    return found


class Watch:
    """The most memory at any time, and the CPU time of all processes."""

    def __init__(self):
        self.bytes, self.ticks, self._ended = 0, {}, threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()

    def _run(self):
        while not self._ended.wait(1):
            total = 0
            for process, ticks in whole_tree():
                self.ticks[process] = ticks
                try:
                    with open(f"/proc/{process}/smaps_rollup", encoding="utf-8") as file:
                        total += next(int(line.split()[1]) for line in file if line.startswith("Pss:")) << 10
                except (OSError, StopIteration):
                    continue
            self.bytes = max(self.bytes, total)


def seconds(function):
    began = time.monotonic()
    result = function()
    return result, time.monotonic() - began


def measure(arguments, samples, caps):
    paths = files(os.path.join(arguments.folder, "lengths"), samples)
    out = os.path.join(arguments.folder, "packs")
    shutil.rmtree(out, ignore_errors=True)
    before = dict(whole_tree())
    with Watch() as watch:
        _, histogram_time = seconds(lambda: evenkeel.ray.histogram(ray.data.read_parquet(paths)))
        packs, pack_time = seconds(lambda: evenkeel.ray.pack(
            ray.data.read_parquet(paths), {"unit_cap": caps[0], "token_cap": caps[1]}, out, spread=arguments.spread))
        epoch, order_time = seconds(lambda: evenkeel.ray.order(out, data_parallel=arguments.ranks))
    cpu = sum(ticks - before.get(process, 0) for process, ticks in watch.ticks.items() if process != os.getpid())
    cpu = cpu / os.sysconf("SC_CLK_TCK")
    ratio = epoch.manifest["dist_ratio"]
    print(f"{samples:>13,}  {histogram_time:9.1f}  {pack_time:7.1f}  {order_time:7.1f}  {cpu:7.0f}  "
          f"{watch.bytes / 2 ** 30:6.2f}  {packs.pack_count:>11,}  {packs.lower_bound:>11,}  {packs.excess:8.4%}  "
          f"{ratio['units']:.5f} {ratio['tokens']:.5f}  {os.getloadavg()[0]:.1f}", flush=True)
    return packs.excess <= LIMIT_EXCESS and watch.bytes <= LIMIT_BYTES


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--samples", type=int, nargs="+", default=[10_000_000, 50_000_000, 100_000_000, 200_000_000])
    parser.add_argument("--caps", default="13x4416")
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--spread", action="store_true")
    arguments = parser.parse_args()
    caps = [int(cap) for cap in arguments.caps.split("x")]
    files(os.path.join(arguments.folder, "lengths"), max(arguments.samples))
    ray.init(num_cpus=arguments.cpus, object_store_memory=2 << 30, include_dashboard=False, logging_level="ERROR")
    ray.data.DataContext.get_current().enable_progress_bars = False
    print("      samples  histogram     pack    order  CPU s    GiB        packs     at least    excess  "
          "DistRatio        load")
    good = [measure(arguments, samples, caps) for samples in arguments.samples]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
