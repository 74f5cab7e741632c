"""The work of the tasks of evenkeel.ray. Each is a function of its arguments, and writes whole files or none, so that
a task that is run again, after its worker or node was lost, neither loses nor doubles anything."""
from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import lengths
from .lengths import SampleLengths
from .online_deal import deal
from .pack_folder import epoch_folder, pack_file, save, step_file
from .stats import LengthCounts

Int64s = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]


@dataclasses.dataclass(frozen=True)
class ColumnNames:
    """Columns of the dataset."""
    tokens: str
    units: tuple[str, ...]  # one for each encoder
    ids: str | None  # None: the position in the dataset

    def all(self) -> list[str]:
        return [self.tokens, *self.units, *([] if self.ids is None else [self.ids])]


@dataclasses.dataclass(frozen=True)
class Rows:
    """Consecutive rows of a dataset: parts of blocks."""
    begin: int  # position of the first one in the dataset
    cuts: tuple[tuple[int, int], ...]  # of each block, which rows

    @property
    def count(self) -> int:
        return sum(end - begin for begin, end in self.cuts)


@dataclasses.dataclass(frozen=True)
class PackedPartition:
    """The facts about a partition that its files lack."""
    samples: int
    rejected: int
    packs: int
    digest: str


@dataclasses.dataclass(frozen=True)
class DealtShard:
    """The facts about a part of the order that its file lacks."""
    steps: int
    left: Int64s  # packs too few for a step
    left_sums: Int64s
    unlike: list[float]  # by column: the sum over steps of (most - mean) / most over the ranks


def mixed(values: Keys, seed: int, epoch: int) -> Keys:
    """Returns keys in random order. Different values have different keys, since every step of SplitMix64's mix (Steele
    et al. 2014) can be undone. So sorting by key is a permutation."""
    offset = (seed * 0x632be59bd9b4e019 + epoch * 0x9e3779b97f4a7c15) % (1 << 64)
    z: Keys = values + np.uint64(offset)
    for _ in range(2):
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
        z = z ^ (z >> np.uint64(31))
    return z


def _column(name: str, rows: Rows, blocks: Sequence[Any]) -> Int64s:
    parts = []
    for (begin, end), block in zip(rows.cuts, blocks):
        column = block.column(name).slice(begin, end - begin)
        if column.null_count:
            raise lengths.LengthFileError(f'column "{name}" has nulls among the rows from {rows.begin} on')
        if not str(column.type).startswith(("int", "uint")):
            raise lengths.LengthFileError(f'column "{name}" has type {column.type}: one integer per sample is needed')
        parts.append(column.to_numpy())
    return np.concatenate(parts).astype(np.int64)


def _arrow(blocks: Sequence[Any]) -> list[Any]:
    from ray.data.block import BlockAccessor
    return [BlockAccessor.for_block(block).to_arrow() for block in blocks]


def _samples(names: ColumnNames, rows: Rows, tables: Sequence[Any]) -> SampleLengths:
    units = [_column(name, rows, tables) for name in names.units]
    return lengths.from_columns(
        _column(names.tokens, rows, tables),
        None if not units else units[0] if len(units) == 1 else np.stack(units, axis=1),
        name=f"rows {rows.begin} to {rows.begin + rows.count - 1}")


def _ids(names: ColumnNames, rows: Rows, tables: Sequence[Any]) -> Int64s:
    if names.ids is None:
        return np.arange(rows.begin, rows.begin + rows.count, dtype=np.int64)
    return _column(names.ids, rows, tables)


def count(names: ColumnNames, rows: Rows, *blocks: Any) -> LengthCounts:
    """Counts the lengths of a partition."""
    return LengthCounts.of(_samples(names, rows, _arrow(blocks)))


def merge(*parts: LengthCounts) -> LengthCounts:
    return LengthCounts.merged(parts)


def pack_rows(folder: str, partition: int, rule: bytes, names: ColumnNames, rows: Rows,
              *blocks: Any) -> tuple[PackedPartition, LengthCounts]:
    """Packs consecutive rows."""
    tables = _arrow(blocks)
    samples = _samples(names, rows, tables)
    return _pack(folder, partition, rule, samples, _ids(names, rows, tables)), LengthCounts.of(samples)


def _pack(folder: str, partition: int, rule: bytes, samples: SampleLengths, ids: Int64s) -> PackedPartition:
    from . import local
    from .v1 import batching_pb2
    parsed = batching_pb2.BatchRule.FromString(rule)
    packing = local.pack(parsed, samples.tokens, samples.units, data_parallel=1)
    columns = [samples.tokens]
    if parsed.unit_cap:
        units = samples.units if samples.units.ndim == 1 else samples.units @ np.array(parsed.unit_scales, np.int64)
        columns.insert(0, units)
    starts = packing.pack_offsets[:-1]
    sums = np.stack([np.add.reduceat(column[packing.sample_index], starts) for column in columns], axis=1) if (
        starts.size) else np.empty((0, len(columns)), np.int64)
    members = ids[packing.sample_index]
    digest = hashlib.sha256()
    for what, array in (("offsets", packing.pack_offsets), ("ids", members), ("sums", sums)):
        digest.update(array.astype("<i8", copy=False).tobytes())
        save(pack_file(folder, partition, what), array)
    return PackedPartition(len(samples), len(samples) - members.size, starts.size, digest.hexdigest()[:32])


