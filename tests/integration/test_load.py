"""Tests load: no call in flight is lost, refused work says when to come back, abandoned work stops, and known plans
stay quick. Times are compared within the test, never with a constant of another machine."""
import os
import signal
import statistics
import threading
import time
import unittest

import grpc
import harness
from harness import Server, error_details, health_pb2, wait_for

RUNS_ALONE = True  # compares times

GPUS = 27720  # many divisors, and thus a long search
OK = grpc.StatusCode.OK


def slow_request(seed):
    """Returns a job that takes most of a second. No two seeds share a plan."""
    request = harness.planner_service_pb2.PlanJobRequest()
    request.job.model.name = "internvit-6b-448px-v1.5+qwen1.5-110b"
    request.job.cluster.pools.add(gpu_type="a100-sxm-80gb", gpu_count=GPUS, gpus_per_node=8)
    request.job.training.global_batch_samples = 10_000_000
    request.job.training.seed = seed
    return request


def short_request(seed):
    return harness.job_request(os.path.join(os.path.dirname(harness.JOB), "llama3-8b-text.json"), seed=seed)


def start_calls(client, count, first_seed=1, timeout=120):
    method = client.method("PlanJob")
    return [method.future(slow_request(first_seed + i), timeout=timeout) for i in range(count)]


def code_of(call):
    error = call.exception()
    return OK if error is None else error.code()


def wait_until_started(server, count):
    wait_for(lambda: server.metric("grpc_server_started_total", grpc_method="PlanJob") >= count)


class DrainTest(unittest.TestCase):
    def test_many_calls_and_an_open_watch_at_sigterm(self):
        with Server("--queue-length", "60", "--drain-timeout", "120") as server:
            client = server.client()
            watch = client.channel.unary_stream(
                "/grpc.health.v1.Health/Watch", request_serializer=lambda m: m.SerializeToString(),
                response_deserializer=health_pb2.HealthCheckResponse.FromString)(health_pb2.HealthCheckRequest())
            self.assertEqual(next(watch).status, health_pb2.HealthCheckResponse.SERVING)
            method = client.method("PlanJob")
            calls = [method.future(short_request(9000 + i), timeout=120) for i in range(50)]
            wait_until_started(server, len(calls))
            server.terminate()
            self.assertEqual([code_of(call) for call in calls], [OK] * len(calls))
            self.assertEqual(server.wait(), 0)
            self.assertIn('"calls_cut_off":0', server.log())

    def test_new_work_is_refused_while_draining(self):
        with Server("--workers", "1") as server:
            client = server.client()
            known = harness.job_request()
            client.call("PlanJob", known)
            calls = start_calls(client, 6)
            wait_until_started(server, 7)
            server.terminate()
            server.log('"msg":"draining"')  # health reports it before new work is refused
            self.assertEqual(client.health(), health_pb2.HealthCheckResponse.NOT_SERVING)
            with self.assertRaises(grpc.RpcError) as caught:
                client.call("PlanJob", slow_request(500))
            self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAVAILABLE)
            self.assertEqual(error_details(caught.exception)["ErrorInfo"].reason, "SHUTTING_DOWN")
            self.assertTrue(client.call("PlanJob", known).plan_id)
            self.assertEqual([code_of(call) for call in calls], [OK] * 6)
            self.assertEqual(server.wait(), 0)

    def test_second_signal_ends_at_once(self):
        with Server("--workers", "1") as server:
            client = server.client()
            calls = start_calls(client, 30)
            wait_until_started(server, len(calls))
            server.terminate()
            wait_for(lambda: client.health() == health_pb2.HealthCheckResponse.NOT_SERVING)
            began = time.monotonic()
            server.terminate(signal.SIGINT)
            self.assertEqual(server.wait(), 128 + signal.SIGINT)
            self.assertLess(time.monotonic() - began, 1)
            self.assertTrue(any(code_of(call) == grpc.StatusCode.UNAVAILABLE for call in calls))

    def test_drain_timeout_cuts_off_what_is_left(self):
        with Server("--workers", "1", "--drain-timeout", "0.5") as server:
            calls = start_calls(server.client(), 40)
            wait_until_started(server, len(calls))
            began = time.monotonic()
            server.terminate()
            self.assertEqual(server.wait(), 0)
            self.assertLess(time.monotonic() - began, 4)
            codes = [code_of(call) for call in calls]
            self.assertLessEqual(set(codes), {OK, grpc.StatusCode.UNAVAILABLE})
            self.assertIn(grpc.StatusCode.UNAVAILABLE, codes)
            self.assertRegex(server.log(), r'"msg":"stopped","calls_cut_off":[1-9]')


