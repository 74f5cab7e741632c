#!/usr/bin/env python3
"""Fit the planner's kernel time model to measured GEMM, attention and NCCL times.

Input: a folder of <gpu>.gemm.csv, <gpu>.causal_attention_forward.csv,
<gpu>.encoder_attention_forward.csv and <gpu>.nccl.csv (times in microseconds)
and the GPU table (JSON) with peak, HBM and link rates. Needs numpy and scipy.

    python3 fit_kernels.py --silicon DIR --gpus FILE

The model, with peak in flop/us and every rate in bytes/us (no transcendental
functions but sqrt):

GEMM, bf16:
    us = GEMM_LAUNCH + max(2 (m+MN0)(n+MN0)(k+K0) / (peak e), bytes / (HBM_EFF hbm))
    bytes = 2 (mk + kn + mn); e per GPU, the other constants shared.
    The byte floor is a bound for thin shapes, not fitted.

Flash attention, forward (causal c: N = 2; full, for encoders e: N = 4):
    us = ATT_LAUNCH + N b h s (s + s0) (dpad + d0) / (peak a (1 + d0/128))
    dpad = head size rounded up to a multiple of 32
    s0 = s_c + S_KV kv_heads/heads (causal), s_e (full)
    a is then the fraction of peak at head size 128 and long sequences.
    Per GPU: a_c, a_e, s_c, s_e, d0.

NCCL inside a node, B the nccl-tests total buffer size (all_gather: the gathered
output; reduce_scatter: the whole input; all_to_all: one rank's whole send buffer):
    x  = B w (n - 1 + q) / n / (link eta);  w = 2 for all_reduce, else 1
    us = l0 + l1 w (n - 1) + x + sqrt(c x)
    q shared per op; l0, l1, c and eta per op per GPU. Without NVLink the host
    topology rules: link is the PCIe rate and eta is fitted per rank count.

Errors are |model / measured - 1|: mean and 95th percentile.
"""
import argparse
import csv
import glob
import json
import os

import numpy as np
from scipy.optimize import least_squares

NAMES = {"a100_sxm": "A100-SXM-80GB", "h100_sxm": "H100-SXM-80GB",
         "h200_sxm": "H200-SXM-141GB", "b200_sxm": "B200-SXM-180GB",
         "gb200": "GB200-186GB", "l40s": "L40S"}

# shared constants
GEMM_LAUNCH, MN0, K0, HBM_EFF = 3.0, 50.0, 100.0, 0.8
ATT_LAUNCH, S_KV = 16.0, 500.0
Q = {"all_gather": 0.4, "reduce_scatter": 0.4, "all_reduce": 0.2, "alltoall": 0.4}
# GEMMs longer than this are power-throttled on this GPU (two regimes): fit below it
BURST_US = {"gb200": 1000.0}


def read(path, text=()):
    """The CSV as a dict of columns; the columns named in text stay strings."""
    if not os.path.exists(path):
        return None
    with open(path, newline="") as f:
        rows = list(csv.DictReader(f))
    return {c: np.array([r[c] if c in text else float(r[c]) for r in rows]) for c in rows[0]}


def keep(d, mask):
    return {c: v[mask] for c, v in d.items()}


def fit(model, start, d):
    """Positive parameters that minimise a robust loss of log(model / measured)."""
    def residual(logp):
        return np.log(model(np.exp(logp), d) / d["us"])
    r = least_squares(residual, np.log(start), loss="soft_l1", f_scale=0.1)
    return np.exp(r.x)


def errors(model, p, d, mask):
    e = np.abs(model(p, d) / d["us"] - 1)[mask]
    return "mean %4.1f%% p95 %4.1f%% (%d)" % (100 * e.mean(), 100 * np.percentile(e, 95), e.size) \
        if e.size else "no data"


def gemm_model(peak, hbm):
    def model(p, d):
        m, n, k = d["m"], d["n"], d["k"]
        launch, mn0, k0 = (p[1], p[2], p[3]) if len(p) > 1 else (GEMM_LAUNCH, MN0, K0)
        return launch + np.maximum(2 * (m + mn0) * (n + mn0) * (k + k0) / (peak * p[0]),
                                   2 * (m * k + k * n + m * n) / (HBM_EFF * hbm))
    return model


def gemm(gpu, d, g):
    peak, hbm = g["bf16_dense_tflops"] * 1e6, g["hbm_gb_s"] * 1e3
    d = keep(d, (d["dtype"] == "bfloat16") & (d["m"] >= 512) & (d["n"] >= 512) & (d["k"] >= 512))
    d_fit = keep(d, d["us"] < BURST_US.get(gpu, np.inf))
    rate = 2 * d["m"] * d["n"] * d["k"] / d["us"] / peak
    model = gemm_model(peak, hbm)
    p = fit(model, [0.8], d_fit)
    free = fit(model, [0.8, 3, 50, 100], d_fit)
    print("GEMM e=%.3f" % p[0])
    sets = [("all", d)] + ([("fitted (< %g us)" % BURST_US[gpu], d_fit)] if gpu in BURST_US else [])
    for name, s in sets:
        big = (s["m"] >= 2048) & (s["n"] >= 1024) & (s["k"] >= 1024)
        print("  %-18s %s; large %s" % (name, errors(model, p, s, big | True), errors(model, p, s, big)))
    print("  with e, launch, mn0, k0 free: %s -> %s" % (
        np.array2string(free, precision=3, suppress_small=True),
        errors(model, free, d_fit, d_fit["us"] > 0)))
    lab = []
    for lo, hi in ((100, 1000), (1600, np.inf)):
        s = (d["us"] >= lo) & (d["us"] < hi)
        if s.any():
            lab.append("%g..%g us %.3f" % (lo, hi, np.median(rate[s])))
    mamf = g.get("mamf_bf16_tflops")
    print("  median rate/peak: %s; max %.3f; published best rate/peak %s" % (
        ", ".join(lab), rate.max(), "%.3f" % (mamf / g["bf16_dense_tflops"]) if mamf else "unknown"))


