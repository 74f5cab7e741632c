#!/usr/bin/python3
"""A server under half of what it can take, for a long time: memory, descriptors and threads must stay flat.

steady.py [--minutes 30] [--callers 4]

Calls: known plans, new plans, GetPlan, ListPlans, uploads, bad requests, cancelled calls, and every 200th call on a new
connection. First the rate of saturation is measured for some seconds, then half of it is kept. Prints a table, and ends
with 1 if memory grows by 1 MiB or more in 10 minutes after the warm-up (a quarter of the time, 5 minutes at most), the
number of descriptors or threads drifts, a call fails that should not, or the p99 of the last sixth is above 1.2 times
that of the first sixth after the warm-up.
"""
import argparse
import multiprocessing
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

import grpc  # noqa: E402  pylint: disable=wrong-import-position
import harness  # noqa: E402  pylint: disable=wrong-import-position
from evenkeel.v1 import packing_pb2  # noqa: E402  pylint: disable=wrong-import-position
from harness import Client, Server, planner_service_pb2  # noqa: E402  pylint: disable=wrong-import-position
from test_plan_store import small_job  # noqa: E402  pylint: disable=wrong-import-position

NEW_EVERY = 20
RECONNECT_EVERY = 200


def upload(client, chance):
    call = client.channel.stream_stream(
        f"/{harness.SERVICE}/PackDataset", request_serializer=packing_pb2.PackDatasetRequest.SerializeToString,
        response_deserializer=packing_pb2.PackDatasetResponse.FromString)
    first = packing_pb2.PackDatasetRequest()
    first.start.rule.unit_cap, first.start.rule.token_cap = 9, 4096
    first.start.data_parallel = 4
    second = packing_pb2.PackDatasetRequest()
    for _ in range(500):
        units = chance.randint(1, 9)
        second.chunk.units.append(units)
        second.chunk.llm_tokens.append(256 * units + chance.randint(1, 500))
    return list(call(iter([first, second]), timeout=30))


def one_call(client, chance, number, caller):
    kind = number % 100
    if kind % NEW_EVERY == 0:
        client.call("PlanJob", small_job(1_000_000 * (caller + 1) + number))
    elif kind == 7:
        client.call("ListPlans", planner_service_pb2.ListPlansRequest(page_size=20))
    elif kind == 13:
        upload(client, chance)
    elif kind == 17:
        bad = small_job(1)
        bad.job.cluster.pools[0].gpu_count = -1
        try:
            client.call("PlanJob", bad)
            raise AssertionError("a bad request was taken")
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.INVALID_ARGUMENT:
                raise
    elif kind == 23:
        call = client.method("PlanJob").future(small_job(2_000_000_000 + 1_000_000 * caller + number), timeout=10)
        call.cancel()
    else:
        client.call("PlanJob", small_job(chance.randrange(100)))


def caller_loop(address, index, rate, seconds, results):
    """rate: calls per second of this caller; 0 for as fast as it can."""
    chance = random.Random(index)
    client = Client(address)
    begin = time.monotonic()
    latencies, errors, number = [], [], 0
    while (now := time.monotonic()) - begin < seconds:
        if rate and (wait := begin + number / rate - now) > 0:
            time.sleep(wait)
        number += 1
        if number % RECONNECT_EVERY == 0:
            client.close()
            client = Client(address, options=[("grpc.use_local_subchannel_pool", 1)])
        began = time.monotonic()
        try:
            one_call(client, chance, number, index)
            # Only known plans are timed; the time of the others does not matter.
            if number % 100 % NEW_EVERY and number % 100 not in (7, 13, 17, 23):
                latencies.append((began - begin, time.monotonic() - began))
        except (grpc.RpcError, AssertionError) as error:
            errors.append(str(error)[:200])
    results.put((number, latencies, errors))


