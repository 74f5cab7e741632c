"""Tests replicas that share their profiles by a real Redis: nothing acknowledged is lost, and no old state is shown as
new.

EVENKEEL_REDIS_KILLS: how often Redis is killed (default 10).
"""
import os
import random
import tempfile
import threading
import time
import unittest

import grpc
import harness
from evenkeel.v1 import profile_pb2, stage_pb2
from harness import Server, error_details
from redis_server import DURABLE, Redis

KILLS = int(os.environ.get("EVENKEEL_REDIS_KILLS", "10"))
PATIENT_SECONDS = 60


def profile(number, seconds=0.0062):
    """Returns a distinct profile for each number."""
    return profile_pb2.RecordProfileRequest(
        model="internvl-chat-v1.5", gpu_type="a100-sxm-80gb", tensor_parallel=2, note=f"number {number}",
        layer_times=[profile_pb2.LayerTime(layer_kind=stage_pb2.LAYER_KIND_ENCODER, units=9,
                                           forward_seconds=seconds)])


def plan(client, min_revision=0):
    request = harness.job_request()
    request.min_calibration_revision = min_revision
    return client.call("PlanJob", request)


def record(client, request, method="RecordProfile"):
    """Records until it is acknowledged. A retry is safe, and a busy disk may keep Redis from answering in time."""
    end = time.monotonic() + PATIENT_SECONDS
    while True:
        try:
            return client.call(method, request)
        except grpc.RpcError as error:
            if error_details(error)["ErrorInfo"].reason != "STORE_UNAVAILABLE" or time.monotonic() > end:
                raise


def plan_at(client, revision):
    """Waits until the replica knows the revision."""
    end = time.monotonic() + PATIENT_SECONDS
    while True:
        try:
            return plan(client, min_revision=revision)
        except grpc.RpcError as error:
            if error_details(error)["ErrorInfo"].reason != "CALIBRATION_BEHIND" or time.monotonic() > end:
                raise


def is_unconfirmed(answer):
    return answer.HasField("calibration_unconfirmed_seconds")


def failure(call, *arguments, **options):
    """Returns (code, reason, details) of a call that fails."""
    try:
        call(*arguments, **options)
    except grpc.RpcError as error:
        details = error_details(error)
        return error.code(), details["ErrorInfo"].reason, details
    raise AssertionError("the call did not fail")


def notes(client):
    """Returns revision -> note of everything in the history."""
    found, token = {}, ""
    while True:
        page = client.call("ListProfiles", profile_pb2.ListProfilesRequest(
            page_size=1000, page_token=token, include_measurements=True))
        found.update({r.revision: r.profile.note for r in page.revisions})
        token = page.next_page_token
        if not token:
            return found


def eventually(condition):
    end = time.monotonic() + PATIENT_SECONDS
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


