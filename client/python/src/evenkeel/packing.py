"""PackDataset: arrays in, arrays out."""
from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from . import requests
from .lengths import MAX_ENCODERS, MAX_TOKENS, MAX_UNITS, whole_column
from .v1 import batching_pb2, packing_pb2, plan_pb2

Int64s = npt.NDArray[np.int64]

# A BatchRule, or a plan, which adds its packing groups and degrees.
RuleLike = Union[batching_pb2.BatchRule, requests.PlanLike]

CHUNK_SAMPLES = 1 << 16  # keeps a message below 768 KiB, whatever the values; servers accept 1 MiB


@dataclasses.dataclass(frozen=True)
class PackSettings:
    """The settings that a rule or a plan gives for packing."""
    rule: batching_pb2.BatchRule
    plan_id: str = ""
    groups: tuple[batching_pb2.PackingGroup, ...] = ()
    curriculum_steps: int = 0
    data_parallel: int = 0  # 0 if not given
    packs_per_rank: int = 0


def settings_of(rule: RuleLike) -> PackSettings:
    """Reads a plan as `evenkeelctl pack --rule` does: its rule, groups, data-parallel degree and micro-batches."""
    if isinstance(rule, batching_pb2.BatchRule):
        return PackSettings(rule)
    if isinstance(rule, Mapping) and not {"plan", "plan_id", "planId", "batch_rule", "batchRule"} & set(rule):
        return PackSettings(requests.parse(rule, batching_pb2.BatchRule(), "rule"))
    plan: plan_pb2.Plan = requests.plan_of(rule, "rule")
    if plan.HasField("misfit"):
        raise ValueError(f"plan {plan.plan_id} does not fit: there is nothing to pack for")
    if plan.HasField("padded_batches"):
        raise ValueError(f"plan {plan.plan_id} pads its micro-batches: it has no rule to pack by")
    return PackSettings(plan.batch_rule, plan.plan_id, tuple(plan.packing_groups),
                        plan.group_choice.curriculum_steps, plan.parallelism.data, plan.predictions.micro_batches)


def _integers(name: str, values: npt.ArrayLike, least: int, most: int, columns: bool = False) -> Int64s:
    """Returns the values as int64, checked. columns: whether there may be a value for each of several encoders."""
    array = np.asarray(whole_column(values))
    if columns and array.ndim == 2 and 1 <= array.shape[1] <= MAX_ENCODERS:
        flat = _integers(name, array.reshape(-1), least, most)
        return flat if array.shape[1] == 1 else flat.reshape(array.shape)
    if array.ndim != 1:
        also = f", or one for each of up to {MAX_ENCODERS} encoders," if columns else ""
        raise ValueError(f"{name} has shape {array.shape}: one value per sample{also} is needed")
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{name} has dtype {array.dtype}: integers are needed")
    array = array.astype(np.int64, copy=False)
    bad = np.flatnonzero((array < least) | (array > most))
    if bad.size:
        others = f" ({bad.size - 1} others too)" if bad.size > 1 else ""
        raise ValueError(f"{name}[{bad[0]}] is {array[bad[0]]}: must be {least} to {most}{others}")
    return array


@dataclasses.dataclass(frozen=True)
class Samples:
    """Lengths of samples, checked."""
    tokens: Int64s
    units: Int64s | None  # None if no sample has units; (N, encoders) where there are several
    loss_tokens: Int64s | None  # None if all tokens have a loss

    @staticmethod
    def of(tokens: npt.ArrayLike, units: npt.ArrayLike | None = None,
           loss_tokens: npt.ArrayLike | None = None) -> Samples:
        checked = _integers("tokens", tokens, 1, MAX_TOKENS)

        def same(name: str, values: npt.ArrayLike | None, most: int) -> Int64s | None:
            if values is None:
                return None
            array = _integers(name, values, 0, most, columns=name == "units")
            if len(array) != checked.size:
                raise ValueError(f"{name} has {len(array)} values for {checked.size} samples")
            return array
        unit_counts = same("units", units, MAX_UNITS)
        loss = same("loss_tokens", loss_tokens, MAX_TOKENS)
        if loss is not None and np.any(loss > checked):
            at = int(np.flatnonzero(loss > checked)[0])
            raise ValueError(f"loss_tokens[{at}] is {loss[at]}: must be 0 to the sample's {checked[at]} tokens")
        return Samples(checked, unit_counts if unit_counts is not None and unit_counts.any() else None, loss)

    def take(self, index: Int64s) -> Samples:
        """Returns only those samples."""
        return Samples(self.tokens[index], None if self.units is None else self.units[index],
                       None if self.loss_tokens is None else self.loss_tokens[index])


