#!/usr/bin/env python3
"""Fit the planner's kernel-time model to measured GEMM, attention and NCCL times.

    python3 fit_kernels.py --silicon DIR --gpus FILE [--rows] [--floor]

DIR holds <gpu>.gemm.csv, <gpu>.gemm_lowprec.csv, <gpu>.causal_attention_forward.csv,
<gpu>.encoder_attention_forward.csv and <gpu>.nccl.csv (times in microseconds), FILE the GPU rates
(JSON). Needs numpy and scipy. Constants are fitted on a random half of each table (seed 1), their mean
error |model / measured - 1| is given on that half and on the other. --rows prints rows of the other halves
for the unit tests too. --floor prints how well a product's time can be told from its neighbours in the
table: what no model of shapes can better much.
"""
import argparse
import csv
import json
import os

import numpy as np
from scipy.optimize import least_squares

import kernel_forms as forms

# Streaming multiprocessors; encoder attention's tile of queries and of keys, and the padded width of 72 and 80.
GPUS = {"a100_sxm": ("A100-SXM-80GB", 108, None), "h100_sxm": ("H100-SXM-80GB", 132, (192, 192, 96)),
        "h200_sxm": ("H200-SXM-141GB", 132, (192, 192, 96)),
        "b200_sxm": ("B200-SXM-180GB", 148, (256, 128, 128)),
        "gb200": ("GB200-186GB", 152, (256, 128, 128)), "b300_sxm": ("B300-SXM-288GB", 148, (256, 128, 128)),
        "gb300": ("GB300", 152, (256, 128, 128)), "l40s": ("L40S", 142, (128, 64, 96)),
        "rtx_pro_6000_server": ("RTX-PRO-6000", 188, None)}
# Rates that the file does not give: NVIDIA's GB300 NVL72 page (per GPU), and the RTX PRO 6000's datasheet, dense.
MORE_RATES = [{"name": "GB300", "bf16_dense_tflops": 2500, "hbm_gb_s": 8000},
              {"name": "RTX-PRO-6000", "bf16_dense_tflops": 503.8, "hbm_gb_s": 1597}]
# Rows of gemm_lowprec by number format: the table's dtype, its peak over that of 16 bits, bytes per value.
LOW = {"fp8": ("fp8_trtllm", 2, 1), "fp8_block": ("fp8_block_trtllm", 2, 1), "nvfp4": ("nvfp4_trtllm", 4, 0.5)}
# Name: least, most, first guesses.
MATRIX = {"e": (.3, 1, .9, .75), "k0": (1, 3000, 100, 60), "waves": (0, 1, .7, .1),
          "droop": (0, 1.5, .05, .6), "droop_us": (100, 3000, 600, 1000), "square": (.5, 1, .85, .97),
          "split_k0": (200, 2e4, 3000, 9000)}
CAUSAL = {"launch": (1, 40, 8), "a64": (.1, 1, .5), "a128": (.1, 1, .6), "a192": (.1, 1, .6),
          "a256": (.1, 1, .6), "half": (0, 2500, 400), "tail": (0, 3, .3), "token": (0, 1e5, 1000),
          "kv": (0, 60, 8), "kv_equal": (0, 60, 4)}
ENCODER = {"launch": (1, 40, 5), "a64": (.1, 1, .5), "wide": (.1, 1, .6), "half": (0, 2500, 300),
           "waves": (0, 1.2, .8)}
# Collectives are tables at these sizes, linear in between, so all other sizes are held out.
NODES = [2 ** k for k in (16, 20, 22, 24, 26, 29)]
OPERATIONS = ("all_gather", "reduce_scatter", "all_reduce", "alltoall")


def read(path):
    """Reads the CSV as a dict of columns. Text stays text."""
    if not os.path.exists(path):
        return None
    with open(path, newline="") as f:
        rows = list(csv.DictReader(f))
    text = ("dtype", "op")
    return {c: np.array([r[c] if c in text else float(r[c]) for r in rows]) for c in rows[0]}


def keep(d, mask):
    return {c: v[mask] for c, v in d.items()}