class SharedProfilesTest(unittest.TestCase):
    def setUp(self):
        self.redis = Redis(*DURABLE)
        self.addCleanup(self.redis.__exit__)

    def server(self, *arguments):
        server = Server("--profile-store", self.redis.url, *arguments)
        self.addCleanup(server.__exit__)
        return server

    def test_what_one_records_the_other_uses(self):
        a, b = self.server().client(), self.server().client()
        before = plan(b)
        stop, silent, asked = threading.Event(), [], [0]
        acknowledged = [0]

        def ask():
            client_of_b = b
            while not stop.is_set():
                known = acknowledged[0]  # acknowledged before this call begins
                answer = plan(client_of_b)
                asked[0] += 1
                if answer.calibration_revision < known and not is_unconfirmed(answer):
                    silent.append((known, answer.calibration_revision))

        thread = threading.Thread(target=ask)
        thread.start()
        for number in range(8):
            answer = record(a, profile(number, 0.0062 + 0.00001 * number))
            self.assertTrue(answer.durable)
            acknowledged[0], seen = answer.revision, asked[0]
            while asked[0] < seen + 2 and thread.is_alive():  # the second call began after it
                time.sleep(0.001)
        stop.set()
        thread.join()
        self.assertEqual(silent, [])
        self.assertGreaterEqual(asked[0], 16)
        after = plan_at(b, 8)
        self.assertEqual(after.calibration_revision, 8)
        self.assertNotEqual(after.plan_id, before.plan_id)
        self.assertEqual(plan(a).plan_id, after.plan_id)
        record(b, profile_pb2.RollBackProfileRequest(to_revision=0), "RollBackProfile")
        self.assertEqual(plan_at(a, 9).plan_id, before.plan_id)
        self.assertTrue(eventually(lambda: notes(a) == notes(b)))

    def test_both_write_at_once(self):
        clients = [self.server().client(), self.server().client()]
        found = [[], []]

        def write(who):
            for number in range(5):
                found[who].append(record(clients[who], profile(10 * who + number)).revision)

        threads = [threading.Thread(target=write, args=(who,)) for who in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(found[0] + found[1]), list(range(1, 11)))
        self.assertTrue(eventually(lambda: len(notes(clients[0])) == len(notes(clients[1])) == 10))

    def test_without_redis_plans_go_on_and_say_so(self):
        server = self.server()
        client = server.client()
        self.assertEqual(record(client, profile(1)).revision, 1)
        before = plan(client)
        self.redis.kill()
        self.assertTrue(eventually(lambda: is_unconfirmed(plan(client))))
        self.assertEqual(plan(client).plan_id, before.plan_id)
        first = plan(client).calibration_unconfirmed_seconds
        self.assertGreater(plan(client).calibration_unconfirmed_seconds, first)
        code, reason, _ = failure(client.call, "RecordProfile", profile(2))
        self.assertEqual((code, reason), (grpc.StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE"))
        code, reason, details = failure(plan, client, min_revision=2)
        self.assertEqual((code, reason), (grpc.StatusCode.FAILED_PRECONDITION, "CALIBRATION_BEHIND"))
        violation = details["PreconditionFailure"].violations[0]
        self.assertEqual(violation.type, "CALIBRATION")
        self.assertIn("revision 2", violation.description)
        self.assertGreater(server.metric("evenkeel_profile_unconfirmed_seconds"), 0)
        self.assertTrue(client.call("ListProfiles", profile_pb2.ListProfilesRequest())
                        .HasField("calibration_unconfirmed_seconds"))
        self.redis.start()
        self.assertTrue(eventually(lambda: not is_unconfirmed(plan(client))))
        self.assertEqual(record(client, profile(2)).revision, 2)
        polls = server.metric("evenkeel_profile_polls_total", outcome="unreachable")
        self.assertLess(server.log().count("Connection refused"), max(5, polls / 2))  # not with each call

    def test_a_hung_redis_holds_no_plan(self):
        server = self.server()
        client = server.client()
        plan(client)
        self.redis.pause()
        self.assertTrue(eventually(lambda: is_unconfirmed(plan(client))))
        code, reason, _ = failure(client.call, "RecordProfile", profile(1))
        self.assertEqual((code, reason), (grpc.StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE"))
        plan(client)
        self.redis.resume()
        self.assertTrue(eventually(lambda: not is_unconfirmed(plan(client))))
        self.assertTrue(record(client, profile(1)).durable)  # written once, whatever happened to the first attempt
        self.assertEqual(self.redis.do("LLEN", "evenkeel:profiles:1:{}"), "1")

    def test_a_damaged_history_is_never_used(self):
        server = self.server()
        client = server.client()
        self.assertEqual(record(client, profile(1)).revision, 1)
        before = plan(client)
        self.redis.do("RPUSH", "evenkeel:profiles:1:{}", "hello")
        self.assertTrue(eventually(lambda: is_unconfirmed(plan(client))))
        self.assertEqual(plan(client).plan_id, before.plan_id)
        self.assertGreater(server.metric("evenkeel_profile_polls_total", outcome="damaged"), 0)
        self.assertEqual(failure(client.call, "RecordProfile", profile(2))[1], "STORE_UNAVAILABLE")
        self.assertIn("is not a record of evenkeel", server.log("is not a record"))
        refused = harness.run([harness.SERVER, "--listen", f"unix:{self.redis.folder.name}/other.sock",
                               "--metrics-address", "off", "--profile-store", self.redis.url])
        self.assertEqual(refused.returncode, 1)
        self.assertIn("is not a record of evenkeel", refused.stderr)

    def test_kill_9_of_redis_loses_nothing_acknowledged(self):
        server = self.server()
        acknowledged, number, dice = {}, 0, random.Random(1)
        for _ in range(KILLS):
            client, stop = server.client(), threading.Event()

            def kill(pause=dice.uniform(0.05, 0.8), stopped=stop):
                time.sleep(pause)
                self.redis.kill()
                stopped.set()

            killer = threading.Thread(target=kill)
            killer.start()
            while not stop.is_set():
                number += 1
                try:
                    answer = client.call("RecordProfile", profile(number))
                    acknowledged[answer.revision] = f"number {number}"
                except grpc.RpcError as error:
                    self.assertEqual(error_details(error)["ErrorInfo"].reason, "STORE_UNAVAILABLE")
            killer.join()
            self.redis.start()
            self.assertTrue(eventually(lambda: not is_unconfirmed(plan(client))))
            found = notes(client)
            self.assertEqual({r: found.get(r) for r in acknowledged}, acknowledged)
            client.close()
        self.assertGreater(len(acknowledged), KILLS // 2)
        fresh = notes(self.server().client())
        self.assertEqual({r: fresh.get(r) for r in acknowledged}, acknowledged)
        self.assertEqual(sorted(fresh), list(range(1, len(fresh) + 1)))


class RefusalTest(unittest.TestCase):
    def start(self, *arguments):
        return harness.run([harness.SERVER, "--listen", "127.0.0.1:0", "--metrics-address", "off", *arguments])

    def test_a_redis_that_may_forget_is_refused(self):
        with Redis("--appendonly", "yes") as redis:
            refused = self.start("--profile-store", redis.url)
            self.assertEqual(refused.returncode, 1)
            self.assertIn("appendfsync always", refused.stderr)

    def test_a_password_comes_from_a_file_and_is_never_said(self):
        with Redis(*DURABLE, "--requirepass", "s3cret-word") as redis:
            refused = self.start("--profile-store", f"redis://default:wr0ng-word@{redis.address}")
            self.assertEqual(refused.returncode, 1)
            self.assertIn("login failed", refused.stderr)
            self.assertNotIn("wr0ng-word", refused.stderr)
            wrong = self.start("--redis", "redis://default:wr0ng-word@host:none")
            self.assertEqual(wrong.returncode, 2)
            self.assertNotIn("wr0ng-word", wrong.stderr)
            path = os.path.join(redis.folder.name, "password")
            with open(path, "w", encoding="ascii") as file:
                file.write("s3cret-word\n")
            with Server("--redis", redis.address, "--redis-password-file", path, "--profile-store", "redis") as server:
                self.assertTrue(record(server.client(), profile(1)).durable)
                self.assertNotIn("s3cret-word", server.log())
        self.assertIn("is off", self.start("--profile-store", "redis").stderr)

    def test_the_shipped_configuration_is_enough(self):
        folder = tempfile.TemporaryDirectory(prefix="evenkeel-redis-")
        self.addCleanup(folder.cleanup)

        def shipped(name):
            """Returns the shipped file without its folder, which does not exist here."""
            with open(os.path.join(harness.ROOT, "deploy", "redis", name), encoding="utf-8") as file:
                lines = [line for line in file if not line.startswith("dir ")]
            with open(os.path.join(folder.name, name), "w", encoding="utf-8") as file:
                file.writelines(lines)
            return file.name

        with Redis(config=shipped("profiles.conf")) as redis, Redis(config=shipped("plans.conf")) as plans:
            shared = f"redis://evenkeel:replace-me@{redis.address}"
            with Server("--profile-store", shared, "--redis", f"redis://evenkeel:replace-me@{plans.address}") as server:
                client = server.client()
                self.assertTrue(record(client, profile(1)).durable)
                self.assertTrue(eventually(lambda: not is_unconfirmed(plan(client))))
            backup = os.path.join(redis.folder.name, "backup")
            store = os.path.join(harness.BUILD, "bin", "evenkeel-store")
            dumped = harness.run([store, "dump", shared, backup])
            self.assertEqual((dumped.returncode, dumped.stdout), (0, "1 revisions\n"), dumped.stderr)
            path = os.path.join(redis.folder.name, "profiles")
            self.assertEqual(harness.run([store, "load", backup, path]).returncode, 0)
            self.assertEqual(harness.run([store, "check", backup]).stdout, "1 revisions\n")
            refused = harness.run([store, "load", backup, path])
            self.assertEqual(refused.returncode, 1)
            self.assertIn("has a history already", refused.stderr)
            with Server("--profile-store", path) as server:
                self.assertEqual(notes(server.client()), {1: "number 1"})
        self.assertEqual(harness.run([store, "dump"]).returncode, 2)


if __name__ == "__main__":
    unittest.main()