def start_message(settings: PackSettings, *, data_parallel: int | None = None, packs_per_rank: int | None = None,
                  epoch: int = 0, sequence_parallel_group: int = 1, apart: Sequence[int] = (),
                  groups: Sequence[batching_pb2.PackingGroup] = (), curriculum_steps: int | None = None,
                  summary_only: bool = False, keep_histogram: bool = False) -> packing_pb2.PackDatasetStart:
    """Makes the first message of an upload. Arguments that are None come from the plan."""
    used = tuple(groups) or settings.groups
    if used and (data_parallel is not None or packs_per_rank is not None):
        raise ValueError("data_parallel and packs_per_rank do not go with packing groups, which have their own: "
                         "pass plan.batch_rule to pack into one group")
    ranks = data_parallel if data_parallel is not None else settings.data_parallel
    if not used and ranks < 1:
        raise ValueError("data_parallel is needed, 1 or more: how many data-parallel ranks share the packs")
    packs = packs_per_rank if packs_per_rank is not None else max(1, settings.packs_per_rank)
    steps = curriculum_steps if curriculum_steps is not None else (0 if groups else settings.curriculum_steps)
    result = (packing_pb2.PACK_DATASET_RESULT_SUMMARY if summary_only else packing_pb2.PACK_DATASET_RESULT_FULL)
    return packing_pb2.PackDatasetStart(
        rule=settings.rule, data_parallel=0 if used else ranks, packs_per_rank=0 if used else packs, epoch=epoch,
        sequence_parallel_group=sequence_parallel_group, apart_sample_count=list(apart), result=result,
        keep_histogram=keep_histogram, groups=used, curriculum_steps=steps)


def check_encoders(start: packing_pb2.PackDatasetStart, samples: Samples) -> None:
    """Raises ValueError if the units are of other encoders than the rule's."""
    scales = len(start.rule.unit_scales)
    if samples.units is not None and samples.units.ndim == 1 and scales:
        raise ValueError(f"units have one column, but the rule is for {scales} encoders: pass an array (N, {scales})")
    if samples.units is not None and samples.units.ndim == 2 and scales != samples.units.shape[1]:
        raise ValueError(f"units have {samples.units.shape[1]} columns, but the rule has {scales} unit_scales: a "
                         "plan's rule says what a unit of each encoder counts for")


def announced(start: packing_pb2.PackDatasetStart, samples: Samples) -> packing_pb2.PackDatasetStart:
    """Returns a copy with the number of samples."""
    made = packing_pb2.PackDatasetStart()
    made.CopyFrom(start)
    made.sample_count = samples.tokens.size
    return made


def upload(start: packing_pb2.PackDatasetStart, samples: Samples) -> Iterator[packing_pb2.PackDatasetRequest]:
    """Returns the messages of a call. Raises ValueError if the units are of other encoders than the rule's."""
    check_encoders(start, samples)
    return _messages(start, samples)


