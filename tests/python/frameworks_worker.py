"""One rank of test_frameworks.py: two epochs by a framework's own loop, as docs/TRAINING_LOOP.md says. Rank 0 writes
which samples each rank had in each epoch, or the error.

    torchrun --nproc_per_node 2 frameworks_worker.py KIND ADDRESS OUTPUT.json
"""
import json
import sys

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

import evenkeel
import toy

KIND, ADDRESS, OUTPUT = sys.argv[1:]
SIZES = toy.lengths(300, 0)
DATA = toy.Cached(toy.Sequences(SIZES, 0))
SEEN = []  # for each epoch: the samples of each batch with weight


def sampler_of(rank, world):
    return evenkeel.EvenkeelBatchSampler(ADDRESS, {"token_cap": 256, "seed": 3}, SIZES, loss_tokens=SIZES - 1,
                                         rank=rank, world_size=world)


def lightning(**options):
    import lightning as L

    class Module(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = toy.Model(1)

        def train_dataloader(self):
            self.sampler = sampler_of(self.global_rank, self.trainer.world_size)
            return DataLoader(DATA, batch_sampler=self.sampler, collate_fn=toy.collate, num_workers=2)

        def on_train_epoch_start(self):
            self.sampler.set_epoch(self.current_epoch)
            SEEN.append([])

        def training_step(self, batch, batch_idx):
            scale = self.sampler.loss_scale(batch_idx)
            SEEN[-1] += batch[0] if scale else []
            return self.model(*batch[1:]) * scale

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=.1)
    L.Trainer(accelerator="cpu", devices=2, strategy="ddp", max_epochs=2, enable_progress_bar=False, logger=False,
              enable_checkpointing=False, **options).fit(Module())


def transformers():
    from transformers import Trainer, TrainerCallback, TrainingArguments

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = toy.Model(1)

        def forward(self, numbers, inputs, labels, **loss):  # the trainer counts tokens only for models with **
            SEEN[-1] += numbers
            return {"loss": self.model(inputs, labels) / loss["num_items_in_batch"]}

    class Balanced(Trainer):
        def get_train_dataloader(self):  # not prepared, because the batches are already split between the ranks
            sampler = sampler_of(self.args.process_index, self.args.world_size)
            self.add_callback(SetEpoch(sampler))
            return DataLoader(self.train_dataset, batch_sampler=sampler,
                              collate_fn=lambda items: dict(zip(("numbers", "inputs", "labels"), toy.collate(items))))

    class SetEpoch(TrainerCallback):
        def __init__(self, sampler):
            self.sampler = sampler

        def on_epoch_begin(self, args, state, control, **_):
            self.sampler.set_epoch(int(state.epoch or 0))
            SEEN.append([])
    Balanced(model=Net(), train_dataset=DATA, args=TrainingArguments(
        output_dir=OUTPUT + ".d", use_cpu=True, num_train_epochs=2, report_to=[], save_strategy="no", disable_tqdm=True,
        logging_strategy="no")).train()


def accelerate(prepare):
    from accelerate import Accelerator
    accelerator = Accelerator(cpu=True)
    sampler = sampler_of(accelerator.process_index, accelerator.num_processes)
    loader = DataLoader(DATA, batch_sampler=sampler, collate_fn=toy.collate)
    model = accelerator.prepare(toy.Model(1))
    loader = accelerator.prepare(loader) if prepare else loader
    for epoch in range(2):
        sampler.set_epoch(epoch)
        SEEN.append([])
        for micro in sampler.micro_batches(loader):
            SEEN[-1] += [] if micro.is_dummy else micro.batch[0]
            accelerator.backward(model(*micro.batch[1:]) * micro.loss_scale)


KINDS = {"lightning": lambda: lightning(use_distributed_sampler=False), "lightning-wraps": lightning,
         "transformers": transformers, "accelerate": lambda: accelerate(False),
         "accelerate-wraps": lambda: accelerate(True)}


def main():
    error = ""
    try:
        KINDS[KIND]()
    except (ValueError, TypeError) as caught:
        error = f"{type(caught).__name__}: {caught}"
    gathered = [None] * 2
    if not error:
        dist.all_gather_object(gathered, SEEN)
    if error or dist.get_rank() == 0:
        with open(OUTPUT, "w", encoding="utf-8") as file:
            json.dump({"error": error, "ranks": gathered}, file)
    if dist.is_initialized():  # gloo's threads may abort a process that ends while they run
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
