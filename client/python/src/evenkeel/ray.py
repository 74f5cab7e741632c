"""Counts and packs datasets that are too large for one machine, with Ray Data.

    binned = evenkeel.ray.histogram(dataset)                       # for a job
    packs = evenkeel.ray.pack(dataset, plan.batch_rule, folder)    # partition by partition
    epoch = evenkeel.ray.order(folder, data_parallel=64)           # one order over all packs
    evenkeel.ray.PackFolder(folder).epoch(0).of_rank(3)            # without Ray: what rank 3 trains on

A partition is a number of consecutive samples, however Ray cuts the dataset into blocks. Tasks are functions of their
partition, so one that is run again gives the same. `folder` is one that all nodes see. Needs `ray[data]`.
"""
from __future__ import annotations

import dataclasses
import hashlib
import math
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Union

import numpy as np

import ray

from . import packing, ray_tasks, stats
from .lengths import TOKEN_KEYS, UNIT_KEYS
from .pack_folder import (MANIFEST, VERSION, PackEpoch, PackFolder, Path, epoch_folder, save, step_file, write_json)
from .ray_tasks import ColumnNames, PackedPartition, Rows
from .stats import Histogram, LengthCounts

__all__ = ["PackEpoch", "PackFolder", "counts", "histogram", "order", "pack"]

PARTITION_SAMPLES = 1 << 22
SHARD_PACKS = 1 << 19  # packs that are dealt together
MOST_SHARDS = 2048  # beyond, shards are larger, since each reads a part of every partition's packs
DEFAULT_ORDER_WINDOW = 16  # as PackDataset's
_RETRIES = 8  # of a task whose worker or node was lost
_MERGED_AT_ONCE = 16

UnitColumns = Union[str, Sequence[str], None]


@dataclasses.dataclass(frozen=True)
class _Partition:
    index: int
    rows: Rows
    blocks: tuple[Any, ...]  # references


def counts(dataset: Any, *, tokens: str | None = None, units: UnitColumns = None,
           partition_samples: int = PARTITION_SAMPLES) -> LengthCounts:
    """Counts samples by length, partition by partition, and merges the counts in a tree. Integers add up exactly: the
    result is that of all samples at once.

    tokens, units: names of columns other than the usual ones; of several encoders, a column for each.
    """
    names = _columns(dataset, tokens, units, None)
    tree = _Tree()
    task = _task(ray_tasks.count)

    def submit(partition: _Partition) -> tuple[Any, Any]:
        made = task.remote(names, partition.rows, *partition.blocks)
        return made, made
    for _, made in _run(map(submit, _partitions(dataset, names, partition_samples))):
        tree.add(made)
    return tree.result()


def histogram(dataset: Any, *, tokens: str | None = None, units: UnitColumns = None,
              partition_samples: int = PARTITION_SAMPLES, max_bytes: int = stats.MAX_HISTOGRAM_BYTES) -> Histogram:
    """Returns the histogram for a job's dataset, equal to `evenkeel.histogram` of all samples."""
    return stats.histogram(counts(dataset, tokens=tokens, units=units, partition_samples=partition_samples), max_bytes)


def pack(dataset: Any, rule: packing.RuleLike, folder: Path, *, tokens: str | None = None, units: UnitColumns = None,
         ids: str | None = None, partition_samples: int = PARTITION_SAMPLES, spread: bool = False) -> PackFolder:
    """Packs each partition with the planner, and proves how many packs all samples need at least.

    rule: a rule with caps, or a plan. tokens, units: as for `counts`. ids: a column of integers by which the packs name
    samples; by default they name positions in the dataset. spread: partitions are random parts of the dataset, so that
    all have lengths alike. That moves samples (24 bytes each) through `folder`. Without, no sample leaves its
    partition, and partitions of short and of long samples cannot fill each other's packs: `excess` of the result says
    what that costs at most.
    """
    names = _columns(dataset, tokens, units, ids)
    settings = packing.settings_of(rule)
    _check_rule(settings, names)
    path = os.path.abspath(os.fspath(folder))
    if os.path.exists(os.path.join(path, MANIFEST)):
        raise FileExistsError(f"{path} holds packs already: name another folder, or remove this one")
    os.makedirs(os.path.join(path, "packs"), exist_ok=True)
    partitions = _partitions(dataset, names, partition_samples)
    used = settings.rule.SerializeToString()
    tree = _Tree()
    if spread:
        parts = _pack_spread(path, partitions, used, settings.rule.seed, names, partition_samples, tree)
    else:
        parts = _pack_rows(path, partitions, used, names, tree)
    return _finish(path, settings, names, parts, tree.result(), partition_samples, spread)