def fit(model, bounds, fixed, d, judged):
    """Fits constants by a robust loss of log(model / measured) on one half. Rows outside the judged domain weigh less.
    Returns the constants, and the mask of the other half."""
    half = np.random.default_rng(1).random(d["us"].size) < 0.5
    names = [n for n in bounds if n not in fixed]
    s, weight = keep(d, half), np.where(judged, 1, 0.25)[half]
    low, high = (np.array([bounds[n][i] for n in names]) for i in (0, 1))
    best = None
    for guess in range(2, min(len(b) for b in bounds.values())):
        start = np.array([bounds[n][guess] for n in names])
        r = least_squares(
            lambda v: weight * np.log(model({**fixed, **dict(zip(names, v))}, s) / s["us"]), start,
            bounds=(low, high), loss="soft_l1", f_scale=0.1, x_scale=start, diff_step=1e-3)
        if best is None or r.cost < best.cost:
            best = r
    return {**fixed, **dict(zip(names, best.x))}, ~half


def report(title, p, error, judged, other):
    def mean(mask):
        return "%.1f%%" % (100 * error[mask].mean()) if mask.any() else "none"
    print("%s %s" % (title, " ".join("%s=%.3g" % x for x in p.items())))
    print("    fitted half %s, other half %s, its p95 %.0f%%; outside the domain %s" % (
        mean(judged & ~other), mean(judged & other), 100 * np.percentile(error[judged & other], 95),
        mean(~judged)))


def fit_matrix(table, gpu, kind):
    """Fits products of one number format: "bfloat16", or one of LOW."""
    dtype, ratio, value_bytes = LOW.get(kind, (kind, 1, 2))
    d = keep(table, (table["dtype"] == dtype) & (table["m"] >= 512) & (table["n"] >= 256) &
             (table["k"] >= 256))
    if not d["us"].size:
        return None
    judged = (d["m"] >= 1024) & (d["n"] >= 1024) & (d["k"] >= 1024)
    peak, bounds, fixed = gpu["peak"] * ratio, dict(MATRIX), dict(forms.SHARED)
    if kind in LOW:  # the tables quantise the left operand first, with one or two extra kernels
        bounds.update({"launch": (1, 20, 9, 9), "quantise": (0, 40, 9, 15)})
        del fixed["launch"]

    def model(p, s):
        return forms.matrix(p, s, gpu, peak, value_bytes)
    p, other = fit(model, bounds, fixed, d, judged)
    error = np.abs(model(p, d) / d["us"] - 1)
    report("  matrix " + kind, {n: p[n] for n in bounds}, error, judged, other)
    return keep(d, judged & other)


def print_floor(table, kind):
    """Predicts each product from its neighbours: a plane through log time over log shape."""
    d = keep(table, (table["dtype"] == kind) & (table["m"] >= 512) & (table["n"] >= 512) &
             (table["k"] >= 512))
    x = np.log2(np.c_[d["m"], d["n"], d["k"]])
    y = np.log(d["us"] / (d["m"] * d["n"] * d["k"]))
    errors = []
    for i in np.flatnonzero(x.min(axis=1) >= 10):
        away = np.abs(x - x[i]) / (1, 0.6, 0.6)
        weight = np.exp(-(away ** 2).sum(1) / 2) * (away.max(1) <= 2)  # square roots of weights
        weight[i] = 0
        near = weight > 0.1
        plane = np.c_[np.ones(near.sum()), (x - x[i])[near]] * weight[near][:, None]
        c = np.linalg.lstsq(plane, y[near] * weight[near], rcond=None)[0]
        errors.append(abs(np.exp(c[0] - y[i]) - 1))
    print("  matrix %s from its neighbours: %.1f%%" % (kind, 100 * np.mean(errors)))


def fit_causal(d, gpu):
    d = keep(d, (d["seq"] >= 256) & (d["batch"] * d["heads"] >= 4) & (d["head_dim"] <= 256) &
             (d["heads"] * d["head_dim"] >= 512))
    judged = (d["seq"] >= 1024) & (d["batch"] * d["heads"] >= 8) & (d["heads"] * d["head_dim"] >= 1024)
    unmeasured = {"a%d" % s: 0.5 for s in (64, 192, 256) if not (d["head_dim"] == s).any()}

    def model(p, s):
        return forms.causal(p, s, gpu, gpu["peak"])
    p, other = fit(model, CAUSAL, unmeasured, d, judged)
    error = np.abs(model(p, d) / d["us"] - 1)
    report("  causal", {n: v for n, v in p.items() if n not in unmeasured}, error, judged, other)
    return keep(d, judged & other)


