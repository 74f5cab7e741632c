"""Tests the file of plans: with restarts, kills, full disks, a damaged file, and limits on the age.

EVENKEEL_KILLS: how often the server is killed while it writes (10; tests/soak/run.sh does it 200 times).
"""
import os
import random
import signal
import tempfile
import threading
import time
import unittest

import grpc
import harness
from harness import Server, planner_service_pb2

KILLS = int(os.environ.get("EVENKEEL_KILLS", "10"))
FROM = planner_service_pb2.ServedFrom.Value


def small_job(number):
    """Returns a job that is planned in about a millisecond. Each number gives another plan."""
    request = planner_service_pb2.PlanJobRequest()
    request.job.model.name = "llama3-8b"
    request.job.cluster.pools.add(gpu_type="h100-sxm-80gb", gpu_count=8)
    request.job.constraints.tensor_parallel.min = 8
    request.job.training.epochs = 1 + number % 1000
    request.job.training.seed = number // 1000
    return request


def plan(client, request, **options):
    return client.call("PlanJob", request, **options)


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="evenkeel-plans-")
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "plans")

    def server(self, *arguments, **options):
        return Server("--plan-store", self.path, *arguments, **options)


class StoreTest(Folder):
    def test_plans_outlive_a_restart_and_are_listed(self):
        with self.server() as server:
            first = plan(server.client(), harness.job_request())
            self.assertEqual(first.served_from, FROM("SERVED_FROM_PLANNER"))
        with self.server() as server:
            client = server.client()
            again = plan(client, harness.job_request())
            self.assertEqual(again.plan, first.plan)
            self.assertIn(again.served_from, (FROM("SERVED_FROM_MEMORY"), FROM("SERVED_FROM_STORE")))
            listed = client.call("ListPlans", planner_service_pb2.ListPlansRequest()).plans
            self.assertEqual([p.plan_id for p in listed], [first.plan_id])
            self.assertEqual(server.metric("evenkeel_plans_total"), 0)

    def test_a_plan_beyond_memory_comes_from_the_file(self):
        with self.server("--cache-bytes", "0", "--memo-bytes", "0") as server:
            client = server.client()
            first = plan(client, harness.job_request())
            deadline = time.monotonic() + 10
            while server.metric("evenkeel_cache_entries", tier="store") < 1:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            again = plan(client, harness.job_request())
            self.assertEqual(again.served_from, FROM("SERVED_FROM_STORE"))
            self.assertEqual(again.plan, first.plan)
            found = client.call("GetPlan", planner_service_pb2.GetPlanRequest(plan_id=first.plan_id))
            self.assertEqual(found.served_from, FROM("SERVED_FROM_STORE"))
            self.assertEqual(found.plan, first.plan)

    def test_age_and_no_cache(self):
        with self.server() as server:
            client = server.client()
            request = harness.job_request()
            plan(client, request)
            made = client.call("ListPlans", planner_service_pb2.ListPlansRequest()).plans[0].create_time
            request.no_cache = True
            for _ in range(2):
                anew = plan(client, request)
                self.assertEqual(anew.served_from, FROM("SERVED_FROM_PLANNER"))
            listed = client.call("ListPlans", planner_service_pb2.ListPlansRequest()).plans
            self.assertEqual(len(listed), 1)
            self.assertGreater(listed[0].create_time.ToNanoseconds(), made.ToNanoseconds())
            request.no_cache = False
            request.max_age_seconds = 3600
            self.assertEqual(plan(client, request).served_from, FROM("SERVED_FROM_MEMORY"))
            time.sleep(0.05)
            request.max_age_seconds = 0.04
            self.assertEqual(plan(client, request).served_from, FROM("SERVED_FROM_PLANNER"))
            request.max_age_seconds = -1
            with self.assertRaises(grpc.RpcError) as caught:
                plan(client, request)
            self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)

    def test_a_second_server_on_the_file_goes_on_without_it(self):
        with self.server() as server, self.server() as second:
            self.assertEqual(second.metric("evenkeel_cache_tier_ok", tier="store"), 0)
            self.assertEqual(server.metric("evenkeel_cache_tier_ok", tier="store"), 1)
            self.assertEqual(plan(second.client(), harness.job_request()).served_from, FROM("SERVED_FROM_PLANNER"))
            self.assertIn("another process has it open", second.log("has it open"))

    def test_a_file_that_is_none_and_a_folder_that_is_not_there(self):
        with open(self.path, "wb") as file:
            file.write(os.urandom(100_000))
        for path in (self.path, self.path + "/no/folder"):
            with Server("--plan-store", path) as server:
                self.assertEqual(plan(server.client(), harness.job_request()).served_from, FROM("SERVED_FROM_PLANNER"))
                self.assertEqual(server.metric("evenkeel_cache_tier_ok", tier="store"), 0)

    def test_a_file_cut_short_under_the_server(self):
        with self.server("--cache-bytes", "0", "--memo-bytes", "0") as server:
            client = server.client()
            for number in range(50):
                plan(client, small_job(number))
            deadline = time.monotonic() + 10
            while server.metric("evenkeel_cache_entries", tier="store") < 50:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            os.truncate(self.path, 9000)
            for number in range(60):
                self.assertEqual(plan(client, small_job(number)).plan.plan_id[:5], "plan-")
            while server.metric("evenkeel_cache_set_aside_total", tier="store") < 1:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            self.assertEqual(os.path.getsize(self.path + ".damaged-1"), 9000)
            self.assertIn(f"set aside as {self.path}.damaged-1", server.log("set aside"))
            entries = server.metric("evenkeel_cache_entries", tier="store")
            plan(client, small_job(61))
            while server.metric("evenkeel_cache_entries", tier="store") <= entries:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            self.assertEqual(server.metric("evenkeel_cache_tier_ok", tier="store"), 1)
            self.assertTrue(server.alive())

    def test_a_damaged_file_is_set_aside_at_the_start(self):
        with self.server() as server:
            for number in range(50):
                plan(server.client(), small_job(number))
        with open(self.path, "r+b") as file:
            file.seek(os.path.getsize(self.path) // 2)
            byte = file.read(1)
            file.seek(-1, 1)
            file.write(bytes([byte[0] ^ 4]))
        with self.server() as server:
            self.assertEqual(server.metric("evenkeel_cache_set_aside_total", tier="store"), 1)
            self.assertEqual(server.metric("evenkeel_cache_tier_ok", tier="store"), 1)
            self.assertTrue(os.path.exists(self.path + ".damaged-1"))
            self.assertEqual(plan(server.client(), small_job(3)).served_from, FROM("SERVED_FROM_PLANNER"))


class FullDiskTest(Folder):
    """Tests real faults of system calls, injected by libfiu."""

    def faulty(self, *rules):
        environment = {"LD_PRELOAD": harness.libfiu(), "FIU_ENABLE": "\n".join(rules)}
        return self.server(environment=environment)

    def test_writes_that_fail_cost_no_request(self):
        faults = 0
        for call in ("posix/io/rw/pwrite", "posix/io/rw/pwritev", "posix/io/sync/fdatasync"):
            rule = f"enable_random name={call},failinfo=28,probability=0.5"
            with self.subTest(call=call), self.faulty(rule) as server:
                client = server.client()
                for number in range(40):
                    answer = plan(client, small_job(number))
                    self.assertTrue(answer.plan.plan_id)
                self.assertTrue(server.alive())
                faults += server.metric("evenkeel_cache_errors_total", tier="store")
        self.assertGreater(faults, 0)
        with self.server() as server:  # what was kept is complete
            client = server.client()
            for number in range(40):
                again = plan(client, small_job(number))
                self.assertTrue(again.plan.plan_id)


class KillTest(Folder):
    def fill(self, server, first, acknowledged):
        """Asks for plans until the server is gone."""
        client = server.client()
        number = first
        try:
            while True:
                answer = plan(client, small_job(number), timeout=20)
                acknowledged[number] = answer.plan.SerializeToString(deterministic=True)
                number += 1
        except grpc.RpcError:
            pass

    def test_kills_while_it_writes(self):
        chance = random.Random(19)
        acknowledged, committed = {}, 0
        for kill in range(KILLS):
            with self.server("--cache-bytes", "0", "--memo-bytes", "0") as server:
                filler = threading.Thread(target=self.fill, args=(server, len(acknowledged), acknowledged))
                filler.start()
                time.sleep(chance.uniform(0.02, 0.4))
                try:
                    committed = max(committed, int(server.metric("evenkeel_cache_entries", tier="store")))
                except OSError:
                    pass
                server.terminate(signal.SIGKILL)
                server.wait()
                filler.join()
        with self.server("--cache-bytes", "0", "--memo-bytes", "0") as server:
            client = server.client()
            self.assertEqual(server.metric("evenkeel_cache_tier_ok", tier="store"), 1)
            entries = server.metric("evenkeel_cache_entries", tier="store")
            self.assertGreaterEqual(entries, committed)
            hits = 0
            for number, expected in acknowledged.items():
                answer = plan(client, small_job(number))
                self.assertEqual(answer.plan.SerializeToString(deterministic=True), expected)
                hits += answer.served_from == FROM("SERVED_FROM_STORE")
            self.assertEqual(server.metric("evenkeel_cache_errors_total", tier="store"), 0)
        # Everything that was committed is a hit. What was acknowledged but not yet on disk is planned again.
        self.assertGreaterEqual(hits, min(entries, len(acknowledged)))
        print(f" ({KILLS} kills, {len(acknowledged)} plans, {int(entries)} on disk, {hits} hits)", end=" ")
        self.assertGreaterEqual(hits, 0.95 * committed)


if __name__ == "__main__":
    unittest.main()
