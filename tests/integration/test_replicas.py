"""Tests two replicas behind round_robin with the shipped service config: shared plans, restarts, upgrades under load.

EVENKEEL_REPLICA_CALLS: calls during a rolling restart or upgrade (1500; tests/soak/run.sh makes 10000).
"""
import os
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

import grpc
import harness
from harness import Client, Server, error_details, planner_service_pb2
from evenkeel.v1 import job_pb2, packing_pb2
from test_pack import dataset, pack
from test_plan_store import FROM, plan, small_job

CALLS = int(os.environ.get("EVENKEEL_REPLICA_CALLS", "1500"))
NEXT = os.path.join(harness.BUILD, "tests", "evenkeel-server-next")


class Redis:
    """A real redis-server on a separate port."""

    def __init__(self, *arguments):
        self.port = harness.free_port()
        self.folder = tempfile.TemporaryDirectory(prefix="evenkeel-redis-")
        self.command = [os.path.join(harness.TOOLS, "redis-server"), "--port", str(self.port), "--bind", "127.0.0.1",
                        "--dir", self.folder.name, "--save", "", *arguments]
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        while "PONG" not in self.cli("ping"):
            assert time.monotonic() < deadline, "redis-server does not answer"
            time.sleep(0.01)

    def cli(self, *arguments):
        return harness.run([shutil.which("redis-cli"), "-p", str(self.port), *arguments]).stdout

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()


class Replicas(unittest.TestCase):
    def setUp(self):
        self.redis = Redis()
        self.addCleanup(self.redis.stop)
        self.ports = [harness.free_port(), harness.free_port()]
        self.servers = [self.replica(port) for port in self.ports]
        self.addCleanup(lambda: [server.__exit__() for server in self.servers])

    def replica(self, port, program=None):
        # The delay gives clients time to see NOT_SERVING, as in the example for Kubernetes of docs/OPERATING.md.
        return Server("--redis", self.redis.address, "--drain-delay", "1", listen=[f"127.0.0.1:{port}"],
                      program=program)

    def fleet(self):
        """Makes a client of all replicas, like a scheduler."""
        with open(os.path.join(harness.ROOT, "deploy/grpc/service-config.json"), encoding="utf-8") as file:
            config = file.read()
        target = "ipv4:" + ",".join(f"127.0.0.1:{port}" for port in self.ports)
        # A replica that comes back is tried again at once, not after gRPC's default of a second or more.
        return Client(target, options=[("grpc.service_config", config), ("grpc.enable_retries", 1),
                                       ("grpc.initial_reconnect_backoff_ms", 100),
                                       ("grpc.max_reconnect_backoff_ms", 500)])

    def roll(self, program=None):
        """Replaces the replicas one after the other."""
        for i, port in enumerate(self.ports):
            self.servers[i].terminate()
            self.assertEqual(self.servers[i].wait(), 0)
            self.servers[i].__exit__()
            self.servers[i] = self.replica(port, program)
            time.sleep(2)  # time for clients to connect again, as minReadySeconds of a Deployment gives

    def wait_for_key(self, part):
        deadline = time.monotonic() + 10
        while not (keys := [key for key in self.redis.cli("keys", "*").split() if part in key]):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        return keys[0]

    @staticmethod
    def patient(call):
        """Asks again after UNAVAILABLE, because a look-up in Redis may exceed its budget on a busy machine."""
        deadline = time.monotonic() + 10
        while True:
            try:
                return call()
            except grpc.RpcError as error:
                if error.code() != grpc.StatusCode.UNAVAILABLE or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def find(self, server, plan_id):
        client = server.client()
        return self.patient(
            lambda: client.call("GetPlan", planner_service_pb2.GetPlanRequest(plan_id=plan_id)).plan)


