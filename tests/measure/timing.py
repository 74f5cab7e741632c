"""Times what a GPU does, and what the host spends on it. On a CPU the same code runs on small shapes, to try it out."""

import gc
import json
import statistics
import time
import traceback

import torch

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"


def size(value, small):
    """The value on a GPU; on a CPU a small one."""
    return value if CUDA else small


def synchronize():
    if CUDA:
        torch.cuda.synchronize()


def free_memory():
    """Frees unused memory, and forgets the peak."""
    gc.collect()
    if CUDA:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def device_us(function, budget_ms=40.0):
    """Median device time of one call, in microseconds, measured after a warm-up."""
    for _ in range(2):
        function()
    synchronize()
    begin = time.perf_counter()
    function()
    synchronize()
    once_ms = max((time.perf_counter() - begin) * 1e3, 1e-3)
    if not CUDA:
        return once_ms * 1e3
    calls = int(max(5, min(60, budget_ms / once_ms)))
    events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(calls)]
    for start, stop in events:
        start.record()
        function()
        stop.record()
    synchronize()
    return statistics.median(start.elapsed_time(stop) for start, stop in events) * 1e3


def graph_us(function, calls=10):
    """Device time of one call without the host: `calls` of them captured in a CUDA graph."""
    if not CUDA:
        return device_us(function)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            function()
    synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            function()
    return device_us(graph.replay) / calls


def wall_us(function, calls=20):
    """Median wall time of one call until the device is idle, in microseconds."""
    times = []
    for call in range(calls + 3):
        synchronize()
        begin = time.perf_counter()
        function()
        synchronize()
        if call >= 3:
            times.append((time.perf_counter() - begin) * 1e6)
    return statistics.median(times)


class Record:
    """Writes one JSON line per measurement. A section that fails says so and ends alone."""

    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8")

    def add(self, section, **values):
        line = {"section": section}
        line.update(
            (key, float(f"{value:.5g}") if isinstance(value, float) else value) for key, value in values.items()
        )
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()

    def section(self, name, function):
        begin = time.perf_counter()
        try:
            function(self)
            print(f"{name}: {time.perf_counter() - begin:.1f} s", flush=True)
        except Exception:
            self.add(name, failed=traceback.format_exc()[-1500:])
            print(f"{name}: FAILED after {time.perf_counter() - begin:.1f} s\n{traceback.format_exc()}", flush=True)
        free_memory()
