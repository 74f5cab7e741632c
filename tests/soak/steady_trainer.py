"""Work that runs together with the callers of steady.py: a training that reports its steps and packs a stream, and a
receiver of spans."""
import os
import random
import time
from concurrent import futures

import grpc
import harness  # noqa: F401  makes the package evenkeel importable

SAMPLES_PER_STEP = 40
# A step of this job is predicted to take some hundredths of a second.
JOB = {"model": {"name": "qwen3-0.6b"}, "cluster": {"pools": [{"gpu_type": "h100-sxm-80gb", "gpu_count": 8}]},
       "training": {"global_batch_samples": 16}}
EXPORT = "opentelemetry.proto.collector.trace.v1.TraceService"


class Receiver:
    """Takes the spans that the server exports, and answers as an OTLP receiver does. tests/tracing has a real one."""

    def __init__(self):
        self.messages = 0
        self.server = grpc.server(futures.ThreadPoolExecutor(2))
        handler = grpc.unary_unary_rpc_method_handler(self.export)  # bytes in, bytes out
        self.server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(EXPORT, {"Export": handler})])
        self.port = self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()

    def export(self, request, _):
        self.messages += bool(request)
        return b""  # nothing was refused

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def close(self):
        self.server.stop(None)


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def train(address, seconds, results):
    """Reports windows of steps, and packs a stream of two columns whose packs are checked. Puts the samples packed,
    windows reported, faults, and memory by time into `results`."""
    import evenkeel
    chance = random.Random(5)
    began = time.monotonic()
    client = evenkeel.Client(address)
    planned = client.plan_job(JOB)
    step_seconds = planned.plan.predictions.step.total_seconds
    client.close()
    reporter = evenkeel.StepReporter(address, plan=planned, warmup_steps=1, window_seconds=1.0, record=False,
                                     timeout=30)
    packer = evenkeel.OnlinePacker({"units": 9, "tokens": 4096}, ranks=8, window=1024)
    added, packed, memory, faults = 0, 0, [], set()
    while (now := time.monotonic() - began) < seconds:
        for _ in range(SAMPLES_PER_STEP):
            units = chance.randint(1, 9)
            packer.add(added, (units, 256 * units + chance.randint(1, 500)))
            added += 1
        for step in packer.steps():
            for pack in (pack for row in step.packs for pack in row if pack is not None):
                packed += len(pack.samples)
                if pack.sums["units"] > 9 or pack.sums["tokens"] > 4096:
                    faults.add("a pack is over its caps")
        reporter.step_end()
        if not memory or now - memory[-1][0] >= 5:
            memory.append((now, resident_bytes()))
        time.sleep(step_seconds)
    reporter.close()
    packer.flush()
    packed += sum(len(pack.samples) for step in packer.steps() for row in step.packs for pack in row if pack)
    if packed != added:
        faults.add(f"{packed} samples are in packs, of {added}")
    if reporter.report.fault or reporter.report.dropped:
        faults.add(f"{reporter.report.dropped} windows lost: {reporter.report.fault}")
    results.put((packed, reporter.report.windows, sorted(faults), memory))