def fit_encoder(d, gpu):
    d = keep(d, (d["seq"] >= 192) & (d["batch"] * d["heads"] >= 4))
    judged = (d["seq"] >= 576) & (d["batch"] * d["heads"] >= 8)

    def model(p, s):
        return forms.encoder(p, s, gpu, gpu["peak"], gpu["tiles"])
    p, other = fit(model, ENCODER, {}, d, judged)
    error = np.abs(model(p, d) / d["us"] - 1)
    report("  encoder", p, error, judged, other)
    return keep(d, judged & other)


def fit_nccl(d):
    errors, held, others = [], [], []
    for op in OPERATIONS:
        for ranks in (2, 4, 8):
            s = keep(d, (d["op"] == op) & (d["gpus"] == ranks))
            if not s["us"].size:
                continue
            times = np.array([s["us"][s["bytes"] == x][0] for x in NODES])
            times = np.minimum.accumulate(times[::-1])[::-1]  # more bytes never take less time
            print("  %-15s %d: %s" % (op, ranks, ", ".join("%g" % t for t in times)))
            for i in np.flatnonzero(s["bytes"] >= 2 ** 20):
                errors.append(abs(np.interp(s["bytes"][i], NODES, times) / s["us"][i] - 1))
                held.append(s["bytes"][i] not in NODES)
                others += [(op, ranks, s["bytes"][i], s["us"][i])] * held[-1]
    errors, held = np.array(errors), np.array(held)
    print("  nccl from 1 MiB: all %.1f%%, sizes held out %.1f%%" % (
        100 * errors.mean(), 100 * errors[held].mean()))
    return others


def print_rows(gpu, what, d, columns, count):
    pick = np.sort(np.random.default_rng(2).permutation(d["us"].size)[:count])
    for i in pick:
        print("ROW %s %s {%s}" % (gpu, what, ", ".join("%g" % d[c][i] for c in (*columns, "us"))))


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--silicon", required=True, help="folder with the measured CSV files")
    ap.add_argument("--gpus", required=True, help="JSON file with the GPU rates")
    ap.add_argument("--rows", action="store_true", help="print rows for the unit tests too")
    ap.add_argument("--floor", action="store_true", help="print what neighbours in the table tell")
    args = ap.parse_args()
    with open(args.gpus) as f:
        rates = {g["name"]: g for g in MORE_RATES + json.load(f)["gpus"]}
    for name, (label, processors, tiles) in GPUS.items():
        g, base = rates[label], os.path.join(args.silicon, name)
        gpu = {"peak": g["bf16_dense_tflops"] * 1e6, "hbm": g["hbm_gb_s"] * 1e3,
               "processors": processors, "tiles": tiles}
        print("== %s (%s)" % (name, label))
        table = read(base + ".gemm.csv")
        if args.floor:
            print_floor(table, "bfloat16")
        fitted = [("matrix", fit_matrix(table, gpu, "bfloat16"), "mnk", 24),
                  ("causal", fit_causal(read(base + ".causal_attention_forward.csv"), gpu),
                   ("batch", "seq", "heads", "kv_heads", "head_dim"), 16)]
        low = read(base + ".gemm_lowprec.csv")
        for kind in LOW if low else ():
            fitted.append((kind, fit_matrix(low, gpu, kind), "mnk", 8))
        if tiles:
            fitted.append(("encoder", fit_encoder(read(base + ".encoder_attention_forward.csv"), gpu),
                           ("batch", "seq", "heads", "head_dim"), 16))
        others = fit_nccl(read(base + ".nccl.csv"))
        if args.rows:
            for what, d, columns, count in fitted:
                if d is not None:
                    print_rows(name, what, d, columns, count)
            for i in np.sort(np.random.default_rng(3).permutation(len(others))[:16]):
                print("ROW %s nccl {%s, %d, %d, %g}" % (name, *others[i]))


if __name__ == "__main__":
    main()