def spill_file(folder: str, partition: int) -> str:
    return os.path.join(folder, "spread", f"{partition:06}.npy")


def spill(folder: str, partition: int, seed: int, names: ColumnNames, rows: Rows, *blocks: Any) -> LengthCounts:
    """Writes the samples of a partition in the order of their keys."""
    tables = _arrow(blocks)
    samples = _samples(names, rows, tables)
    made = np.empty(len(samples), [("key", "<u8"), ("id", "<i8"), ("tokens", "<i4"),
                                   ("units", "<i4", (max(1, len(names.units)),))])
    made["key"] = mixed(np.arange(rows.begin, rows.begin + rows.count, dtype=np.uint64), seed, 0)
    made["id"] = _ids(names, rows, tables)
    made["tokens"] = samples.tokens
    made["units"] = samples.units.reshape(len(samples), -1)
    made.sort(order="key")
    save(spill_file(folder, partition), made)
    return LengthCounts.of(samples)


def _of_range(path: str, part: int, parts: int) -> npt.NDArray[Any]:
    """Reads the records whose keys are in the range `part` of `parts` equal ones."""
    records = np.load(path, mmap_mode="r", allow_pickle=False)
    begin, end = (int(np.searchsorted(records["key"], np.uint64(-(-(at << 64) // parts)))) if at < parts
                  else len(records) for at in (part, part + 1))
    return np.array(records[begin:end])


def pack_spread(folder: str, partition: int, partitions: int, spilled: int, rule: bytes) -> PackedPartition:
    """Packs the samples of a range of keys: a random part of the dataset."""
    records = np.concatenate([_of_range(spill_file(folder, at), partition, partitions) for at in range(spilled)])
    records.sort(order="key")
    units = records["units"].astype(np.int64)
    samples = SampleLengths(records["tokens"].astype(np.int64), units[:, 0] if units.shape[1] == 1 else units, None)
    return _pack(folder, partition, rule, samples, records["id"])


def key_file(folder: str, epoch: int, partition: int) -> str:
    return os.path.join(epoch_folder(folder, epoch), f"keys-{partition:06}.npy")


def key_packs(folder: str, partition: int, first_pack: int, seed: int, epoch: int) -> int:
    """Writes the packs of a partition in the order of their keys."""
    sums = np.load(pack_file(folder, partition, "sums"), allow_pickle=False)
    made = np.empty(len(sums), [("key", "<u8"), ("pack", "<i8"), ("sums", "<i8", (sums.shape[1],))])
    made["pack"] = np.arange(first_pack, first_pack + len(sums))
    made["key"] = mixed(made["pack"].astype(np.uint64), seed, epoch)
    made["sums"] = sums
    made.sort(order="key")
    save(key_file(folder, epoch, partition), made)
    return len(sums)


def deal_shard(folder: str, epoch: int, shard: int, shards: int, partitions: int, caps: tuple[int, ...], ranks: int,
               packs_per_rank: int, order_window: int, seed: int) -> DealtShard:
    """Deals the packs of a range of keys, a random part of all, to steps and ranks."""
    records = np.concatenate([_of_range(key_file(folder, epoch, at), shard, shards) for at in range(partitions)])
    records.sort(order="key")
    sums, slots = records["sums"].astype(np.int64), ranks * packs_per_rank
    rows = deal(sums, np.array(caps, np.int64), ranks, packs_per_rank, order_window,
                int(mixed(np.array([shard], np.uint64), seed, epoch + 1)[0]))
    save(step_file(folder, epoch, shard), records["pack"][rows])
    totals = sums[rows].sum(axis=2)  # by step, rank and column
    most = totals.max(axis=1)
    unlike = np.divide(most - totals.mean(axis=1), most, out=np.zeros(most.shape), where=most > 0).sum(axis=0)
    left = slice(len(rows) * slots, None)
    return DealtShard(len(rows), records["pack"][left].astype(np.int64), sums[left], unlike.tolist())


def last_steps(left: Int64s, sums: Int64s, caps: tuple[int, ...], ranks: int, packs_per_rank: int, order_window: int,
               seed: int) -> Int64s:
    """Deals what the shards left over. The last step may lack packs; no rank has a second one there before all ranks
    have one."""
    slots = ranks * packs_per_rank
    rows = left[deal(sums, np.array(caps, np.int64), ranks, packs_per_rank, order_window, seed)]
    rest = left[len(rows) * slots:]
    if rest.size:
        step = np.full(slots, -1, np.int64)
        step[:rest.size] = rest
        rows = np.concatenate([rows, step.reshape(packs_per_rank, ranks).T[None]])
    return rows.astype(np.int64)