class AbandonedWorkTest(unittest.TestCase):
    """The search stops soon after nobody wants its plan, long before it would have ended."""

    def setUp(self):
        self.server = Server("--workers", "1")
        self.addCleanup(self.server.__exit__)
        self.client = self.server.client()
        self.whole = []
        for seed in range(3):
            began = time.monotonic()
            self.client.call("PlanJob", slow_request(seed))
            self.whole.append(time.monotonic() - began)

    def stopped(self):
        return self.server.metric("evenkeel_plans_total", outcome="stopped")

    def begin(self, seed, timeout):
        before = self.server.metric("evenkeel_queue_wait_seconds_count")
        call = self.client.method("PlanJob").future(slow_request(seed), timeout=timeout)
        return call, lambda: self.server.metric("evenkeel_queue_wait_seconds_count") > before

    def test_cancelled(self):
        seconds = []
        for seed in range(100, 105):
            before = self.stopped()
            call, has_begun = self.begin(seed, timeout=60)
            wait_for(has_begun)
            call.cancel()
            seconds.append(wait_for(lambda count=before: self.stopped() > count))
        print(f"\n  whole search {statistics.median(self.whole):.3f} s; "
              f"worker free {statistics.median(seconds) * 1e3:.0f} ms after the cancellation")
        self.assertLess(statistics.median(seconds), statistics.median(self.whole) / 2)
        self.client.call("PlanJob", harness.job_request(seed=5))

    def test_expired(self):
        for seed in range(200, 203):
            before = self.stopped()
            began = time.monotonic()
            with self.assertRaises(grpc.RpcError) as caught:
                self.client.call("PlanJob", slow_request(seed), timeout=min(self.whole) / 4)
            self.assertEqual(caught.exception.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
            wait_for(lambda count=before: self.stopped() > count)
            self.assertLess(time.monotonic() - began, max(self.whole))
        self.client.call("PlanJob", harness.job_request(seed=6))

    def test_queued_call_that_is_cancelled_is_never_computed(self):
        running, has_begun = self.begin(300, timeout=120)
        wait_for(has_begun)
        queued = start_calls(self.client, 10, first_seed=301)
        wait_until_started(self.server, 14)
        for call in queued:
            call.cancel()
        self.assertEqual(code_of(running), OK)
        wait_for(lambda: self.server.metric("evenkeel_inflight") == 0)
        self.assertEqual(self.server.metric("evenkeel_queue_depth"), 0)
        self.assertEqual(self.server.metric("evenkeel_plans_total"), 4)


class OverloadTest(unittest.TestCase):
    def run_clients(self, server, clients, seconds, first_seed):
        """Returns (plans per second, refusals, retry delays in seconds)."""
        plans, delays = [], []
        began = time.monotonic()
        end = began + seconds

        def work(number):
            client = server.client()
            seed = first_seed + 100_000 * number
            while time.monotonic() < end:
                seed += 1
                try:
                    client.call("PlanJob", short_request(seed))
                    plans.append(seed)
                except grpc.RpcError as error:
                    self.assertEqual(error.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)
                    details = error_details(error)
                    self.assertEqual(details["ErrorInfo"].reason, "QUEUE_FULL")
                    delay = details["RetryInfo"].retry_delay
                    delays.append(delay.seconds + delay.nanos / 1e9)
                    time.sleep(delays[-1])
        threads = [threading.Thread(target=work, args=(i,)) for i in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return len(plans) / (time.monotonic() - began), delays

    def test_refusals_say_when_to_retry_and_goodput_stays(self):
        with Server("--workers", "1", "--queue-length", "4") as server:
            normal, refusals = self.run_clients(server, 4, 1.5, 1)
            self.assertEqual(refusals, [])
            overload, delays = self.run_clients(server, 20, 3, 50_000)
            print(f"\n  goodput {normal:.0f}/s with 4 clients, {overload:.0f}/s with 20; {len(delays)} refusals, "
                  f"retry delay {min(delays, default=0):.2f} to {max(delays, default=0):.2f} s")
            self.assertGreater(len(delays), 0)
            self.assertGreaterEqual(min(delays), 0.1)
            self.assertLessEqual(max(delays), 10)
            self.assertGreater(overload, 0.6 * normal)
            self.assertEqual(server.metric("evenkeel_shed_total", reason="queue_full"), len(delays))

    def test_known_plans_stay_quick_while_workers_are_busy(self):
        with Server("--workers", "1") as server:
            client = server.client()
            method = client.method("PlanJob")
            known = harness.job_request()
            method(known)

            def median_seconds(count, go_on=lambda: True):
                seconds = []
                while len(seconds) < count and go_on():
                    began = time.monotonic()
                    method(known)
                    seconds.append(time.monotonic() - began)
                return statistics.median(seconds), len(seconds)
            idle, _ = median_seconds(300)
            calls = start_calls(server.client(options=[("grpc.use_local_subchannel_pool", 1)]), 20)
            wait_until_started(server, 321)
            busy, count = median_seconds(300, lambda: not calls[-1].done())
            for call in calls:
                call.cancel()
            print(f"\n  known plan: median {idle * 1e6:.0f} us idle, {busy * 1e6:.0f} us with the worker busy "
                  f"({busy / idle:.2f}x, {count} calls)")
            self.assertGreater(count, 50)
            self.assertLess(busy, 8 * idle)


if __name__ == "__main__":
    unittest.main()