def attention(causal, full, g):
    peak = g["bf16_dense_tflops"] * 1e6
    parts = []
    for d, nn in ((causal, 2.0), (full, 4.0)):
        if d is not None:
            parts.append(dict(d, N=np.full(d["us"].size, nn)))
    d = {c: np.concatenate([x[c] for x in parts]) for c in parts[0]}
    d = keep(d, (d["seq"] >= 512) & (d["batch"] * d["heads"] >= 8) & (d["head_dim"] <= 256))

    def model(p, d):
        is_c = d["N"] == 2
        a = np.where(is_c, p[0], p[1])
        s0 = np.where(is_c, p[2] + S_KV * d["kv_heads"] / d["heads"], p[3])
        dpad = np.ceil(d["head_dim"] / 32) * 32
        work = d["N"] * d["batch"] * d["heads"] * d["seq"] * (d["seq"] + s0) * (dpad + p[4])
        return ATT_LAUNCH + work / (peak * a * (1 + p[4] / 128))

    p = fit(model, [0.6, 0.6, 500, 200, 60], d)
    big = (d["seq"] >= 2048) & (d["batch"] * d["heads"] >= 16)
    is_c = d["N"] == 2
    if np.unique(d["head_dim"]).size == 1:
        print("ATTENTION one head size only: d0 below is not determined by the data")
    print("ATTENTION a_c=%.3f s_c=%.0f d0=%.0f" % (p[0], p[2], p[4]) +
          ("" if full is None else " a_e=%.3f s_e=%.0f" % (p[1], p[3])))
    for name, s in (("causal", is_c), ("full", ~is_c)):
        if s.any():
            print("  %-7s %s; long %s" % (name, errors(model, p, d, s), errors(model, p, d, s & big)))
            r = model(p, d) / d["us"]
            print("          median model/measured, long, by head size: " + ", ".join(
                "%g: %.2f" % (h, np.median(r[s & big & (d["head_dim"] == h)]))
                for h in np.unique(d["head_dim"][s & big])))


def nccl(d, g):
    link = g["scaleup_gb_s_per_direction"] or g["pcie_gb_s_per_direction"]
    nvlink = g["scaleup_gb_s_per_direction"] > 0
    wd = np.where(d["op"] == "all_reduce", 2.0, 1.0)
    bus = d["bytes"] * wd * (d["gpus"] - 1) / d["gpus"] / d["us"] / 1e3
    print("NCCL link=%g GB/s; highest bus bandwidth %.3f of link" % (link, bus.max() / link))
    groups = [d] if nvlink else [keep(d, d["gpus"] == n) for n in np.unique(d["gpus"])]
    for s in groups:
        s = keep(s, s["bytes"] >= 65536)

        def model(p, s):
            w = np.where(s["op"] == "all_reduce", 2.0, 1.0)
            eta = np.where(s["op"] == "all_reduce", p[4], np.where(s["op"] == "alltoall", p[5], p[3]))
            q = np.array([Q[o] for o in s["op"]])
            x = s["bytes"] * w * (s["gpus"] - 1 + q) / s["gpus"] / (link * 1e3 * eta)
            l1 = p[1] if nvlink else 1.0
            return p[0] + l1 * w * (s["gpus"] - 1) + x + np.sqrt(p[2] * x)

        p = fit(model, [8, 1, 10, 0.5, 0.5, 0.5], s)
        print("  gpus %s: l0=%.2f l1=%.2f c=%.1f eta: gather/scatter %.3f all_reduce %.3f all_to_all %.3f" % (
            "/".join("%g" % n for n in np.unique(s["gpus"])), p[0], p[1] if nvlink else 1.0, *p[2:]))
        for op in ("all", *Q):
            o = (s["op"] == op) | (op == "all")
            print("    %-14s >=1 MiB %s; >=64 MiB %s" % (
                op, errors(model, p, s, o & (s["bytes"] >= 2**20)),
                errors(model, p, s, o & (s["bytes"] >= 2**26))))


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--silicon", required=True, help="folder with the measured CSV files")
    ap.add_argument("--gpus", required=True, help="JSON file with the GPU rates")
    args = ap.parse_args()
    with open(args.gpus) as f:
        table = {g["name"]: g for g in json.load(f)["gpus"]}
    for path in sorted(glob.glob(os.path.join(args.silicon, "*.gemm.csv"))):
        gpu = os.path.basename(path)[:-len(".gemm.csv")]
        if gpu not in NAMES or NAMES[gpu] not in table:
            print("\n== %s: not in the GPU table, skipped" % gpu)
            continue
        g = table[NAMES[gpu]]
        base = os.path.join(args.silicon, gpu)
        print("\n== %s (%s)" % (gpu, NAMES[gpu]))
        gemm(gpu, read(path, ("dtype",)), g)
        causal = read(base + ".causal_attention_forward.csv")
        full = read(base + ".encoder_attention_forward.csv")
        if causal is not None or full is not None:
            attention(causal, full, g)
        coll = read(base + ".nccl.csv", ("op",))
        if coll is not None:
            nccl(coll, g)


if __name__ == "__main__":
    main()
