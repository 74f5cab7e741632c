#!/usr/bin/python3
"""A server with all of it on, under half of what it can take, for a long time: nothing may fail, and memory,
descriptors and threads must stay flat.

steady.py [--minutes 30] [--callers 4] [--share 0.5]

On: mTLS in addition to the unix socket, a policy, files of plans, plans and profiles in a Redis over TLS, spans to an
OTLP receiver, the status page, metrics. Calls: steady_calls.py has the mix, in which every method is called, and every
200th call of a caller is on a new connection. At the same time, a training reports its steps and packs a stream
(steady_trainer.py).

First the rate of saturation is measured for some seconds, then `share` of it is kept. Prints a table, and ends with 1
if a call fails that should not; if the memory of the server or of the training is 2% or more above what it was after
the warm-up (a quarter of the time, 5 minutes at most), or the server's grows by 1 MiB or more in 10 minutes; if the
number of descriptors or threads drifts; or if the p99 of the last sixth is above 1.2 times that of the first sixth
after the warm-up.
"""
import argparse
import contextlib
import json
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

import grpc  # noqa: E402  pylint: disable=wrong-import-position
import harness  # noqa: E402  pylint: disable=wrong-import-position
from certificates import Authority, read  # noqa: E402  pylint: disable=wrong-import-position
from harness import Client, Server  # noqa: E402  pylint: disable=wrong-import-position
from steady_calls import Calls  # noqa: E402  pylint: disable=wrong-import-position
from steady_trainer import Receiver, train  # noqa: E402  pylint: disable=wrong-import-position
from test_redis_tls import TlsRedis  # noqa: E402  pylint: disable=wrong-import-position

RECONNECT_EVERY = 200
PROCESSES = multiprocessing.get_context("spawn")  # gRPC does not survive a fork


class MutualTls:
    """The address at which the server speaks TLS, and its files. `connect` makes a client of it."""

    def __init__(self, authority):
        self.port = harness.free_port()
        self.ca = authority.ca
        self.server = authority.issue("server")
        self.client = authority.issue("client")

    def connect(self, options):
        client = Client.__new__(Client)
        mine = grpc.ssl_channel_credentials(read(self.ca), read(self.client[1]), read(self.client[0]))
        client.channel = grpc.secure_channel(f"127.0.0.1:{self.port}", mine, options=options)
        return client


def caller_loop(address, tls, index, rate, seconds, results):
    """rate: calls per second of this caller; 0 for as fast as it can. Every second caller uses TLS."""
    own = [("grpc.use_local_subchannel_pool", 1)]

    def connect():
        return tls.connect(own) if index % 2 else Client(address, options=own)

    chance = random.Random(index)
    calls = Calls(chance, index)
    client = connect()
    begin = time.monotonic()
    latencies, errors, number = [], [], 0
    while (now := time.monotonic()) - begin < seconds:
        if rate and (wait := begin + number / rate - now) > 0:
            time.sleep(wait)
        number += 1
        if number % RECONNECT_EVERY == 0:
            client.close()
            client = connect()
        began = time.monotonic()
        try:
            calls.one(client, number)
            # Only known plans are timed; the time of the others does not matter.
            if calls.is_known_plan(number):
                latencies.append((began - begin, time.monotonic() - began))
        except Exception as error:  # pylint: disable=broad-exception-caught  # whatever it is, it is counted
            errors.append(f"call {number} of caller {index}: {error}"[:300])
    results.put((number, latencies, errors))


