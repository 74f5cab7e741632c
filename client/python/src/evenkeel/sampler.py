"""Balanced batches for torch.utils.data.DataLoader(batch_sampler=...). PyTorch itself is not needed."""
from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy.typing as npt

from . import sampler_state
from .ahead import Ahead
from .batches import B, Batches, MicroBatch, check_loader
from .pack_source import PackSource, Server, Share, broadcast, distributed
from .packing import Packing, PackSettings, RuleLike, Samples, settings_of
from .rank_epoch import RankEpoch, rank_epoch, world_size_of
from .resume import ResumeError
from .sampler_state import Identity, SamplerState, Segment
from .v1 import batching_pb2

__all__ = ["EvenkeelBatchSampler", "MicroBatch"]


def _ranks(rank: int | None, world_size: int | None, planned: int) -> tuple[int, int]:
    """Returns rank and number of ranks: those given, or those of the plan and of torch.distributed."""
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

    The order of an epoch is a function of rule, seed, epoch and samples only (docs/PACK_ORDER.md, "Dealing"), the same
    on every server of one release. Every sample occurs once per epoch, and all ranks have the same number of batches. A
    rank that has no pack in the last step gets the smallest pack once more, with `loss_scale` 0 (`micro_batches`).
    """

    def __init__(self, server: Server, rule: RuleLike, tokens: npt.ArrayLike, units: npt.ArrayLike | None = None,
                 *, loss_tokens: npt.ArrayLike | None = None, rank: int | None = None, world_size: int | None = None,
                 packs_per_rank: int | None = None, seed: int | None = None, epoch: int = 0,
                 sequence_parallel_group: int = 1, share: Share = "auto", process_group: Any = None,
                 prefetch: bool = True, timeout: float | None = None) -> None:
        """Asks the server for the first epoch.

        server: an address, such as "unix:/run/evenkeel/s.sock"; or a function that makes a Client, such as one with
        TLS; or a Client. The first two are connected only while they ask. rule: a plan, or a BatchRule (or either in
        protobuf JSON). tokens, units, loss_tokens: one value per sample of the dataset, in its order; units of
        several encoders are an array (N, encoders). rank, world_size: among the *data-parallel* ranks; default:
        torch.distributed. packs_per_rank: micro-batches of a step; default: the plan's, or 1. seed: replaces the
        rule's. share: "each" rank asks; or rank 0 asks and "broadcast"s by torch.distributed (over process_group,
        default all); or "auto": broadcast if it is initialised for exactly these ranks. prefetch: ask for the next
        epoch while one trains. timeout: seconds of each upload; default: the client's pack_timeout.
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
        self._epoch = self._checked_epoch(epoch)
        self._segments: tuple[Segment, ...] = ()
        self._resume_at = self._yielded = self._begun = 0
        self._tracked: int | None = None
        self._set_epoch: int | None = None  # value of the last call of set_epoch
        self._ran_to_end = False
        self._current = self._fetch(self._epoch, ())

    @staticmethod
    def _checked_epoch(epoch: int) -> int:
        if epoch < 0:
            raise ValueError(f"epoch is {epoch}: must be 0 or more")
        return int(epoch)

    @property
    def packing(self) -> Packing:
        """Returns packs and order of the epoch, for all ranks."""
        return self._current.packing

    @property
    def steps_per_epoch(self) -> int:
        return self._current.packing.step_count

    @property
    def epoch(self) -> int:
        return self._epoch

    def __len__(self) -> int:
        """Returns the number of batches in the epoch (after an elastic resume: in the rest of it), equal on all
        ranks."""
        return self._current.batch_count

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch. Call it before each epoch, on all ranks. The epoch of a resumed state keeps its place.

        Packs are requested here, not when batches are. So a missing server is noticed here, and ranks talk to each
        other only here and when a state is loaded.
        """
        self._set_epoch, self._ran_to_end = self._checked_epoch(epoch), False
        if self._set_epoch != self._epoch:
            self._current = self._fetch(self._set_epoch, ())
            self._epoch, self._segments = self._set_epoch, ()
            self._resume_at = self._yielded = self._begun = 0
            self._tracked = None

    def __iter__(self) -> Iterator[list[int]]:
        """Begins where a state was loaded, or with the whole epoch."""
        return Batches(self)

    def begin(self, restored: bool) -> tuple[RankEpoch, int]:
        """Begins a pass, for Batches. Returns the epoch and its first batch. `restored` says that torchdata began the
        pass; it begins another one at once if this one has nothing left."""
        begin = self._begun = self._resume_at
        left = begin < self._current.batch_count
        if left or not restored:
            self._resume_at = 0
        self._tracked = None
        if left:
            if self._ran_to_end:
                self._ran_to_end = False
                warnings.warn(f"epoch {self._epoch} is run again, in the same order: call set_epoch before each epoch",
                              RuntimeWarning, stacklevel=3)
            if self._prefetch:
                self._prefetch_next()
        return self._current, begin

    def reached(self, batch: int, done: bool) -> None:
        """Notes how many batches were requested. Batches calls it."""
        self._yielded = batch
        self._ran_to_end = done and batch > self._begun

    def micro_batches(self, loader: Iterable[B]) -> Iterator[MicroBatch[B]]:
        """Goes through a DataLoader that has this batch sampler. `state_dict` then says which steps the *loop* has
        done, however far workers have read ahead."""
        check_loader(loader, self, self._samples.tokens.size)
        batch: int | None = None
        for loaded in loader:
            if batch is None:  # not before the first batch, because StatefulDataLoader loads its state when it begins
                current = self._current
                batch = self._tracked = self._begun
            step = int(current.batch_step[batch])
            ends = batch + 1 == int(current.step_batches[step + 1])
            if ends:
                self._tracked = batch + 1
            yield MicroBatch(loaded, self._epoch, step, ends, current.loss_scale(batch), bool(current.missing[batch]),
                             int(current.sequence_parallel[step]), int(current.sequence_rank[step]))
            batch += 1

    def loss_scale(self, batch: int) -> float:
        """Returns MicroBatch.loss_scale of a batch by its number in the epoch, for the loops of frameworks."""
        return self._current.loss_scale(batch)

    def state_dict(self) -> dict[str, Any]:
        """Returns the place in the stream, which is the same on every rank. With `micro_batches`, it is after the last
        whole step of the loop; without, after the last batch that was requested. A plain DataLoader with workers
        requests batches ahead of time."""
        return self.state_at(self._yielded if self._tracked is None else self._tracked)

    def state_at(self, batch: int | None) -> dict[str, Any]:
        """Returns the state after `batch` batches. If None, returns the state at which the next pass begins."""
        current = self._current
        batch = self._resume_at if batch is None else batch
        step = int(current.batch_step[batch]) if batch < current.batch_count else current.packing.step_count
        return SamplerState(self._identity, self._world_size, self._packs_per_rank, self._epoch, batch, step,
                            self._segments, current.packing.digest).to_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any], *, elastic: bool = False) -> None:
        """Makes the next iteration continue where the state was taken, with identical batches. Raises ResumeError if
        the state is of another plan, rule, seed or other samples; or, unless `elastic`, of another number of ranks or
        packs per rank.

        elastic: packs and deals the rest of the epoch anew to the present ranks, so that every sample still occurs once
        per epoch. A step that was not complete is run again. Call it on all ranks.
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
            batch = 0
            segments = (*segments, (state.world_size, state.packs_per_rank, state.step, state.packing))
        epoch = self._checked_epoch(state.epoch)
        current = self._at(epoch, segments)
        if segments == state.segments:  # otherwise the earlier packs were compared, and those of the rest are new
            sampler_state.check_packing(state.packing, current.packing.digest, epoch)
        if not 0 <= batch <= current.batch_count:
            raise ResumeError(f"the state is {batch} batches into an epoch of {current.batch_count}")
        if batch == current.batch_count and self._set_epoch == epoch + 1:
            # StatefulDataLoader loads late, after set_epoch. The end of an epoch is the beginning of the next.
            epoch, segments, batch = epoch + 1, (), 0
            current = self._at(epoch, segments)
        self._epoch, self._segments, self._current = epoch, segments, current
        self._resume_at = self._yielded = self._begun = batch
        self._tracked, self._ran_to_end = None, False

    def _at(self, epoch: int, segments: tuple[Segment, ...]) -> RankEpoch:
        return self._current if (epoch, segments) == (self._epoch, self._segments) else self._fetch(epoch, segments)

    def _fetch(self, epoch: int, segments: tuple[Segment, ...]) -> RankEpoch:
        def ask() -> Packing:
            early = self._ahead.take((epoch, segments))
            if early is not None:
                return early
            return self._source.fetch(epoch, self._world_size, self._packs_per_rank, segments)
        packing = ask() if not self._broadcasts() else broadcast(ask, self._group, {
            **dataclasses.asdict(self._identity), "world_size": self._world_size,
            "packs_per_rank": self._packs_per_rank, "epoch": epoch, "segments": segments})
        if world_size_of(packing) != self._world_size:
            raise RuntimeError(f"packs for {world_size_of(packing)} ranks came, {self._world_size} were asked for")
        return rank_epoch(packing, self._samples, self._rank)

    def _broadcasts(self) -> bool:
        dist = distributed()
        if dist is None or self._share == "each":
            return False
        return self._share == "broadcast" or bool(dist.get_world_size(self._group) == self._world_size)

    def _prefetch_next(self) -> None:
        """Asks for the next epoch. The first batch is requested after workers have forked. A process that forks later
        waits for the call."""
        dist = distributed()
        if self._broadcasts() and dist is not None and dist.get_rank(self._group) != 0:
            return
        epoch, source = self._epoch + 1, self._source
        self._ahead.begin((epoch, ()), lambda: source.fetch(epoch, self._world_size, self._packs_per_rank),
                          source.cancel)
