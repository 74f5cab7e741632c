"""Trains a tiny GPT, data-parallel over gloo, one thread per process, and reports its steps.

    train_gpt.py SETTINGS RANK WORLD      SETTINGS: a JSON file, written by test_loop.py
"""
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


def main():
    path, rank, world = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with open(path, encoding="utf-8") as file:
        settings = json.load(file)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    distributed.init_process_group("gloo", init_method=settings["store"], rank=rank, world_size=world)
    shape = settings["shape"]
    model = Gpt(**shape)
    trained = DistributedDataParallel(model) if world > 1 else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = torch.randint(shape["vocabulary_size"], (settings["micro_batch"], settings["length"] + 1))
    reporter = evenkeel.StepReporter(
        settings["server"], plan_id=settings["plan_id"], job=settings["job"], window_steps=settings["window_steps"],
        warmup_steps=settings["warmup_steps"], forward_every=2, record=settings["record"])
    reporter.watch(model)
    times, last = [], None
    for _ in range(settings["steps"] + settings["warmup_steps"]):
        for micro_batch in range(settings["micro_batches"]):
            if world > 1 and micro_batch < settings["micro_batches"] - 1:
                with trained.no_sync():
                    trained(tokens).backward()
            else:
                trained(tokens).backward()
            if rank == settings.get("slow_rank"):
                time.sleep(settings["slow_seconds"])
        optimizer.step()
        optimizer.zero_grad()
        reporter.step_end()
        now = time.perf_counter()
        times.append(now - last if last is not None else 0.0)
        last = now
    distributed.barrier()
    reporter.close()
    if rank == 0:
        report = reporter.report
        with open(settings["output"], "w", encoding="utf-8") as file:
            json.dump({"times": times[settings["warmup_steps"]:], "steps": report.steps, "windows": report.windows,
                       "revision": report.revision, "ratio": report.step_ratio, "advice": report.advice,
                       "fault": report.fault, "new_plan_id": report.new_plan_id,
                       "new_step_seconds": report.new_step_seconds}, file)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
