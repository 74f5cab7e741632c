#!/usr/bin/env python3
"""Online packing against offline packing of the same samples: packs, DistRatio, samples per second.

    tests/bench/online_packing.py [--lengths FILE ...] [--samples N] [--caps UxT ...] [--window N] [--ranks N]
                                  [--in-order]

Each file is a stream in random order (--in-order: as it is), and all of them together one more. Without files, samples
are drawn from the shipped histogram (deploy/examples/vl-mix.histogram.json). Offline packs are those of
`evenkeelctl pack --local`. Shared: all ranks read one stream; sharded: each rank packs every n-th sample for itself.
Exit status 1 if online packs are more than 1% above offline ones, or a shared stream's DistRatio is above .01 (units)
or .02 (tokens). It needs NumPy, and the package on the path: the script finds the source tree.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "client", "python", "src"))

import evenkeel  # noqa: E402

CAPS = ("9x4096", "13x4416", "18x6016", "20x6656", "37x11008")
LIMIT_PRICE, LIMIT_UNITS, LIMIT_TOKENS = 0.01, 0.01, 0.02


def drawn(count):
    """Spreads samples evenly over the 32 lengths of a bin, as packing_bench does."""
    with open(os.path.join(ROOT, "deploy", "examples", "vl-mix.histogram.json"), encoding="utf-8") as file:
        bins = {name: np.array(values, np.int64) for name, values in json.load(file).items() if name != "encoder_count"}
    chance = np.random.default_rng(1)
    picked = chance.choice(bins["sample_count"].size, count, p=bins["sample_count"] / bins["sample_count"].sum())
    tokens = bins["llm_tokens"][picked] // 32 * 32 + chance.integers(0, 32, count)
    return np.stack([bins["units"][picked], np.maximum(tokens, 1)], axis=1)


def read(path):
    with open(path, encoding="utf-8") as file:
        return np.array([[sample["vit_num"], sample["token_num"]] for sample in json.load(file)], np.int64)


def offline(lengths, caps, ranks):
    with tempfile.TemporaryDirectory(prefix="evenkeel-online-") as folder:
        path = os.path.join(folder, "lengths.npy")
        np.save(path, lengths.astype(np.int32))
        done = subprocess.run(
            [os.path.join(ROOT, "build", "bin", "evenkeelctl"), "pack", path, "--unit-cap", str(caps[0]), "--token-cap",
             str(caps[1]), "--dp", str(ranks), "--local", "--json"], check=True, stdout=subprocess.PIPE)
    rule = json.loads(done.stdout)["rule"]
    return int(rule["pack_count"]), rule["dist_ratio_units"], rule["dist_ratio_tokens"]


def packed(lengths, caps, **options):
    """Returns packs in the order of steps, the report and seconds."""
    packer = evenkeel.OnlinePacker({"units": caps[0], "tokens": caps[1]}, **options)
    began = time.process_time()
    sums, seen = [], []
    for step in packer.pack(enumerate(lengths.tolist())):
        for row in step.packs:
            for pack in row:
                if pack is not None:
                    sums.append(list(pack.sums.values()))
                    seen += pack.samples
    seconds = time.process_time() - began
    if sorted(seen) != list(range(len(lengths))) or (np.array(sums) > caps).any():
        raise SystemExit("samples are missing, or a pack is over a cap")
    return np.array(sums), packer.report(), seconds


def sharded(lengths, caps, ranks, window):
    """Returns packs of all ranks, and the DistRatios of their n-th packs."""
    each = [packed(lengths[rank::ranks], caps, window=window)[0] for rank in range(ranks)]
    steps = min(map(len, each))
    rows = np.stack([sums[:steps] for sums in each], axis=1)
    most = rows.max(axis=1)
    return sum(map(len, each)), (1 - rows.mean(axis=1) / np.maximum(most, 1)).mean(axis=0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lengths", nargs="+", default=[])
    parser.add_argument("--samples", type=int, default=40000)
    parser.add_argument("--caps", nargs="+", default=CAPS)
    parser.add_argument("--window", type=int, default=4096)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--in-order", action="store_true")
    arguments = parser.parse_args()
    sets = {os.path.basename(path).split("_")[0]: read(path) for path in arguments.lengths}
    if len(sets) > 1:
        sets["all"] = np.concatenate(list(sets.values()))
    if not sets:
        sets["drawn"] = drawn(arguments.samples)
    good = True
    print("set caps: packs online, offline (more), bound by volume | DistRatio units, tokens: shared; offline; sharded "
          "(packs) | longest wait | samples/s")
    for name, lengths in sets.items():
        if not arguments.in_order:
            lengths = lengths[np.random.default_rng(1).permutation(len(lengths))]
        for text in arguments.caps:
            caps = tuple(map(int, text.split("x")))
            wanted, units, tokens = offline(lengths, caps, arguments.ranks)
            _, report, seconds = packed(lengths, caps, window=arguments.window, ranks=arguments.ranks)
            shards, apart = sharded(lengths, caps, arguments.ranks, arguments.window)
            price, ratio = report.packs / wanted - 1, report.dist_ratio
            good &= price <= LIMIT_PRICE and ratio["units"] <= LIMIT_UNITS and ratio["tokens"] <= LIMIT_TOKENS
            print(f"{name} {text}: {report.packs}, {wanted} ({100 * price:+.2f}%), {report.bound} | "
                  f"{ratio['units']:.4f}, {ratio['tokens']:.4f}; {units:.4f}, {tokens:.4f}; "
                  f"{apart[0]:.4f}, {apart[1]:.4f} ({100 * (shards / wanted - 1):+.2f}%) | {report.longest_wait} | "
                  f"{len(lengths) / seconds:.0f}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
