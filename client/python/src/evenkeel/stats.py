"""Statistics of sample lengths: the histogram for a Job's dataset, equal to the one of `evenkeelctl stats`."""
from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .lengths import MAX_UNITS, SampleLengths

Int64s = npt.NDArray[np.int64]

MAX_HISTOGRAM_BYTES = 65536  # serialised histograms are smaller than this


@dataclasses.dataclass(frozen=True, eq=False)
class Histogram:
    """Samples counted by length, ascending by units and then tokens. `units` is empty if no sample has any."""
    units: Int64s  # (bins, encoders) where there are several
    llm_tokens: Int64s
    sample_count: Int64s
    distinct: int  # distinct input lengths
    token_width: int = 1  # samples whose tokens / width agree share a bin, which stands for their mean; 1 is exact
    unit_width: int = 1

    @property
    def exact(self) -> bool:
        return self.token_width == self.unit_width == 1

    @property
    def size_bytes(self) -> int:
        """Returns the size of the serialised message."""
        columns = (self.units.reshape(-1), self.llm_tokens, self.sample_count)
        return sum(_packed_bytes(column) for column in columns) + (2 if self.encoders > 1 else 0)

    @property
    def encoders(self) -> int:
        return self.units.shape[1] if self.units.ndim == 2 else 1

    def to_json(self) -> dict[str, Any]:
        """Returns the Histogram message in protobuf JSON, all fields spelled out."""
        def texts(column: Int64s) -> list[str]:
            return [str(value) for value in column.tolist()]
        return {"units": texts(self.units.reshape(-1)), "llm_tokens": texts(self.llm_tokens),
                "sample_count": texts(self.sample_count), "encoder_count": self.encoders if self.encoders > 1 else 0}


def _packed_bytes(column: Int64s) -> int:
    """Returns the bytes of a packed repeated field with a tag of one byte: tag, length, varints."""
    if column.size == 0:
        return 0
    body = int(_varint_bytes(column).sum())
    return 1 + int(_varint_bytes(np.array([body]))[0]) + body


def _varint_bytes(values: Int64s) -> Int64s:
    return 1 + np.sum([values >= 1 << shift for shift in range(7, 63, 7)], axis=0, dtype=np.int64)


@dataclasses.dataclass(frozen=True, eq=False)
class LengthCounts:
    """Distinct lengths, ascending by units and then tokens."""
    units: Int64s  # (lengths, encoders) where there are several
    tokens: Int64s
    count: Int64s

    @staticmethod
    def of(samples: SampleLengths) -> LengthCounts:
        if samples.units.ndim == 2:
            rows, count = np.unique(np.column_stack([samples.units, samples.tokens]), axis=0, return_counts=True)
            return LengthCounts(rows[:, :-1], rows[:, -1], count.astype(np.int64))
        keys, count = np.unique(samples.units << 32 | samples.tokens, return_counts=True)
        return LengthCounts(keys >> 32, keys & 0xffffffff, count.astype(np.int64))

    @staticmethod
    def merged(parts: Sequence[LengthCounts]) -> LengthCounts:
        """Adds up counts of parts of a dataset: equal to the counts of the whole."""
        widths = {part.units.ndim for part in parts}
        if len(widths) != 1:
            raise ValueError("parts of a dataset have units of different encoders" if parts else "no parts")
        columns = [np.concatenate([part.units for part in parts]), np.concatenate([part.tokens for part in parts])]
        count = np.concatenate([part.count for part in parts])
        rows = np.column_stack(columns)
        order = np.lexsort(rows.T[::-1])
        rows = rows[order]
        first = np.flatnonzero(np.concatenate([[True], (rows[1:] != rows[:-1]).any(axis=1)])[:len(rows)])
        kept = rows[first]
        return LengthCounts(kept[:, 0] if widths == {1} else kept[:, :-1], kept[:, -1],
                            np.add.reduceat(count[order], first) if first.size else count)

    @property
    def samples(self) -> int:
        return int(self.count.sum())


def histogram(samples: SampleLengths | LengthCounts, max_bytes: int = MAX_HISTOGRAM_BYTES) -> Histogram:
    """Returns the finest binning that stays below `max_bytes`: exact if that does, otherwise bins of tokens (and, if
    these do not, of units) of widths 2^k and 3 x 2^k (docs/ALGORITHMS.md)."""
    counts = samples if isinstance(samples, LengthCounts) else LengthCounts.of(samples)
    unit_width = 1
    while unit_width <= 2 * MAX_UNITS:
        token_width = 1
        while token_width <= 4096:
            for width in (token_width, token_width // 2 * 3) if token_width > 1 else (1,):
                binned = _bin(counts, unit_width, width)
                if binned.size_bytes < max_bytes:
                    return binned
            token_width *= 2
        unit_width *= 2
    raise ValueError(f"no binning stays below {max_bytes} bytes")


def _bin(counts: LengthCounts, unit_width: int, token_width: int) -> Histogram:
    columns = counts.units.reshape(counts.tokens.size, -1)
    keys = np.column_stack([columns // unit_width, counts.tokens // token_width])
    order = np.lexsort(keys.T[::-1])
    first = np.flatnonzero(np.concatenate([[True], np.diff(keys[order], axis=0).any(axis=1)]))

    def summed(values: Int64s) -> npt.NDArray[np.uint64]:  # 10^12 samples of 2^24 tokens are just below 2^64
        sums: npt.NDArray[np.uint64] = np.add.reduceat(values[order].astype(np.uint64), first)
        return sums
    count = summed(counts.count)
    weight = counts.count.astype(np.uint64)
    units = np.stack([summed((column.astype(np.uint64) * weight).view(np.int64)) for column in columns.T])
    tokens = summed((counts.tokens.astype(np.uint64) * weight).view(np.int64))
    one, two = np.uint64(1), np.uint64(2)
    up = count - one if unit_width > 1 else count // two
    means = (units // count).astype(np.int64)
    if counts.units.ndim == 2:
        kept = means.T
    else:
        kept = means[0] if bool((units > 0).any()) else np.empty(0, np.int64)
    return Histogram(kept,
                     ((tokens + up) // count).astype(np.int64), count.astype(np.int64), counts.tokens.size, token_width,
                     unit_width)


@dataclasses.dataclass(frozen=True)
class Summary:
    """Figures of one quantity over all samples."""
    mean: float
    min: int
    percentiles: tuple[int, ...]  # PERCENTILES: the value at rank ceil(p% of the samples)
    max: int


PERCENTILES = (1, 10, 25, 50, 75, 90, 99)


def summarize(values: Int64s, count: Int64s) -> Summary:
    """Summarises a quantity: `count[i]` samples have `values[i]`."""
    order = np.argsort(values, kind="stable")
    values, count = values[order], count[order]
    total = int(count.sum())
    reached = np.cumsum(count)
    ranks = [min(max(1, -(-percent * total // 100)), total) for percent in PERCENTILES]
    return Summary(float((values * count.astype(np.float64)).sum() / total), int(values[0]),
                   tuple(int(values[np.searchsorted(reached, rank)]) for rank in ranks), int(values[-1]))


def dump(binned: Histogram) -> str:
    """Returns exactly the text that `evenkeelctl stats --output json` prints."""
    return json.dumps(binned.to_json(), separators=(",", ":")) + "\n"
