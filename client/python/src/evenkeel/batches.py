"""One pass through the batches of a sampler, and the loop around it."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from .rank_epoch import RankEpoch
    from .sampler import EvenkeelBatchSampler

B = TypeVar("B")


@dataclasses.dataclass(frozen=True)
class MicroBatch(Generic[B]):
    """One batch of the loader, with what the loop has to know about it.

    `loss_scale` gives every token of a step the same weight on every rank. Call backward() on the *sum* of the token
    losses times it, and average gradients over the ranks (DistributedDataParallel, FSDP). The result is the gradient of
    the mean loss over all tokens of the step. It is 0 for a batch that only keeps ranks in step. If ranks share a pack
    (sequence parallel), each sums over its own part of the tokens.
    """
    batch: B
    epoch: int
    step: int  # step of the epoch
    ends_step: bool  # call optimizer.step() after this one
    loss_scale: float
    is_dummy: bool
    sequence_parallel: int  # number of ranks that share this pack
    sequence_rank: int  # index of this rank among them


class Batches(Iterator[list[int]]):
    """Begins with the first batch and not before. DataLoader calls iter() twice and forks its workers before the first
    batch, so nothing may be used up, and no call may be in progress, until then.

    It has a separate state, which torchdata's StatefulDataLoader keeps: the batches that were asked for, whatever the
    loop of `micro_batches` has done.
    """

    def __init__(self, sampler: EvenkeelBatchSampler) -> None:
        self._sampler = sampler
        self._epoch: RankEpoch | None = None
        self._next = 0
        self._restored = False

    def __next__(self) -> list[int]:
        if self._epoch is None:
            self._epoch, self._next = self._sampler.begin(self._restored)
        batch = self._next
        done = batch >= self._epoch.batch_count
        if not done:
            self._next += 1
        self._sampler.reached(self._next, done)
        if done:
            raise StopIteration
        return self._epoch.samples(batch)

    def state_dict(self) -> dict[str, Any]:
        return self._sampler.state_at(self._next if self._epoch is not None else None)

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        self._sampler.load_state_dict(state_dict)
        self._epoch, self._restored = None, True


def check_loader(loader: Any, sampler: EvenkeelBatchSampler, samples: int) -> None:
    """Refuses a loader whose batches are not those of `sampler`, in its order, because they would get the weights of
    other batches."""
    theirs = getattr(loader, "batch_sampler", sampler)
    if theirs is not sampler:
        raise ValueError(f"the loader's batch sampler is a {type(theirs).__name__}, not this sampler: pass "
                         "DataLoader(batch_sampler=sampler), and let nothing wrap it that splits batches between ranks "
                         "(Accelerate's prepare) or skips some: they are split already")
    if getattr(loader, "in_order", True) is False:
        raise ValueError("the loader has in_order=False: which step a batch belongs to would be unknown")
    if getattr(loader, "snapshot_every_n_steps", 1) not in (0, 1):
        raise ValueError("the loader has snapshot_every_n_steps above 1: after a resume it would drop batches unseen")
    dataset: Any = getattr(loader, "dataset", None)
    if hasattr(dataset, "__len__") and len(dataset) != samples:
        raise ValueError(f"the dataset has {len(dataset)} samples, tokens has {samples}: one value for each is needed")
