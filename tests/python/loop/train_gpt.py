"""Trains tiny GPTs, data-parallel over gloo, one thread per process, and reports their steps. Several trainings take
turns, step by step, so that whatever else runs on the machine slows all of them alike.

    train_gpt.py SETTINGS RANK WORLD      SETTINGS: a JSON file, written by test_loop.py
"""
import contextlib
import json
import sys
import time

import torch
from torch import distributed, nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

import evenkeel


class Block(nn.Module):
    """A layer as the planner counts it: attention, and an MLP of two matrices."""

    def __init__(self, width, heads, inner):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, layers, hidden_size, attention_heads, ffn_size, vocabulary_size):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary_size, hidden_size)
        self.blocks = nn.Sequential(*(Block(hidden_size, attention_heads, ffn_size) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(hidden_size), nn.Linear(hidden_size, vocabulary_size, bias=False)

    def forward(self, tokens):
        logits = self.head(self.norm(self.blocks(self.embedding(tokens[:, :-1]))))
        return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


class Job:
    """One training, with a reporter of its own."""

    def __init__(self, settings, run, rank, world):
        torch.manual_seed(0)
        self.model = Gpt(**run["shape"])
        self.trained = DistributedDataParallel(self.model) if world > 1 else self.model
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.tokens = torch.randint(run["shape"]["vocabulary_size"], (run["micro_batch"], settings["length"] + 1))
        self.micro_batches, self.warmup = run["micro_batches"], settings["warmup_steps"]
        self.slow = settings["slow_seconds"] if rank == settings.get("slow_rank") else 0
        self.times = []
        self.reporter = evenkeel.StepReporter(
            settings["server"], plan_id=run["plan_id"], job=run["job"], window_steps=settings["window_steps"],
            warmup_steps=self.warmup, forward_every=2, record=run["record"], exit_seconds=60)
        self.reporter.watch(self.model)
        if self.slow:  # a rank whose forward pass takes longer
            self.model.blocks.register_forward_hook(lambda *_: time.sleep(self.slow))

    def step(self):
        begun = time.perf_counter()
        with self.reporter.step():
            for micro_batch in range(self.micro_batches):
                last = micro_batch == self.micro_batches - 1 or not hasattr(self.trained, "no_sync")
                with contextlib.nullcontext() if last else self.trained.no_sync():
                    self.trained(self.tokens).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
        self.times.append(time.perf_counter() - begun)

    def result(self):
        report = self.reporter.report
        return {"times": self.times[self.warmup:], "steps": report.steps, "windows": report.windows,
                "revision": report.revision, "ratio": report.step_ratio, "advice": report.advice,
                "fault": report.fault, "new_plan_id": report.new_plan_id,
                "new_step_seconds": report.new_step_seconds}


def main():
    path, rank, world = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with open(path, encoding="utf-8") as file:
        settings = json.load(file)
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=settings["store"], rank=rank, world_size=world)
    jobs = [Job(settings, run, rank, world) for run in settings["runs"]]
    for _ in range(settings["steps"] + settings["warmup_steps"]):
        for job in jobs:
            job.step()
    distributed.barrier()
    for job in jobs:
        job.reporter.close()
    if rank == 0:
        with open(settings["output"], "w", encoding="utf-8") as file:
            json.dump([job.result() for job in jobs], file)
    distributed.barrier()
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
