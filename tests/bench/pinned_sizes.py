#!/usr/bin/env python3
"""Looks for pack sizes that are better than those that a plan chose, for jobs drawn at random.

Usage: pinned_sizes.py [--jobs N] [--seed N] [--texts] [--all] EVENKEELCTL

Each job is planned freely and with its unit cap (with --texts, its token cap) pinned to multiples of the plan's and of
the first plan's level. A line is a job with a pin that takes at least 5% fewer GPU-days (with --all, every job) and
misses the batch by no more than the free plan or 5%. The last lines count them.
"""
import concurrent.futures
import re

from compare_plans import GPUS, TRAINERS, plan, read_options

COUNTS = [1, 2, 3, 5, 8, 12, 16, 24, 32, 40, 48, 56, 64, 72, 96, 112, 128, 160, 192, 256]
BATCHES = [8, 24, 32, 48, 64, 100, 128, 200, 256, 500, 512, 768, 1024, 2048]
SHARES = [1 / 8, 1 / 4, 1 / 3, 1 / 2, 2 / 3, 3 / 4, 3 / 2, 2, 3, 4, 6, 8, 12, 16]


def draw(rng, models):
    """Returns the options of a job."""
    return ["--model", rng.choice(models), "--gpu", rng.choice(GPUS), "--gpus", str(rng.choice(COUNTS)),
            "--trainer", rng.choice(TRAINERS), "--global-batch", str(rng.choice(BATCHES)), "--alternatives", "0"]


def best_pin(program, job, cap):
    """Returns the free plan and the best pin, each as GPU-days, error and cap, or None if nothing fits."""
    free = plan(program, job)
    if free is None:
        return None
    caps = {"unit_cap": free[2].get("unit_cap"), "token_cap": free[2]["token_cap"]}
    if not int(caps[cap] or 0):
        return None
    level = re.search(r"packs of (\d+) (?:units|tokens)", free[2].get("caps_reason", ""))
    around = {int(caps[cap])} | ({int(level.group(1))} if level else set())
    best = None
    for size in sorted({round(base * share) for base in around for share in SHARES}):
        pinned = plan(program, [*job, "--" + cap.replace("_", "-"), str(size)]) if size else None
        if pinned and pinned[1] <= max(free[1], .05) + .001 and (best is None or pinned[0] < best[0]):
            best = pinned[0], pinned[1], size
    return (free[0], free[1], int(caps[cap])), best


def main():
    options, jobs = read_options(__doc__, ("program",), 100, draw)
    cap = "token_cap" if options.texts else "unit_cap"
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda job: best_pin(options.program, job, cap), jobs))
    gains = []
    for job, answer in zip(jobs, answers):
        if answer is None or answer[1] is None:
            continue
        free, pin = answer
        gains.append(1 - pin[0] / free[0])
        if options.all or gains[-1] >= .05:
            print(f"{' '.join(job[:-2])}: cap {free[2]}, batch missed by {free[1]:.1%}; {gains[-1]:.1%} fewer GPU-days "
                  f"with {pin[2]}, missed by {pin[1]:.1%}")
    counts = ", ".join(f"{sum(g >= share for g in gains)} by {share:.0%}" for share in (.01, .05, .1, .25))
    print(f"{len(gains)} jobs with pins that fit and keep the batch; of these, a pin is better for {counts} or more")


if __name__ == "__main__":
    main()
