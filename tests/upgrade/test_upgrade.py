"""Tests an earlier version together with this one.

tests/upgrade/run.sh builds it and sets EVENKEEL_EARLIER to its folder.
"""
import json
import os
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "integration"))

import harness  # noqa: E402  pylint: disable=wrong-import-position
from harness import CTL, Server, run  # noqa: E402  pylint: disable=wrong-import-position

EARLIER = os.environ["EVENKEEL_EARLIER"]
EARLIER_SERVER = os.path.join(EARLIER, "build", "bin", "evenkeel-server")
EARLIER_CTL = os.path.join(EARLIER, "build", "bin", "evenkeelctl")
EXAMPLES = os.path.join(EARLIER, "deploy", "examples")
JOBS = sorted(name for name in os.listdir(EXAMPLES)
              if name.endswith(".json") and not name.endswith(".histogram.json"))
# Time of one layer as a user may have measured it.
PROFILE = {"model": "internvl-chat-v1.5", "gpu_type": "a100-sxm-80gb", "tensor_parallel": 2, "note": "measured before",
           "layer_times": [{"layer_kind": "LAYER_KIND_ENCODER", "units": "9", "forward_seconds": 0.0062}]}
FITS_OR_NOT = (0, 1)  # exit statuses


def job(name):
    return os.path.join(EXAMPLES, name)


class UpgradeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="evenkeel-upgrade-")
        self.addCleanup(folder.cleanup)
        self.stores = ["--plan-store", os.path.join(folder.name, "plans"),
                       "--profile-store", os.path.join(folder.name, "profiles")]

    def server(self, program=None):
        return Server(*self.stores, program=program)

    def ask(self, program, server, *arguments, text=None, statuses=(0,)):
        """Runs an evenkeelctl on a server. Returns its standard output."""
        done = run([program, *arguments, "--server", server.address], text=text, timeout=120)
        self.assertIn(done.returncode, statuses, f"{arguments}: {done.stderr}{done.stdout[:2000]}")
        return done.stdout

    def plan(self, program, server, name):
        """Returns the answer to a job, which may not fit."""
        return json.loads(self.ask(program, server, "plan", "--job", job(name), "--output", "json",
                                   statuses=FITS_OR_NOT))

    def get(self, program, server, plan_id):
        return json.loads(self.ask(program, server, "get", plan_id, "--output", "json", statuses=FITS_OR_NOT))["plan"]

    def fill(self, program):
        """Plans every job and records a profile. Returns the plans by id, and the history of profiles."""
        with self.server(program) as server:
            plans = {}
            for name in JOBS:
                answer = self.plan(EARLIER_CTL, server, name)
                plans[answer["plan_id"]] = answer["plan"]
            self.ask(EARLIER_CTL, server, "profile", "record", "-", text=json.dumps(PROFILE))
            history = json.loads(self.ask(EARLIER_CTL, server, "profile", "list", "--output", "json"))
        return plans, history

    def read(self, server, plans, history):
        for plan_id, plan in plans.items():
            self.assertEqual(self.get(EARLIER_CTL, server, plan_id), plan)
        again = json.loads(self.ask(EARLIER_CTL, server, "profile", "list", "--output", "json"))
        self.assertEqual(again, history)

    def test_stores_of_before_are_read(self):
        plans, history = self.fill(EARLIER_SERVER)
        self.assertGreaterEqual(len(plans), 2)
        with self.server() as server:
            self.read(server, plans, history)
            for plan_id in plans:
                self.get(CTL, server, plan_id)
            self.ask(CTL, server, "profile", "list")
            listed = self.ask(CTL, server, "list")
            for plan_id in plans:
                self.assertIn(plan_id, listed)
            # A profile of before counts in plans of now.
            answer = self.plan(CTL, server, "internvl-6b-20b.json")
            self.assertNotEqual(answer["plan"]["provenance"]["calibration_version"], "none")
            self.assertEqual(server.metric("evenkeel_cache_errors_total"), 0)

    def test_the_way_back(self):
        plans, history = self.fill(EARLIER_SERVER)
        with self.server() as server:
            later = self.plan(CTL, server, JOBS[0])
        with self.server(EARLIER_SERVER) as server:
            self.read(server, plans, history)
            # Records that this version kept are readable, or unknown; they spoil nothing.
            done = run([EARLIER_CTL, "get", later["plan_id"], "--server", server.address])
            self.assertIn(done.returncode, (0, 4), done.stderr)
            self.plan(EARLIER_CTL, server, JOBS[0])

    def test_clients_of_before(self):
        with self.server() as server:
            for name in JOBS:
                self.plan(EARLIER_CTL, server, name)
                self.ask(EARLIER_CTL, server, "plan", "--job", job(name), statuses=FITS_OR_NOT)
            for verb in ("models", "gpus", "trainers", "list"):
                self.ask(EARLIER_CTL, server, verb)
            self.ask(EARLIER_CTL, server, "launch", "--framework", "megatron", "--model", "llama3-8b",
                     "--gpu", "h100-sxm-80gb", "--gpus", "16")
            with tempfile.TemporaryDirectory() as folder:
                lengths = os.path.join(folder, "lengths.jsonl")
                with open(lengths, "w", encoding="utf-8") as file:
                    file.writelines(f'{{"llm_tokens": {100 + 37 * i % 4000}}}\n' for i in range(5000))
                self.ask(EARLIER_CTL, server, "pack", lengths, "--dp", "8", "--output", os.path.join(folder, "packs"))

    def test_clients_of_now_on_a_server_of_before(self):
        with self.server(EARLIER_SERVER) as server:
            for name in JOBS:
                mine, theirs = self.plan(CTL, server, name), self.plan(EARLIER_CTL, server, name)
                self.assertEqual(mine["plan_id"], theirs["plan_id"])
            for verb in ("models", "gpus", "trainers", "list"):
                self.ask(CTL, server, verb)

    def test_a_server_of_before_refuses_fields_that_it_does_not_know(self):
        with self.server(EARLIER_SERVER) as server:
            request = harness.job_request(job(JOBS[0])).SerializeToString()
            unknown = b"\xfa\x7f\x02hi"  # field 2047, which no message has
            method = server.client().method("PlanJob", serializer=lambda message: message)
            with self.assertRaises(harness.grpc.RpcError) as refused:
                method(request + unknown, timeout=60)
            self.assertEqual(refused.exception.code(), harness.grpc.StatusCode.INVALID_ARGUMENT)
            self.assertIn("2047", str(harness.error_details(refused.exception)) + refused.exception.details())


if __name__ == "__main__":
    unittest.main()
