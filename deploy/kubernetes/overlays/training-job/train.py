"""A training program that runs a plan: EvenkeelBatchSampler gives each rank the packs of its steps, and
evenkeel_fsdp.py, which `evenkeelctl launch` wrote, shards and recomputes the model as planned. torchrun starts it.

Your model and your data go in the places of Model and Samples. What is read:
  /train/job.json     the job that was planned; the model is made from it, so that the two are the same
  /plan/plan.json     its plan
  /data/lengths.npy   tokens of each sample, 2 or more
  /data/tokens.npy    all samples, end to end
"""
import itertools
import json
import os

import evenkeel_fsdp
import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

import evenkeel


class Samples(Dataset):
    """Item: the tokens of a sample."""

    def __init__(self):
        self.lengths = np.load("/data/lengths.npy")
        self.tokens = np.load("/data/tokens.npy", mmap_mode="r")
        self.begin = np.concatenate([[0], np.cumsum(self.lengths)])

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, index):
        return torch.from_numpy(self.tokens[self.begin[index]:self.begin[index + 1]].astype(np.int64))


def collate(samples):
    """A pack laid end to end: inputs, targets, and where each sample begins and the last one ends."""
    begin = [0, *itertools.accumulate(len(tokens) - 1 for tokens in samples)]
    return torch.cat([tokens[:-1] for tokens in samples]), torch.cat([tokens[1:] for tokens in samples]), begin


class Layer(nn.Module):
    def __init__(self, width, heads, inner):
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.gate, self.up = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x, begin):
        q, k, v = self.qkv(self.before_attention(x)).view(len(x), 3, self.heads, -1).permute(1, 2, 0, 3)
        # No sample of a pack sees another.
        seen = [F.scaled_dot_product_attention(q[:, a:b], k[:, a:b], v[:, a:b], is_causal=True)
                for a, b in zip(begin, begin[1:])]
        x = x + self.out(torch.cat(seen, dim=1).transpose(0, 1).flatten(1))
        y = self.before_mlp(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Model(nn.Module):
    """A language model without positions, enough for an example."""

    def __init__(self, shape):
        super().__init__()
        width = shape["hidden_size"]
        self.embedding = nn.Embedding(shape["vocabulary_size"], width)
        self.layers = nn.ModuleList(Layer(width, shape["attention_heads"], shape["ffn_size"])
                                    for _ in range(shape["layers"]))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, shape["vocabulary_size"], bias=False)

    def forward(self, inputs, begin):
        x = self.embedding(inputs)
        for layer in self.layers:
            x = layer(x, begin)
        return self.head(self.norm(x))


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main():
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo")
    torch.manual_seed(0)
    samples = Samples()
    # Rank 0 asks the sidecar and tells the others. A sample of n tokens has n - 1 targets.
    sampler = evenkeel.EvenkeelBatchSampler(os.environ["EVENKEEL_SERVER"], read_json("/plan/plan.json"),
                                            samples.lengths, loss_tokens=samples.lengths - 1)
    loader = DataLoader(samples, batch_sampler=sampler, collate_fn=collate, num_workers=2, pin_memory=cuda)
    model = Model(read_json("/train/job.json")["model"]["language_model"]).to(device)
    model, _ = evenkeel_fsdp.shard(model, model.layers)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def loss_of(of, micro):
        inputs, targets, begin = micro.batch
        loss = F.cross_entropy(of(inputs.to(device), begin).float(), targets.to(device), reduction="sum")
        losses.append(float(loss.detach()) / len(targets))
        return loss * micro.loss_scale

    step, seen = [], 0
    for micro in sampler.micro_batches(loader):  # one epoch
        step.append(micro)
        seen += 0 if micro.is_dummy else len(micro.batch[2]) - 1
        if not micro.ends_step:
            continue
        losses = []
        evenkeel_fsdp.run_step(model, step, loss_of)
        optimizer.step()
        optimizer.zero_grad()
        if dist.get_rank() == 0:
            loss = sum(losses) / len(losses)
            print(f"step {micro.step + 1} of {sampler.steps_per_epoch}: loss {loss:.3f}", flush=True)
        step = []
    print(f"rank {dist.get_rank()} saw {seen} of {len(samples)} samples", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
