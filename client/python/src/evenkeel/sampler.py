"""Balanced batches for torch.utils.data.DataLoader(batch_sampler=...). PyTorch itself is not needed."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

import numpy.typing as npt

from . import sampler_state
from .client import Client
from .pack_source import Ahead, PackSource, Segment, Share, broadcast, distributed
from .packing import Packing, PackSettings, RuleLike, Samples, settings_of
from .rank_epoch import RankEpoch, rank_epoch, world_size_of
from .sampler_state import Identity, ResumeError, SamplerState
from .v1 import batching_pb2

B = TypeVar("B")


@dataclasses.dataclass(frozen=True)
class MicroBatch(Generic[B]):
    """One batch of the loader, and what the loop has to know about it.

    `loss_scale` makes every token of a step weigh the same on every rank: backward() on the *sum* of the token losses
    times it, gradients averaged over the ranks (DistributedDataParallel, FSDP), is the gradient of the mean loss over
    all tokens of the step. It is 0 for a batch that only keeps ranks in step. Where ranks share a pack (sequence
    parallel), each sums over its own part of the tokens.
    """
    batch: B
    epoch: int
    step: int  # of the epoch
    ends_step: bool  # call optimizer.step() after this one
    loss_scale: float
    is_dummy: bool
    sequence_parallel: int  # ranks that share this pack
    sequence_rank: int  # which of them this is


def _ranks(rank: int | None, world_size: int | None, planned: int) -> tuple[int, int]:
    """Rank and number of ranks: given, or the plan's and torch.distributed's."""
    dist = distributed()
    processes = dist.get_world_size() if dist is not None else None
    size = world_size if world_size is not None else planned or processes
    if size is None or size < 1:
        raise ValueError("world_size is needed, 1 or more: how many data-parallel ranks share the samples")
    if planned and size != planned:
        raise ValueError(f"world_size is {size}, but the plan deals to {planned} data-parallel ranks: plan for "
                         f"{size}, or pass plan.batch_rule to deal the plan's packs to {size}")
    if rank is None:
        if processes != size and size != 1:
            raise ValueError(f"rank is needed: which of the {size} data-parallel ranks this is"
                             + (f" (torch.distributed has {processes} processes)" if processes else ""))
        rank = dist.get_rank() if processes == size else 0
    if not 0 <= rank < size:
        raise ValueError(f"rank is {rank}: must be 0 to {size - 1}")
    return rank, size


def _with_seed(settings: PackSettings, seed: int | None) -> PackSettings:
    if seed is None:
        return settings
    rule = batching_pb2.BatchRule()
    rule.CopyFrom(settings.rule)
    rule.seed = seed
    return dataclasses.replace(settings, rule=rule)


class EvenkeelBatchSampler:
    """Yields the sample indices of each micro-batch of one rank, as PackDataset of a server packs and deals them.

    The order of an epoch is a function of rule, seed, epoch and samples alone (docs/ALGORITHMS.md, "Dealing"), the same
    on every server of one release. Every sample comes once per epoch; all ranks have equally many batches. A rank that
    has no pack in the last step gets the smallest pack once more, with `loss_scale` 0 (`micro_batches`).
    """

    def __init__(self, server: Client | str, rule: RuleLike, tokens: npt.ArrayLike, units: npt.ArrayLike | None = None,
                 *, loss_tokens: npt.ArrayLike | None = None, rank: int | None = None, world_size: int | None = None,
                 packs_per_rank: int | None = None, seed: int | None = None, epoch: int = 0,
                 sequence_parallel_group: int = 1, share: Share = "auto", process_group: Any = None,
                 prefetch: bool = True, timeout: float = 300.0) -> None:
        """Asks the server for the first epoch.

        server: address, such as "unix:/run/evenkeel/s.sock", or a Client. rule: a plan, or a BatchRule (or either in
        protobuf JSON). tokens, units, loss_tokens: one value per sample of the dataset, in its order. rank, world_size:
        among the *data-parallel* ranks; default: torch.distributed. packs_per_rank: micro-batches of a step; default:
        the plan's, else 1. seed: instead of the rule's. share: "each" rank asks, rank 0 asks and "broadcast"s by
        torch.distributed (over process_group, default all), or "auto": broadcast where it is initialised for exactly
        these ranks. prefetch: ask for the next epoch while one trains. timeout: seconds of each upload.
        """
        settings = _with_seed(settings_of(rule), seed)
        self._samples = Samples.of(tokens, units, loss_tokens)
        if self._samples.tokens.size == 0:
            raise ValueError("tokens is empty: there is nothing to pack")
        if settings.groups and packs_per_rank is not None:
            raise ValueError("packs_per_rank does not go with a plan of packing groups, which have their own")
        planned = settings.data_parallel if not settings.groups else (
            settings.groups[0].data_parallel * max(1, settings.groups[0].sequence_parallel))
        self._rank, self._world_size = _ranks(rank, world_size, planned)
        self._packs_per_rank = packs_per_rank if packs_per_rank is not None else max(1, settings.packs_per_rank)
        self._groups = bool(settings.groups)
        self._source = PackSource(server, settings, self._samples, timeout, sequence_parallel_group)
        self._identity = Identity(settings.plan_id, sampler_state.rule_digest(settings, sequence_parallel_group),
                                  sampler_state.samples_digest(self._samples), self._samples.tokens.size,
                                  settings.rule.seed)
        self._share, self._group, self._prefetch, self._ahead = share, process_group, prefetch, Ahead()
        if share not in ("auto", "each", "broadcast"):
            raise ValueError(f'share is {share!r}: must be "auto", "each" or "broadcast"')
        if share == "broadcast" and distributed() is None:
            raise ValueError('share is "broadcast", but torch.distributed is not initialised')
        self._epoch, self._segments = self._checked_epoch(epoch), ()  # type: tuple[int, tuple[Segment, ...]]
        self._resume_at = self._yielded = 0
        self._tracked: int | None = None
        self._current: tuple[Any, RankEpoch] | None = None
        self._load()

    @staticmethod
    def _checked_epoch(epoch: int) -> int:
        if epoch < 0:
            raise ValueError(f"epoch is {epoch}: must be 0 or more")
        return int(epoch)

    @property
    def packing(self) -> Packing:
        """Packs and order of the epoch, for all ranks."""
        return self._load().packing

    @property
    def steps_per_epoch(self) -> int:
        return self._load().packing.step_count

    @property
    def epoch(self) -> int:
        return self._epoch

    def __len__(self) -> int:
        """Batches of the whole epoch (after an elastic resume: of what was left of it), equal on all ranks."""
        return self._load().batch_count

    def set_epoch(self, epoch: int) -> None:
        """To be called before each epoch, on all ranks. That of a resumed state keeps its place."""
        if self._checked_epoch(epoch) != self._epoch:
            self._epoch, self._segments = int(epoch), ()
            self._resume_at = self._yielded = 0
            self._tracked = None

    def __iter__(self) -> Iterator[list[int]]:
        """From where a state was loaded, else the whole epoch."""
        # A generator on purpose: DataLoader calls iter() twice and forks its workers before the first batch, so nothing
        # may be used up, and no call be under way, before that.
        current = self._load()
        begin, self._resume_at = self._resume_at, 0
        self._yielded = begin
        for batch in range(begin, current.batch_count):
            if batch == begin and self._prefetch:
                self._prefetch_next()
            self._yielded = batch + 1
            yield current.samples(batch)

    def micro_batches(self, loader: Iterable[B]) -> Iterator[MicroBatch[B]]:
        """Goes through a DataLoader that has this batch sampler. `state_dict` then says which steps the *loop* has
        done, however far workers have read ahead."""
        current = self._load()
        batch = self._resume_at
        self._tracked = batch
        for loaded in loader:
            step = int(current.batch_step[batch])
            ends = batch + 1 == int(current.step_batches[step + 1])
            if ends:
                self._tracked = batch + 1
            yield MicroBatch(loaded, self._epoch, step, ends, current.loss_scale(batch), bool(current.missing[batch]),
                             int(current.sequence_parallel[step]), int(current.sequence_rank[step]))
            batch += 1

    def state_dict(self) -> dict[str, Any]:
        """The place in the stream, the same on every rank. With `micro_batches`: after the last whole step of the loop.
        Without: after the last batch that was asked for (as torchdata's StatefulDataLoader expects); a plain DataLoader
        with workers asks ahead."""
        current = self._load()
        batch = self._yielded if self._tracked is None else self._tracked
        step = int(current.batch_step[batch]) if batch < current.batch_count else current.packing.step_count
        return SamplerState(self._identity, self._world_size, self._packs_per_rank, self._epoch, batch, step,
                            self._segments).to_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any], *, elastic: bool = False) -> None:
        """The next iteration goes on where the state was taken, to the identical batches. ResumeError: the state is of
        another plan, rule, seed or other samples; or, unless `elastic`, of another number of ranks or packs per rank.

        elastic: what the epoch has left is packed and dealt anew to the ranks there are now, so that every sample still
        comes once per epoch. A step that was not complete is run again.
        """
        state = SamplerState.from_dict(state_dict)
        sampler_state.check(state, self._identity)
        batch, segments = state.batch, state.segments
        if (state.world_size, state.packs_per_rank) != (self._world_size, self._packs_per_rank):
            if not elastic or self._groups:
                raise ResumeError(
                    f"the state is of {state.world_size} ranks x {state.packs_per_rank} packs, this sampler deals to "
                    f"{self._world_size} x {self._packs_per_rank}: "
                    + ("packing groups can not be dealt anew within an epoch" if self._groups else
                       "load_state_dict(state, elastic=True) deals the rest of the epoch to these"))
            batch, segments = 0, (*segments, (state.world_size, state.packs_per_rank, state.step))
        self._epoch, self._segments, self._tracked = self._checked_epoch(state.epoch), segments, None
        current = self._load()
        if not 0 <= batch <= current.batch_count:
            raise ResumeError(f"the state is {batch} batches into an epoch of {current.batch_count}")
        self._resume_at = self._yielded = batch

    def _load(self) -> RankEpoch:
        """The current epoch, asked for once."""
        key = (self._epoch, self._segments)
        if self._current is None or self._current[0] != key:
            packing = self._fetch(*key)
            if world_size_of(packing) != self._world_size:
                raise RuntimeError(f"packs for {world_size_of(packing)} ranks came, {self._world_size} were asked for")
            self._current = (key, rank_epoch(packing, self._samples, self._rank))
        return self._current[1]

    def _fetch(self, epoch: int, segments: tuple[Segment, ...]) -> Packing:
        def ask() -> Packing:
            early = self._ahead.take((epoch, segments))
            if early is not None:
                return early
            return self._source.fetch(epoch, self._world_size, self._packs_per_rank, segments)
        return broadcast(ask, self._group) if self._broadcasts() else ask()

    def _broadcasts(self) -> bool:
        dist = distributed()
        if dist is None or self._share == "each":
            return False
        return self._share == "broadcast" or bool(dist.get_world_size(self._group) == self._world_size)

    def _prefetch_next(self) -> None:
        """Once workers have forked: the first batch is asked for after that."""
        dist = distributed()
        if self._broadcasts() and dist is not None and dist.get_rank(self._group) != 0:
            return
        epoch, source = self._epoch + 1, self._source
        self._ahead.begin((epoch, ()), lambda: source.fetch(epoch, self._world_size, self._packs_per_rank))