def drive(address, tls, callers, rate, seconds, watch=lambda: None):
    results = PROCESSES.Queue()
    workers = [PROCESSES.Process(target=caller_loop, args=(address, tls, i, rate / callers, seconds, results))
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


def growth_ratio(points, warm, seconds):
    """Returns memory at the end over that after the warm-up, less 1: medians of a twelfth of the time, or 12 s."""
    span = max(12, (seconds - warm) / 12)
    first = statistics.median([y for x, y in points if warm <= x < warm + span])
    return statistics.median([y for x, y in points if x >= points[-1][0] - span]) / first - 1


@contextlib.contextmanager
def everything_on():
    """Starts Redis, a receiver of spans and the server. Yields (server, tls, receiver)."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="evenkeel-steady-"))
        authority = Authority()
        tls = MutualTls(authority)
        redis = stack.enter_context(TlsRedis(authority, *authority.issue("redis")))
        receiver = Receiver()
        stack.callback(receiver.close)
        policy = os.path.join(folder, "policy.json")
        with open(policy, "w", encoding="utf-8") as file:
            json.dump({"version": 1, "rules": [{"principals": ["any"], "tenant": "soak", "roles": ["admin"]}]}, file)
        planner = authority.issue("planner")
        # The stores are small, so that they are full long before the end, because the file's pages count as resident
        # memory too. The look-up's budget is generous, because the machine may be busy.
        flags = {"cache-bytes": 2_000_000, "memo-bytes": 1_000_000, "dataset-bytes": 1_000_000,
                 "plan-store": os.path.join(folder, "plans"), "plan-store-bytes": 2_000_000,
                 "redis": redis.url, "profile-store": redis.url, "redis-timeout": 1,
                 "redis-tls-ca": authority.ca, "redis-tls-cert": planner[0], "redis-tls-key": planner[1],
                 "tls-cert": tls.server[0], "tls-key": tls.server[1], "tls-client-ca": tls.ca,
                 "auth-policy": policy, "otlp-endpoint": receiver.url, "log-level": "warning",
                 "admin-address": f"127.0.0.1:{harness.free_port()}"}
        words = [word for name, value in flags.items() for word in (f"--{name}", str(value))]
        sampled = {"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.1"}
        server = stack.enter_context(Server(*words, listen=[f"127.0.0.1:{tls.port}"], environment=sampled))
        server.admin = flags["admin-address"]
        yield server, tls, receiver


class Watch:
    """The figures that are read from the server every 5 seconds; metrics and status page are read on the way."""

    def __init__(self, server):
        self.server = server
        self.began = time.monotonic()
        self.samples = []

    def __call__(self):
        process = f"/proc/{self.server.process.pid}"
        self.server.metrics_text()
        with urllib.request.urlopen(f"http://{self.server.admin}/statusz", timeout=10) as reply:
            reply.read()
        self.samples.append((time.monotonic() - self.began, self.server.resident_bytes(),
                             len(os.listdir(f"{process}/fd")), len(os.listdir(f"{process}/task"))))


def table(samples, warm, seconds, latencies):
    """Returns the rows (what, asked, measured, good) about the server's processes."""
    steady = [s for s in samples if s[0] >= warm]
    growth = slope([(s[0], s[1]) for s in steady]) * 600 / (1 << 20)
    ratio = growth_ratio([(s[0], s[1]) for s in samples], warm, seconds)
    sixth = (seconds - warm) / 6
    first = quantile([d for t, d in latencies if warm <= t < warm + sixth], 0.99)
    last = quantile([d for t, d in latencies if t >= seconds - sixth], 0.99)
    rows = [("memory after the warm-up", "< +2%", f"{ratio:+.2%}", ratio < 0.02),
            ("the same, slope", "< 1 MiB / 10 min", f"{growth:+.2f} MiB / 10 min", growth < 1)]
    for name, column in (("descriptors", 2), ("threads", 3)):
        drift = slope([(s[0], s[column]) for s in steady]) * 600
        spread = max(s[column] for s in steady) - min(s[column] for s in steady)
        rows.append((name, "flat", f"{drift:+.2f} / 10 min, spread {spread}", abs(drift) < 1))
    rows.append(("p99 of known plans, last sixth over first", "<= 1.2x", f"{last / first:.2f}x ({last * 1e3:.1f} ms)",
                 last <= 1.2 * first))
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--callers", type=int, default=4)
    parser.add_argument("--share", type=float, default=0.5, help="of the rate of saturation")
    options = parser.parse_args()
    seconds = options.minutes * 60
    warm = min(300, seconds / 4)
    with everything_on() as (server, tls, receiver):
        made, _, errors = drive(server.address, tls, options.callers, 0, min(10, seconds / 6))
        rate = options.share * made / min(10, seconds / 6)
        print(f"saturation: {rate / options.share:.0f} calls/s, {len(errors)} errors", *errors[:3], sep="\n",
              flush=True)
        results = PROCESSES.Queue()
        trainer = PROCESSES.Process(target=train, args=(server.address, seconds, results))
        trainer.start()
        watch = Watch(server)
        made, latencies, later = drive(server.address, tls, options.callers, rate, seconds, watch)
        errors += later
        packed, windows, faults, memory = results.get(timeout=120)
        trainer.join()
        counts = {name: server.metric(f"evenkeel_{name}", **labels) for name, labels in (
            ("plans_total", {"outcome": "defect"}), ("spans_total", {"outcome": "dropped"}),
            ("redis_writes_total", {"outcome": "written"}), ("profile_store_errors_total", {}))}
        alive = server.alive()
    samples = watch.samples
    grown = growth_ratio(memory, warm, seconds)
    rows = [("calls that failed", "0", f"{len(errors)} of {made}", not errors),
            ("planner defects", "0", f"{counts['plans_total']:.0f}", counts["plans_total"] == 0 and alive),
            ("failed writes of profiles", "0", f"{counts['profile_store_errors_total']:.0f}",
             counts["profile_store_errors_total"] == 0),
            ("spans dropped; messages that the receiver got", "0; some",
             f"{counts['spans_total']:.0f}; {receiver.messages}", counts["spans_total"] == 0 < receiver.messages),
            ("plans written to Redis", "some", f"{counts['redis_writes_total']:.0f}", counts["redis_writes_total"] > 0),
            ("the training: windows, samples packed, faults", "0 faults",
             f"{windows}, {packed}, {len(faults)}", windows > 0 and not faults),
            ("memory of the training after the warm-up", "< +2%", f"{grown:+.2%}", grown < 0.02),
            *table(samples, warm, seconds, latencies)]
    course = [statistics.median([s[1] for s in samples[i:i + max(1, len(samples) // 12)]]) / (1 << 20)
              for i in range(0, len(samples), max(1, len(samples) // 12))]
    print(f"{options.minutes:g} minutes at {rate:.0f} calls/s; MiB over the time:", *(f"{m:.1f}" for m in course))
    for what, asked, measured, good in rows:
        print(f"| {what} | {asked} | {measured} | {'ok' if good else 'MISSED'} |")
    for error in errors[:5] + faults[:5]:
        print("error:", error)
    sys.exit(0 if all(row[3] for row in rows) else 1)


if __name__ == "__main__":
    main()