def _messages(start: packing_pb2.PackDatasetStart, samples: Samples) -> Iterator[packing_pb2.PackDatasetRequest]:
    yield packing_pb2.PackDatasetRequest(start=announced(start, samples))
    with_loss = samples.loss_tokens is not None and len(start.groups) > 0  # only groups need them
    for at in range(0, samples.tokens.size, CHUNK_SAMPLES):
        end = at + CHUNK_SAMPLES
        chunk = packing_pb2.SampleChunk(llm_tokens=samples.tokens[at:end].tolist())
        if samples.units is not None:
            chunk.units.extend(samples.units[at:end].reshape(-1).tolist())
        if with_loss and samples.loss_tokens is not None:
            chunk.loss_tokens.extend(samples.loss_tokens[at:end].tolist())
        yield packing_pb2.PackDatasetRequest(chunk=chunk)


@dataclasses.dataclass(frozen=True, eq=False)
class Packing:
    """Packs and their order. Pack p holds the samples `sample_index[pack_offsets[p]:pack_offsets[p + 1]]`."""
    pack_offsets: Int64s  # packs + 1
    sample_index: Int64s  # samples, pack by pack, counted in upload order
    order: Int64s  # packs by step, rank and slot, flat; -1 if there is no pack
    step_offsets: Int64s  # steps + 1: where each step begins in `order`
    step_group: npt.NDArray[np.int32]  # group of each step; empty without packing groups
    loss_normalizer: npt.NDArray[np.float64]  # T_ave of each step; empty without packing groups
    summary: packing_pb2.PackDatasetSummary
    start: packing_pb2.PackDatasetStart

    @functools.cached_property
    def digest(self) -> str:
        """Returns a digest of packs and order. It is equal if every rank gets the same batches."""
        digest = hashlib.sha256()
        for array in (self.pack_offsets, self.sample_index, self.order, self.step_offsets):
            digest.update(array.astype("<i8").tobytes())
        return digest.hexdigest()[:32]

    @property
    def pack_count(self) -> int:
        return self.pack_offsets.size - 1

    @property
    def step_count(self) -> int:
        return self.step_offsets.size - 1

    def pack(self, index: int) -> Int64s:
        """Returns the samples of a pack."""
        if not 0 <= index < self.pack_count:
            raise IndexError(f"pack {index} of {self.pack_count}")
        return self.sample_index[self.pack_offsets[index]:self.pack_offsets[index + 1]]

    def step(self, index: int) -> Int64s:
        """Returns the packs of a step: data-parallel ranks x packs per rank."""
        if not 0 <= index < self.step_count:
            raise IndexError(f"step {index} of {self.step_count}")
        ranks, _ = step_shape(self.start, self.step_group, index)
        return self.order[self.step_offsets[index]:self.step_offsets[index + 1]].reshape(ranks, -1)


def step_shape(start: packing_pb2.PackDatasetStart, step_group: npt.NDArray[np.int32], step: int) -> tuple[int, int]:
    """Returns data-parallel ranks and packs per rank."""
    if not start.groups:
        return start.data_parallel, max(1, start.packs_per_rank)
    group = start.groups[int(step_group[step])]
    return group.data_parallel, max(1, group.packs_per_rank)


