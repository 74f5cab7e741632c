"""One rank of the training tests: joins the gloo group and does the runs of a JSON file. Rank 0 writes the results.

    train_worker.py RUNS.json RANK WORLD_SIZE ADDRESS OUTPUT.json
"""
import contextlib
import json
import sys

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

import evenkeel
import toy


def balanced(run, sizes, dataset, rank, world, epoch=None):
    server = evenkeel.Client(run["server"]) if run.get("client") else run["server"]
    sampler = evenkeel.EvenkeelBatchSampler(
        server, run["rule"], sizes, loss_tokens=sizes - 1, rank=rank, world_size=world,
        packs_per_rank=run["packs_per_rank"], seed=run["seed"], share=run.get("share", "auto"))
    loader = DataLoader(dataset, batch_sampler=sampler, collate_fn=toy.collate, num_workers=run.get("workers", 0),
                        persistent_workers=run.get("persistent", False))
    assert epoch is None or len(loader) == len(sampler)
    return sampler, loader


def balanced_batches(run, sizes, dataset, rank, world):
    """Yields for each epoch (batch, loss scale, ends step, counts), by the package."""
    sampler, loader = balanced(run, sizes, dataset, rank, world)
    for epoch in range(run["epochs"]):
        sampler.set_epoch(epoch)
        yield [(micro.batch, micro.loss_scale, micro.ends_step, not micro.is_dummy)
               for micro in sampler.micro_batches(loader)]


def plain_batches(run, sizes, dataset, rank, world):
    """Yields the same packs in an order that is not ours: `random`, or `sorted` by the mean length of their samples."""
    chance = np.random.RandomState(run["seed"])
    slots = world * run["packs_per_rank"]
    with evenkeel.Client(run["server"]) as client:
        packing = client.pack_dataset(run["rule"], sizes, data_parallel=world)
    made = [packing.pack(p).tolist() for p in range(packing.pack_count)]
    for _ in range(run["epochs"]):
        order = (chance.permutation(len(made)) if run["order"] == "random"
                 else np.argsort([sizes[pack].mean() for pack in made], kind="stable"))
        packs, batches = [made[p] for p in order], []
        for at in range(0, len(packs), slots):
            step = packs[at:at + slots]
            step += [[]] * (slots - len(step))  # the last step may lack packs, as it may in balanced order
            normalizer = sum(sizes[i] - 1 for pack in step for i in pack) / slots
            mine = step[rank * run["packs_per_rank"]:(rank + 1) * run["packs_per_rank"]]
            for slot, pack in enumerate(mine):
                scale = 1 / (len(mine) * normalizer)
                stand_in = toy.collate([dataset[i] for i in pack or packs[0]])
                batches.append((stand_in, scale if pack else 0., slot + 1 == len(mine), bool(pack)))
        yield batches


def train(run, rank, world):
    dtype = torch.float64 if run.get("exact") else torch.float32
    sizes = toy.lengths(run["samples"], run.get("data_seed", 0))
    dataset = toy.Sequences(sizes, run.get("data_seed", 0))
    dataset = dataset if run.get("workers") else toy.Cached(dataset)
    model = toy.Model(run["seed"], dtype)
    parallel = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=run["rate"], momentum=0 if run.get("exact") else .9)
    batches = balanced_batches if run["order"] == "balanced" else plain_batches
    held_out = toy.collate(list(toy.Cached(toy.Sequences(toy.lengths(300, 7), 7))))
    steps, current, gradients, losses = [], [], [], []
    for epoch, of_epoch in enumerate(batches(run, sizes, dataset, rank, world)):
        looks = []  # measurements of the held-out loss, in the second half of the epoch
        for i, ((numbers, inputs, targets), scale, ends, counts) in enumerate(of_epoch):
            with contextlib.nullcontext() if ends else parallel.no_sync():
                (parallel(inputs, targets) * scale).backward()
            current.append(numbers if counts else [])
            if not ends:
                continue
            if run.get("exact"):
                gradients.append(toy.gradient(model).tolist())
            else:  # the rate falls to zero, as in most training
                optimizer.param_groups[0]["lr"] = run["rate"] * (1 - (epoch + i / len(of_epoch)) / run["epochs"])
            optimizer.step()
            optimizer.zero_grad()
            steps.append(current)
            current = []
            if not run.get("exact") and 2 * i >= len(of_epoch) and i % 4 == 0:
                with torch.no_grad():
                    looks.append(float(model(*held_out[1:])) / len(held_out[2]))
        losses.append(float(np.mean(looks or [0])))
    gathered = [None] * world
    dist.all_gather_object(gathered, steps)
    return {"steps": gathered if run.get("exact") else [], "gradients": gradients, "losses": losses}


def resume(run, rank, world):
    """Trains some steps with loader workers that read ahead, "ends", and continues from the state in a new loader."""
    sizes = toy.lengths(run["samples"], 0)
    dataset = toy.Sequences(sizes, 0)
    sampler, loader = balanced(run, sizes, dataset, rank, world, epoch=0)
    whole = [micro.batch[0] for micro in sampler.micro_batches(loader)]
    sampler.set_epoch(1)
    second = [micro.batch[0] for micro in sampler.micro_batches(loader)]
    sampler, loader = balanced(run, sizes, dataset, rank, world, epoch=0)
    head, state = [], None
    for micro in sampler.micro_batches(loader):
        head.append(micro.batch[0])
        if micro.ends_step and micro.step == run["stop"]:
            state = json.loads(json.dumps(sampler.state_dict()))
            break
    again, loader = balanced(run, sizes, dataset, rank, world, epoch=0)
    again.load_state_dict(state)
    tail = [micro.batch[0] for micro in again.micro_batches(loader)]
    again.set_epoch(1)
    after = [micro.batch[0] for micro in again.micro_batches(loader)]
    gathered = [None] * world
    dist.all_gather_object(gathered, {"whole": whole, "head": head, "tail": tail, "state": state, "second": second,
                                      "after": after})
    return {"ranks": gathered}


def disagree(run, rank, world):
    """The last rank has other lengths, then another seed."""
    sizes, said = toy.lengths(run["samples"], 0), []
    for other in ({"tokens": sizes[::-1].copy()}, {"seed": 9}):
        options = {"tokens": sizes, "seed": 4, **(other if rank == world - 1 else {})}
        try:
            evenkeel.EvenkeelBatchSampler(run["server"], run["rule"], rank=rank, world_size=world, **options)
            said.append("")
        except ValueError as error:
            said.append(str(error))
    gathered = [None] * world
    dist.all_gather_object(gathered, said)
    return gathered


KINDS = {"resume": resume, "disagree": disagree}


def main():
    runs, rank, world, address, output = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5]
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=address, rank=rank, world_size=world)
    with open(runs, encoding="utf-8") as file:
        results = [KINDS.get(run.get("kind"), train)(run, rank, world) for run in json.load(file)]
    if rank == 0:
        with open(output, "w", encoding="utf-8") as file:
            json.dump(results, file)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