def drive(address, callers, rate, seconds, watch=lambda: None):
    processes = multiprocessing.get_context("spawn")  # gRPC does not survive a fork
    results = processes.Queue()
    workers = [processes.Process(target=caller_loop, args=(address, i, rate / callers, seconds, results))
               for i in range(callers)]
    for worker in workers:
        worker.start()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        watch()
        time.sleep(min(5, max(0.1, end - time.monotonic())))
    found = [results.get(timeout=120) for _ in workers]
    for worker in workers:
        worker.join()
    return (sum(f[0] for f in found), [x for f in found for x in f[1]], [e for f in found for e in f[2]])


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


def slope(points):
    """Returns the slope by least squares, per second."""
    n = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--callers", type=int, default=4)
    options = parser.parse_args()
    seconds = options.minutes * 60
    warm = min(300, seconds / 4)
    # The stores are small, so that they are full long before the end, because the file's pages count as resident memory
    # too.
    store = os.path.join("/tmp", f"evenkeel-steady-{os.getpid()}")
    with Server("--cache-bytes", "2000000", "--memo-bytes", "1000000", "--plan-store", store, "--plan-store-bytes",
                "2000000", "--log-level", "warning") as server:
        made, _, errors = drive(server.address, options.callers, 0, min(10, seconds / 6))
        saturation = made / min(10, seconds / 6)
        print(f"saturation: {saturation:.0f} calls/s, {len(errors)} errors", flush=True)
        began = time.monotonic()
        samples = []

        def watch():
            process = f"/proc/{server.process.pid}"
            samples.append((time.monotonic() - began, server.resident_bytes(), len(os.listdir(f"{process}/fd")),
                            len(os.listdir(f"{process}/task"))))
        made, latencies, errors = drive(server.address, options.callers, saturation / 2, seconds, watch)
        defects = server.metric("evenkeel_plans_total", outcome="defect")
        alive = server.alive()
    for suffix in ("", "-lock", "-owner"):
        if os.path.exists(store + suffix):
            os.remove(store + suffix)
    steady = [s for s in samples if s[0] >= warm]
    growth = slope([(s[0], s[1]) for s in steady]) * 600 / (1 << 20)
    sixth = (seconds - warm) / 6
    first = quantile([d for t, d in latencies if warm <= t < warm + sixth], 0.99)
    last = quantile([d for t, d in latencies if t >= seconds - sixth], 0.99)
    columns = (("descriptors", 2), ("threads", 3))
    spread = {name: max(s[i] for s in steady) - min(s[i] for s in steady) for name, i in columns}
    drift = {name: slope([(s[0], s[i]) for s in steady]) * 600 for name, i in columns}
    rows = [("memory growth after warm-up", "< 1 MiB / 10 min", f"{growth:+.2f} MiB / 10 min", growth < 1),
            ("descriptors", "flat", f"{drift['descriptors']:+.2f} / 10 min, spread {spread['descriptors']}",
             abs(drift["descriptors"]) < 1),
            ("threads", "flat", f"{drift['threads']:+.2f} / 10 min, spread {spread['threads']}",
             abs(drift["threads"]) < 1),
            ("calls that failed", "0", f"{len(errors)} of {made}", not errors),
            ("planner defects", "0", f"{defects:.0f}", defects == 0 and alive),
            ("p99 of known plans, last sixth over first", "<= 1.2x", f"{last / first:.2f}x ({last * 1e3:.1f} ms)",
             last <= 1.2 * first)]
    print(f"{options.minutes:g} minutes at {saturation / 2:.0f} calls/s; "
          f"memory {steady[0][1] >> 20} to {steady[-1][1] >> 20} MiB")
    for what, asked, measured, good in rows:
        print(f"| {what} | {asked} | {measured} | {'ok' if good else 'MISSED'} |")
    for error in errors[:5]:
        print("error:", error)
    sys.exit(0 if all(row[3] for row in rows) else 1)


if __name__ == "__main__":
    main()