def _pack_rows(folder: str, partitions: Iterable[_Partition], rule: bytes, names: ColumnNames,
               tree: _Tree) -> list[PackedPartition]:
    task = _task(ray_tasks.pack_rows, num_returns=2)

    def submit(partition: _Partition) -> tuple[Any, Any]:
        done, counted = task.remote(folder, partition.index, rule, names, partition.rows, *partition.blocks)
        return done, (partition.index, counted)
    parts = {}
    for done, (index, counted) in _run(map(submit, partitions)):
        parts[index] = ray.get(done)
        tree.add(counted)
    return [parts[index] for index in range(len(parts))]


def _pack_spread(folder: str, partitions: Iterable[_Partition], rule: bytes, seed: int, names: ColumnNames,
                 partition_samples: int, tree: _Tree) -> list[PackedPartition]:
    os.makedirs(os.path.join(folder, "spread"), exist_ok=True)
    task, samples, spilled = _task(ray_tasks.spill), 0, 0

    def submit(partition: _Partition) -> tuple[Any, Any]:
        made = task.remote(folder, partition.index, seed, names, partition.rows, *partition.blocks)
        return made, (made, partition.rows.count)
    for _, (made, rows) in _run(map(submit, partitions)):
        tree.add(made)
        samples, spilled = samples + rows, spilled + 1
    number = -(-samples // partition_samples)
    packing_task = _task(ray_tasks.pack_spread)
    parts = {index: ray.get(done) for done, index in _run(
        (packing_task.remote(folder, index, number, spilled, rule), index) for index in range(number))}
    shutil.rmtree(os.path.join(folder, "spread"))
    return [parts[index] for index in range(number)]


def _finish(folder: str, settings: packing.PackSettings, names: ColumnNames, parts: list[PackedPartition],
            counted: LengthCounts, partition_samples: int, spread: bool) -> PackFolder:
    from google.protobuf import json_format

    from . import local
    if counted.samples != sum(part.samples for part in parts):
        raise RuntimeError(f"{counted.samples} samples were counted, {sum(part.samples for part in parts)} were packed")
    bound = local.lower_bound(settings.rule, counted)
    rule = settings.rule
    digest = hashlib.sha256("".join(part.digest for part in parts).encode()).hexdigest()[:32]
    write_json(os.path.join(folder, MANIFEST), {
        "version": VERSION, "samples": counted.samples, "rejected": sum(part.rejected for part in parts),
        "packs": sum(part.packs for part in parts), "lower_bound": bound.packs, "lower_bound_method": bound.method,
        "digest": digest, "columns": dataclasses.asdict(names), "partition_samples": partition_samples,
        "spread": spread, "caps": [rule.unit_cap, rule.token_cap] if rule.unit_cap else [rule.token_cap],
        "rule": json_format.MessageToDict(rule), "plan_id": settings.plan_id,
        "data_parallel": settings.data_parallel, "packs_per_rank": settings.packs_per_rank, "seed": rule.seed,
        "order_window": rule.order_window, "partitions": [dataclasses.asdict(part) for part in parts]})
    return PackFolder(folder)


def order(folder: Path, *, data_parallel: int | None = None, packs_per_rank: int | None = None, epoch: int = 0,
          order_window: int | None = None) -> PackEpoch:
    """Deals all packs to steps and ranks: in the order of one seeded permutation, a part of it at a time. Packs of
    `order_window` steps are exchanged so that those of a step are alike. Any number of epochs may be written.

    data_parallel, packs_per_rank, order_window: by default those of the plan or rule.
    """
    packs = PackFolder(folder)
    said = packs.manifest
    ranks = _at_least_one("data_parallel", data_parallel if data_parallel is not None else said["data_parallel"])
    slots = _at_least_one("packs_per_rank", packs_per_rank if packs_per_rank is not None else
                          max(1, said["packs_per_rank"]))
    window = _at_least_one("order_window", order_window if order_window is not None else
                           said["order_window"] or DEFAULT_ORDER_WINDOW)
    if epoch < 0:
        raise ValueError(f"epoch is {epoch}: must be 0 or more")
    made = epoch_folder(packs.folder, epoch)
    if os.path.exists(os.path.join(made, MANIFEST)):
        raise FileExistsError(f"{made} holds an order already: remove it first")
    os.makedirs(made, exist_ok=True)
    seed, caps, partitions = said["seed"], tuple(said["caps"]), len(said["partitions"])
    key = _task(ray_tasks.key_packs)
    for done, _ in _run((key.remote(packs.folder, at, packs.first_pack[at], seed, epoch), None)
                        for at in range(partitions)):
        ray.get(done)
    shards = max(1, min(MOST_SHARDS, packs.pack_count // max(SHARD_PACKS, 64 * ranks * slots)))
    deal = _task(ray_tasks.deal_shard)
    found = {at: ray.get(done) for done, at in _run(
        (deal.remote(packs.folder, epoch, at, shards, partitions, caps, ranks, slots, window, seed), at)
        for at in range(shards))}
    dealt = [found[at] for at in range(shards)]
    last = ray_tasks.last_steps(np.concatenate([d.left for d in dealt]), np.concatenate([d.left_sums for d in dealt]),
                                caps, ranks, slots, window, seed + epoch)
    save(step_file(packs.folder, epoch, shards), last)
    for at in range(partitions):
        os.remove(ray_tasks.key_file(packs.folder, epoch, at))
    steps = [d.steps for d in dealt]
    columns = ["units", "tokens"][-len(caps):]
    write_json(os.path.join(made, MANIFEST), {
        "version": VERSION, "digest": packs.digest, "data_parallel": ranks, "packs_per_rank": slots, "seed": seed,
        "order_window": window, "steps": [*steps, len(last)],
        "dist_ratio": {name: math.fsum(d.unlike[at] for d in dealt) / max(1, sum(steps))
                       for at, name in enumerate(columns)}})
    return packs.epoch(epoch)


def _at_least_one(name: str, value: int) -> int:
    if value < 1:
        raise ValueError(f"{name} is {value}: 1 or more is needed")
    return int(value)


def _columns(dataset: Any, tokens: str | None, units: UnitColumns, ids: str | None) -> ColumnNames:
    if not isinstance(dataset, ray.data.Dataset):
        raise TypeError(f"dataset is a {type(dataset).__name__}: a ray.data.Dataset is needed")
    schema = dataset.schema()
    there = list(schema.names) if schema is not None else []

    def usual(keys: Sequence[str]) -> list[str]:
        found = [key for key in keys if key in there]
        if len(found) > 1:
            raise ValueError(f'columns "{found[0]}" and "{found[1]}" say the same: name one')
        return found
    given = [tokens] if tokens is not None else usual((*TOKEN_KEYS, "lengths"))
    if not given:
        raise ValueError(f"the dataset has no column of lengths ({', '.join(TOKEN_KEYS)}); its columns: "
                         f"{', '.join(there) or 'none'}")
    of_units = usual(UNIT_KEYS) if units is None else [units] if isinstance(units, str) else list(units)
    names = ColumnNames(given[0], tuple(of_units), ids)
    for name in names.all():
        if name not in there:
            raise ValueError(f'the dataset has no column "{name}"; its columns: {", ".join(there) or "none"}')
    return names


def _check_rule(settings: packing.PackSettings, names: ColumnNames) -> None:
    from . import local
    rule = settings.rule
    if settings.groups:
        raise ValueError("the plan has packing groups, which need all samples at once: pass plan.batch_rule")
    if not rule.token_cap:
        raise ValueError("the rule has no token_cap, and partitions must not derive their own: plan with "
                         "evenkeel.ray.histogram, and take the plan's rule")
    if names.units and not rule.unit_cap:
        raise ValueError(f"the rule has no unit_cap for {', '.join(names.units)}: set it, or pass units=() to pack by "
                         "tokens alone")
    if rule.unit_scales and len(rule.unit_scales) != len(names.units):
        raise ValueError(f"the rule is for {len(rule.unit_scales)} encoders: name that many columns of units")
    if len(names.units) > 1 and not rule.unit_scales:
        raise ValueError(f"{len(names.units)} columns of units need a rule with unit_scales, such as a plan's")
    nothing = np.empty(0, np.int64)
    local.lower_bound(rule, LengthCounts(nothing, nothing, nothing))  # refuses what else is wrong with it


def _partitions(dataset: Any, names: ColumnNames, samples: int) -> Iterator[_Partition]:
    """Cuts the dataset, in its order, into parts of so many samples. Blocks are made while this is read."""
    if samples < 1:
        raise ValueError(f"partition_samples is {samples}: must be 1 or more")
    blocks: list[Any] = []
    cuts: list[tuple[int, int]] = []
    index = held = at = 0

    def whole() -> _Partition:
        return _Partition(index, Rows(at - held, tuple(cuts)), tuple(blocks))
    for block, begin, end in _blocks(dataset.select_columns(names.all())):
        while begin < end:
            taken = min(end - begin, samples - held)
            blocks.append(block)
            cuts.append((begin, begin + taken))
            begin, held, at = begin + taken, held + taken, at + taken
            if held == samples:
                yield whole()
                blocks, cuts, index, held = [], [], index + 1, 0
    if held:
        yield whole()
    if at == 0:
        raise ValueError("the dataset has no samples")


def _blocks(dataset: Any) -> Iterator[tuple[Any, int, int]]:
    """Yields references of blocks, each with the range of its rows, in the order of the dataset."""
    options = dataset.context.execution_options
    before, options.preserve_order = options.preserve_order, True
    try:
        for bundle in dataset.iter_internal_ref_bundles():
            for entry, cut in zip(bundle.blocks, bundle.slices):
                if cut is not None:
                    yield entry.ref, cut.start_offset, cut.end_offset
                else:
                    yield entry.ref, 0, entry.metadata.num_rows
    finally:
        options.preserve_order = before


def _task(function: Callable[..., Any], **options: Any) -> Any:
    return ray.remote(num_cpus=1, max_retries=_RETRIES, **options)(function)


def _run(submitted: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    """Yields references of tasks that are done, with what was given along. Two tasks for each CPU are under way, so
    that no more blocks are kept than these need."""
    resources: Any = ray.cluster_resources  # Ray declares no types for it
    at_once = max(2, 2 * int(resources().get("CPU", 1)))
    waiting: dict[Any, Any] = {}
    for reference, along in submitted:
        waiting[reference] = along
        if len(waiting) >= at_once:
            yield from _done(waiting)
    while waiting:
        yield from _done(waiting)


def _done(waiting: dict[Any, Any]) -> Iterator[tuple[Any, Any]]:
    for reference in ray.wait(list(waiting), num_returns=1)[0]:
        yield reference, waiting.pop(reference)


class _Tree:
    """Counts of partitions, merged by tasks, as many at once at every level."""

    def __init__(self) -> None:
        self._levels: list[list[Any]] = []
        self._merge = _task(ray_tasks.merge)

    def add(self, part: Any, level: int = 0) -> None:
        if level == len(self._levels):
            self._levels.append([])
        self._levels[level].append(part)
        if len(self._levels[level]) == _MERGED_AT_ONCE:
            merged = self._merge.remote(*self._levels[level])
            self._levels[level] = []
            self.add(merged, level + 1)

    def result(self) -> LengthCounts:
        merged: LengthCounts = ray.get(self._merge.remote(*(part for level in self._levels for part in level)))
        return merged
