"""The batches that one rank runs in one epoch."""
from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from .packing import Int64s, Packing, Samples


@dataclasses.dataclass(frozen=True, eq=False)
class RankEpoch:
    """Batches of one rank, in order. All ranks have the same number of batches, and the same steps."""
    packing: Packing
    packs: Int64s  # pack of each batch
    missing: npt.NDArray[np.bool_]  # batches that stand in for a missing pack; their weight is 0
    batch_step: Int64s  # step of each batch
    step_batches: Int64s  # steps + 1: the first batch of each step
    normalizer: npt.NDArray[np.float64]  # T_ave of each step
    sequence_parallel: Int64s  # for each step: ranks that share each of its packs
    sequence_rank: Int64s  # for each step: index of this rank among them

    @property
    def batch_count(self) -> int:
        return self.packs.size

    def samples(self, batch: int) -> list[int]:
        indices: list[int] = self.packing.pack(int(self.packs[batch])).tolist()
        return indices

    def loss_scale(self, batch: int) -> float:
        """Returns the factor for the sum of the token losses of the batch; see MicroBatch."""
        step = int(self.batch_step[batch])
        packs = int(self.step_batches[step + 1] - self.step_batches[step])
        if self.missing[batch] or self.normalizer[step] == 0:
            return 0.0
        return float(self.sequence_parallel[step] / (packs * self.normalizer[step]))


def world_size_of(packing: Packing) -> int:
    start = packing.start
    if not start.groups:
        return start.data_parallel
    return start.groups[0].data_parallel * max(1, start.groups[0].sequence_parallel)


def _step_shapes(packing: Packing) -> tuple[Int64s, Int64s, Int64s]:
    """Returns for each step: data-parallel ranks, packs per rank, ranks that share a pack."""
    start = packing.start
    groups = list(start.groups)
    if not groups:
        ones = np.ones(packing.step_count, np.int64)
        return ones * start.data_parallel, ones * max(1, start.packs_per_rank), ones

    def each(values: list[int]) -> Int64s:
        return np.maximum(1, np.array(values, np.int64))[packing.step_group]
    return (each([g.data_parallel for g in groups]), each([g.packs_per_rank for g in groups]),
            each([g.sequence_parallel for g in groups]))


def _normalizers(packing: Packing, samples: Samples, slots: Int64s) -> npt.NDArray[np.float64]:
    """Returns T_ave: loss tokens of a step's packs over its ranks x packs per rank (docs/PACK_ORDER.md, "Loss")."""
    if packing.loss_normalizer.size:
        return packing.loss_normalizer
    loss = samples.tokens if samples.loss_tokens is None else samples.loss_tokens
    if packing.step_count == 0:
        return np.empty(0)
    of_pack = np.add.reduceat(loss[packing.sample_index], packing.pack_offsets[:-1])
    of_slot = np.where(packing.order >= 0, of_pack[packing.order], 0)
    sums: npt.NDArray[np.float64] = np.add.reduceat(of_slot, packing.step_offsets[:-1]) / slots
    return sums


def _smallest_pack(packing: Packing, samples: Samples) -> int:
    """Returns the pack that stands in if a rank lacks one: the pack with the fewest tokens, the first among equals."""
    if packing.pack_count == 0:
        return 0
    tokens = np.add.reduceat(samples.tokens[packing.sample_index], packing.pack_offsets[:-1])
    return int(np.argmin(tokens))


def rank_epoch(packing: Packing, samples: Samples, rank: int) -> RankEpoch:
    """Returns the batches of `rank`, which counts the ranks among which samples are dealt. With packing groups, C
    neighbours share each pack of a group of sequence parallel C."""
    ranks, packs, sharing = _step_shapes(packing)
    step_batches = np.concatenate([[0], np.cumsum(packs)]).astype(np.int64)
    first = packing.step_offsets[:-1] + (rank // sharing) * packs
    slot = np.arange(step_batches[-1]) + np.repeat(first - step_batches[:-1], packs)
    mine = packing.order[slot]
    missing = mine < 0
    return RankEpoch(
        packing=packing, packs=np.where(missing, _smallest_pack(packing, samples), mine), missing=missing,
        batch_step=np.repeat(np.arange(packing.step_count), packs), step_batches=step_batches,
        normalizer=_normalizers(packing, samples, ranks * packs), sequence_parallel=sharing,
        sequence_rank=rank % sharing)