class SharedTierTest(Replicas):
    def test_a_plan_of_one_replica_is_found_by_the_other(self):
        one, two = (server.client() for server in self.servers)
        first = plan(one, harness.job_request())
        self.wait_for_key("plan-")
        again = plan(two, harness.job_request())
        self.assertEqual(again.served_from, FROM("SERVED_FROM_SHARED"))
        self.assertEqual(again.plan, first.plan)
        found = two.call("GetPlan", planner_service_pb2.GetPlanRequest(plan_id=first.plan_id))
        self.assertEqual(found.plan, first.plan)
        self.assertEqual(self.servers[1].metric("evenkeel_plans_total"), 0)

    def test_spoiled_values_are_never_served(self):
        one, two = (server.client() for server in self.servers)
        first = plan(one, small_job(1))
        self.redis.cli("setrange", self.wait_for_key("plan-"), "100", "spoiled")
        answer = plan(two, small_job(1))
        self.assertEqual(answer.served_from, FROM("SERVED_FROM_PLANNER"))
        self.assertEqual(answer.plan, first.plan)
        self.assertEqual(self.servers[1].metric("evenkeel_cache_errors_total", tier="shared"), 1)

    @staticmethod
    def job_of(dataset_ref):
        request = harness.job_request()
        request.job.dataset.CopyFrom(job_pb2.Dataset(dataset_ref=dataset_ref))
        return request

    def test_an_upload_to_one_replica_is_found_by_the_other(self):
        one, two = (server.client() for server in self.servers)
        units, tokens = dataset(3000)
        summary = pack(one, units, tokens, keep_histogram=True,
                       result=packing_pb2.PACK_DATASET_RESULT_SUMMARY).summary
        request = self.job_of(summary.dataset_ref)
        answer = self.patient(lambda: plan(two, request))
        self.assertEqual(answer.plan.subject.sample_count, 3000)
        self.assertEqual(plan(one, request).plan_id, answer.plan_id)
        # A plan of the caller's is treated in the same way, at a replica that has forgotten it.
        self.servers[1].terminate()
        self.assertEqual(self.servers[1].wait(), 0)
        self.servers[1].__exit__()
        self.servers[1] = self.replica(self.ports[1])
        evaluate = planner_service_pb2.EvaluatePlanRequest(job=request.job, plan=answer.plan)
        evaluated = self.patient(lambda: self.servers[1].client().call("EvaluatePlan", evaluate, timeout=30))
        self.assertAlmostEqual(evaluated.slower_by_ratio, 0)

    def test_what_a_silent_redis_may_have_is_not_called_missing(self):
        _, two = (server.client() for server in self.servers)
        unknown = planner_service_pb2.GetPlanRequest(plan_id="plan-" + "0" * 32)
        lost = self.job_of("ds-" + "0" * 32)
        for call, reason in ((lambda: two.call("GetPlan", unknown), "PLAN_NOT_FOUND"),
                             (lambda: plan(two, lost), "DATASET_NOT_FOUND")):
            with self.assertRaises(grpc.RpcError) as caught:
                self.patient(call)
            self.assertEqual(error_details(caught.exception)["ErrorInfo"].reason, reason)
            self.redis.process.send_signal(signal.SIGSTOP)
            try:
                with self.assertRaises(grpc.RpcError) as caught:
                    call()
            finally:
                self.redis.process.send_signal(signal.SIGCONT)
            self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAVAILABLE)
            self.assertEqual(error_details(caught.exception)["ErrorInfo"].reason, "STORE_UNAVAILABLE")


class RollingTest(Replicas):
    def call_while(self, work):
        """Makes calls from four threads until `work` is done and CALLS are made. Returns the errors."""
        errors, made, done = [], [0], threading.Event()
        lock = threading.Lock()
        fleet = self.fleet()

        def caller(seed):
            chance = random.Random(seed)
            while not done.is_set() or made[0] < CALLS:
                try:
                    answer = plan(fleet, small_job(chance.randrange(200)), timeout=30)
                    assert answer.plan.plan_id == answer.plan_id
                except grpc.RpcError as error:
                    with lock:
                        errors.append(f"{error.code()}: {error.details()}")
                with lock:
                    made[0] += 1
                time.sleep(0.001)
        callers = [threading.Thread(target=caller, args=(seed,)) for seed in range(4)]
        for one in callers:
            one.start()
        try:
            work()
        finally:
            done.set()
            for one in callers:
                one.join()
        print(f" ({made[0]} calls, {len(errors)} errors)", end=" ")
        return errors

    def test_rolling_restart(self):
        self.assertEqual(self.call_while(self.roll), [])

    def test_rolling_upgrade_and_back(self):
        before = plan(self.fleet(), harness.job_request())
        during = []

        def upgrade():
            self.roll(NEXT)
            during.append(plan(self.servers[0].client(), harness.job_request()))
            # A running job reads its plan by the id that the older release gave it.
            self.assertEqual(self.find(self.servers[0], before.plan_id), before.plan)
            self.roll()
        self.assertEqual(self.call_while(upgrade), [])
        self.assertNotEqual(during[0].plan_id, before.plan_id)
        self.assertNotEqual(during[0].plan.provenance.planner_version, before.plan.provenance.planner_version)
        for server in self.servers:
            self.assertEqual(self.find(server, during[0].plan_id), during[0].plan)


if __name__ == "__main__":
    unittest.main()