class Answer:
    """Assembles the messages of an answer."""

    def __init__(self, start: packing_pb2.PackDatasetStart) -> None:
        self._start = start
        self._counts: list[Int64s] = []
        self._indices: list[Int64s] = []
        self._order: list[Int64s] = []
        self._groups: list[npt.NDArray[np.int32]] = []
        self._normalizers: list[npt.NDArray[np.float64]] = []
        self._summary: packing_pb2.PackDatasetSummary | None = None

    def add(self, message: packing_pb2.PackDatasetResponse) -> None:
        def array(values: Any, dtype: Any) -> Any:
            return np.fromiter(values, dtype, len(values))
        part = message.WhichOneof("part")
        if part == "packs":
            self._counts.append(array(message.packs.sample_count, np.int64))
            self._indices.append(array(message.packs.sample_index, np.int64))
        elif part == "order":
            self._order.append(array(message.order.pack_index, np.int64))
            self._groups.append(array(message.order.group_index, np.int32))
            self._normalizers.append(array(message.order.loss_normalizer_tokens, np.float64))
        elif part == "summary":
            self._summary = message.summary

    def result(self) -> Packing:
        if self._summary is None:
            raise RuntimeError("the answer of PackDataset does not end with a summary")

        def joined(parts: Sequence[Any], dtype: Any) -> Any:
            return np.concatenate([np.empty(0, dtype), *parts])
        counts = joined(self._counts, np.int64)
        groups, order = joined(self._groups, np.int32), joined(self._order, np.int64)
        packing = Packing(
            pack_offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            sample_index=joined(self._indices, np.int64), order=order,
            step_offsets=_step_offsets(self._start, groups, order.size), step_group=groups,
            loss_normalizer=joined(self._normalizers, np.float64), summary=self._summary, start=self._start)
        self._check(packing)
        return packing

    def _check(self, packing: Packing) -> None:
        """Raises RuntimeError if the answer is inconsistent."""
        if self._start.result == packing_pb2.PACK_DATASET_RESULT_SUMMARY:
            return
        kept = packing.summary.sample_count - packing.summary.rejected_sample_count
        used = packing.order[packing.order >= 0]
        good = (packing.pack_offsets[-1] == packing.sample_index.size == kept
                and packing.step_offsets[-1] == packing.order.size
                and packing.step_count == packing.summary.step_count
                and used.size == packing.pack_count
                and np.array_equal(np.sort(used), np.arange(packing.pack_count)))
        if not good:
            raise RuntimeError("the answer of PackDataset does not hold together: packs, order and summary disagree")


def _step_offsets(start: packing_pb2.PackDatasetStart, groups: npt.NDArray[np.int32], size: int) -> Int64s:
    if not start.groups:
        return np.arange(0, size + 1, max(1, start.data_parallel * max(1, start.packs_per_rank)), dtype=np.int64)
    slots = np.array([g.data_parallel * max(1, g.packs_per_rank) for g in start.groups], np.int64)
    return np.concatenate([[0], np.cumsum(slots[groups])]).astype(np.int64)


def native_columns(start: packing_pb2.PackDatasetStart, samples: Samples) -> tuple[bytes, bytes, bytes, bytes]:
    """Returns the input of the extension, as bytes of int32: tokens, units (of several encoders: scaled and added up),
    units of each encoder if there are several, loss tokens. Raises ValueError if the units are of other encoders than
    the rule's."""
    check_encoders(start, samples)

    def int32s(values: Int64s) -> bytes:
        return values.astype(np.int32).tobytes()
    count, scales = samples.tokens.size, np.array(start.rule.unit_scales, np.int64)
    units = samples.units if samples.units is not None else np.zeros((count, max(1, scales.size)), np.int64)
    of_encoders = b""
    if scales.size > 1:
        of_encoders, units = int32s(units), units @ scales
    # Only groups need the tokens with a loss.
    loss = b"" if samples.loss_tokens is None or not start.groups else int32s(samples.loss_tokens)
    return int32s(samples.tokens), int32s(units), of_encoders, loss


def native_result(start: packing_pb2.PackDatasetStart,
                  answer: tuple[bytes, bytes, bytes, bytes, bytes, bytes]) -> Packing:
    """Returns the packing that the extension made."""
    summary, offsets, members, order, groups, normalizers = answer
    empty = start.result == packing_pb2.PACK_DATASET_RESULT_SUMMARY

    def array(values: bytes, dtype: Any, least: int = 0) -> Any:
        made = np.frombuffer(values, dtype)
        return made[:least] if empty else made
    slots, step_group = array(order, np.int64), array(groups, np.int32)
    return Packing(
        pack_offsets=array(offsets, np.int64, 1), sample_index=array(members, np.uint32).astype(np.int64),
        order=slots, step_offsets=_step_offsets(start, step_group, slots.size), step_group=step_group,
        loss_normalizer=array(normalizers, np.float64), summary=packing_pb2.PackDatasetSummary.FromString(summary),
        start=start)
