"""Forms of the kernel-time model, as planner/cost/kernel_time.cc computes them: docs/COST_MODEL.md, section 2. Times
are in microseconds, rates per microsecond. p maps a constant's name to its value, d a column's name to its values."""
import numpy as np

# Constants shared by all GPUs.
SHARED = {"launch": 2.5, "narrow": 0.9, "hbm": 0.8}
QUERY_TILE = 128  # rows of a causal attention tile
TILES = ((128, 256, ()), (256, 128, ()), (128, 128, ("square",)), (64, 128, ("square", "narrow")),
         (128, 64, ("square", "narrow")))


def droop(t, p):
    """Slows long kernels as clocks fall: t grows by the share `droop` once it is well beyond `droop_us`."""
    return t * (1 + p["droop"] * t * t / (t * t + p["droop_us"] ** 2))


def matrix(p, d, gpu, peak, value_bytes):
    """Takes the best tile shape, counting its last wave by the share `waves`, or splits along k."""
    m, n, k = d["m"], d["n"], d["k"]
    best = np.inf
    for rows, columns, slower in TILES:
        rate = peak * p["e"] * np.prod([p[s] for s in slower]) / gpu["processors"]
        waves = np.ceil(m / rows) * np.ceil(n / columns) / gpu["processors"]
        counted = np.maximum(waves, 1) + p["waves"] * (np.ceil(waves) - waves) * (waves > 1)
        tile = 2 * rows * columns / rate
        best = np.minimum(best, counted * tile * (k + p["k0"]))
        best = np.minimum(best, waves * tile * (k + p["split_k0"]))
    traffic = value_bytes * (m * k + n * k) + 2 * m * n
    t = np.maximum(best, traffic / (gpu["hbm"] * p["hbm"]))
    return p["launch"] + droop(t, p) + p.get("quantise", 0) * m * k / gpu["hbm"]


def causal(p, d, gpu, peak):
    """Returns the time of the tables' kernel. `token`, `kv`, `kv_equal`: its rotary embedding, cache writes."""
    b, s, h, kv, size = (d[c] for c in ("batch", "seq", "heads", "kv_heads", "head_dim"))
    e = np.select([size <= 64, size <= 128, size <= 192], [p["a64"], p["a128"], p["a192"]], p["a256"])
    core = 2 * b * h * s * (s + p["half"]) * size / (peak * e)
    tail = p["tail"] * 4 * QUERY_TILE * s * size / (peak * e) * gpu["processors"]
    cache = np.where(h == kv, p["kv_equal"], p["kv"]) * kv * size * 2
    return p["launch"] + core + tail + b * s * (p["token"] + cache) / gpu["hbm"]


def encoder(p, d, gpu, peak, tiles):
    """Returns the time of whole tiles of queries and keys, in waves of query tiles. Heads are padded to tiles[2]."""
    b, s, h, size = (d[c] for c in ("batch", "seq", "heads", "head_dim"))
    queries, keys = np.ceil(s / tiles[0]), np.ceil(s / tiles[1]) * tiles[1]
    padded = np.where(size <= 64, 64, tiles[2])
    e = np.where(size <= 64, p["a64"], p["wide"])
    waves = b * h * queries / gpu["processors"]
    counted = np.maximum(waves, 1)
    counted = counted + p["waves"] * (np.ceil(waves) - counted)
    tile = 4 * tiles[0] * (keys + p["half"]) * padded / (peak * e) * gpu["processors"]
    return p["launch"] + counted * tile
