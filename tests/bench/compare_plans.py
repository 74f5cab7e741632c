#!/usr/bin/env python3
"""Compares the plans of two evenkeelctl programs, such as those of two releases, for jobs drawn at random.

Usage: compare_plans.py [--jobs N] [--seed N] [--texts] [--all] OLD NEW

A line is a job whose plan takes at least 0.5% more GPU-days with NEW (with --all, every job): how many fewer GPU-days
NEW's plan takes, by how much its steps miss the batch, and the caps of its packs. The last lines are the means.
--texts draws language models alone. A timing is that of the whole program.
"""
import argparse
import concurrent.futures
import json
import random
import statistics
import subprocess
import time

IMAGE_MODELS = """gemma-3-4b gemma-3-12b gemma-3-27b internvl-chat-v1.5 internvl3-8b internvl3.5-8b llama3.2-11b-vision
    llava-1.5-7b llava-1.5-13b qwen2-vl-2b qwen2-vl-7b qwen2-vl-72b qwen2.5-vl-7b qwen2.5-vl-32b qwen3-vl-2b qwen3-vl-8b
    qwen3-vl-30b-a3b qwen3-vl-32b qwen3.5-27b""".split()
TEXT_MODELS = "llama2-7b llama3-8b llama3-70b qwen2.5-7b qwen3-8b qwen3-30b-a3b gpt3-13b mixtral-8x7b".split()
GPUS = """a100-sxm-40gb a100-sxm-80gb b200-sxm-180gb h100-sxm-80gb h200-sxm-141gb h800-sxm-80gb l40s-48gb mi250x-128gb
    mi300x-192gb""".split()
TRAINERS = """deepspeed huggingface-trainer internevo megatron-core nemo pytorch-fsdp torchtitan torchtune unlimited
    xtuner""".split()


def draw(rng, models):
    """Returns the options of a job."""
    job = ["--model", rng.choice(models), "--gpu", rng.choice(GPUS),
           "--gpus", str(rng.choice([8, 8, 16, 32, 48, 64, 128])), "--trainer", rng.choice(TRAINERS)]
    if rng.random() < .5:
        job += ["--global-batch", str(rng.choice([64, 128, 256, 512, 1024]))]
    return job


def plan(program, job):
    """Returns the GPU-days, the error of the batch as a share, the batch rule and the seconds of a job's plan, or None
    if nothing fits."""
    began = time.monotonic()
    done = subprocess.run([program, "plan", "--local", "--output", "json", *job], capture_output=True, text=True,
                          check=False)
    seconds = time.monotonic() - began
    if done.returncode:
        return None
    found = json.loads(done.stdout)["plan"]
    asked = float(found["subject"]["global_batch_samples"])
    step = found["predictions"]["samples_per_step"]
    return found["predictions"]["gpu_days"], abs(step / asked - 1), found["batch_rule"], seconds


def read_options(text, programs, jobs, draw_job):
    """Returns the options of a program with this help, and the jobs that it draws."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    for program in programs:
        parser.add_argument(program)
    parser.add_argument("--jobs", type=int, default=jobs)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--texts", action="store_true")
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    return options, [draw_job(rng, TEXT_MODELS if options.texts else IMAGE_MODELS) for _ in range(options.jobs)]


def main():
    options, jobs = read_options(__doc__, ("old", "new"), 180, draw)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda job: (plan(options.old, job), plan(options.new, job)), jobs))
    gains, old_errors, new_errors, old_seconds, new_seconds = [], [], [], [], []
    for job, (old, new) in zip(jobs, answers):
        words = " ".join(word for word in job if not word.startswith("--"))
        if (old is None) != (new is None):
            print(f"{words}: fits only with {'NEW' if old is None else 'OLD'}")
        if old is None or new is None:
            continue
        gains.append(1 - new[0] / old[0])
        for row, value in ((old_errors, old[1]), (new_errors, new[1]), (old_seconds, old[3]), (new_seconds, new[3])):
            row.append(value)
        if options.all or gains[-1] <= -.005:
            caps = ["/".join(str(a[2].get(cap, "-")) for cap in ("unit_cap", "token_cap")) for a in (old, new)]
            print(f"{words}: {gains[-1]:.1%} fewer GPU-days; batch missed by {old[1]:.1%} -> {new[1]:.1%}; "
                  f"caps {caps[0]} -> {caps[1]}")
    print(f"{len(gains)} jobs that fit: {statistics.mean(gains):.2%} fewer GPU-days on average, median "
          f"{statistics.median(gains):.2%}, at most {max(gains):.1%}; {sum(g > .01 for g in gains)} by more than 1%, "
          f"{sum(g < -.005 for g in gains)} take at least 0.5% more")
    print(f"batch missed by {statistics.mean(old_errors):.2%} -> {statistics.mean(new_errors):.2%}; "
          f"{statistics.mean(old_seconds):.2f} s -> {statistics.mean(new_seconds):.2f} s for a plan")


if __name__ == "__main__":
    main()
