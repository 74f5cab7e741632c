"""Measurements of a rank in a window of steps: the values, their percentiles, and their form on the way to rank 0."""
from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence


def percentile(ordered: Sequence[float], share: float) -> float:
    """Returns the smallest value that at least `share` of the ordered values do not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


@dataclasses.dataclass(frozen=True)
class RankWindow:
    """Steps of one rank. Times are in seconds, sizes in bytes; 0 is not measured."""
    rank: int
    stage: int
    steps: int
    mean: float
    p50: float
    p90: float
    p99: float
    forward: float = 0.0
    allocated: int = 0
    reserved: int = 0

    @classmethod
    def of(cls, rank: int, stage: int, times: Sequence[float], forward: Sequence[float] = (), allocated: int = 0,
           reserved: int = 0) -> RankWindow:
        ordered = sorted(times)
        return cls(rank, stage, len(ordered), math.fsum(ordered) / len(ordered), percentile(ordered, .5),
                   percentile(ordered, .9), percentile(ordered, .99),
                   percentile(sorted(forward), .5) if forward else 0.0, allocated, reserved)

    def to_bytes(self) -> bytes:
        return json.dumps(dataclasses.astuple(self)).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> RankWindow:
        return cls(*json.loads(data))


class Total:
    """All steps of a run, in bounded memory: when it is full, every second value is dropped, and from then on only
    every second one is kept, and so on. The mean is exact."""

    def __init__(self, most: int = 65536) -> None:
        self._most = most
        self._every = 1
        self._kept: list[float] = []
        self.steps = 0
        self._sum = 0.0

    def add(self, times: Sequence[float]) -> None:
        for time in times:
            if self.steps % self._every == 0:
                self._kept.append(time)
            self.steps += 1
            self._sum += time
        while len(self._kept) > self._most:
            self._kept = self._kept[::2]
            self._every *= 2

    def window(self, last: RankWindow) -> RankWindow:
        """Returns all steps as one window, whose other values are those of the last one."""
        whole = RankWindow.of(last.rank, last.stage, self._kept, (), last.allocated, last.reserved)
        return dataclasses.replace(whole, steps=self.steps, mean=self._sum / self.steps, forward=last.forward)
