"""Measures forward passes with hooks of PyTorch. On a GPU, it uses events, which are read when they are done."""
from __future__ import annotations

import collections
import sys
import time
from typing import Any

_QUEUE = 4096


class ForwardTimes:
    """The time of all forward passes of a step, for every n-th step."""

    def __init__(self, every: int) -> None:
        self._every = every
        self._step = 0
        self._measures = every == 1
        self._begun: Any = None
        self._passes: list[Any] = []  # of this step: seconds, or pairs of events
        self._steps: collections.deque[list[Any]] = collections.deque(maxlen=_QUEUE)
        self._handles: list[Any] = []

    def watch(self, module: Any) -> None:
        self._handles.append(module.register_forward_pre_hook(self._before))
        self._handles.append(module.register_forward_hook(self._after))

    def unwatch(self) -> None:
        while self._handles:
            self._handles.pop().remove()

    def skip(self) -> None:
        self._passes = []

    def step_end(self) -> None:
        if not self._handles:
            return
        if self._passes:
            self._steps.append(self._passes)
            self._passes = []
        self._step += 1
        self._measures = (self._step + 1) % self._every == 0

    def take(self) -> list[float]:
        """Returns the times that are known by now, and forgets them. Never waits for a GPU."""
        times = []
        while self._steps:
            passes = self._steps[0]
            if not all(_done(one) for one in passes):
                break
            self._steps.popleft()
            times.append(sum(_seconds(one) for one in passes))
        return times

    def _before(self, module: Any, _inputs: Any) -> None:
        if self._measures and module.training:
            self._begun = _now()

    def _after(self, module: Any, _inputs: Any, _output: Any) -> None:
        if self._begun is not None:
            begun, self._begun = self._begun, None
            end = _now()
            self._passes.append(end - begun if isinstance(begun, float) else (begun, end))


def _now() -> Any:
    """Returns an event of the current stream, or the time where there is no GPU."""
    torch = sys.modules["torch"]
    if not torch.cuda.is_available() or not torch.cuda.is_initialized():
        return time.perf_counter()
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event


def _done(one: Any) -> bool:
    return isinstance(one, float) or bool(one[1].query())


def _seconds(one: Any) -> float:
    return one if isinstance(one, float) else float(one[0].elapsed_time(one[1])) / 1e3
