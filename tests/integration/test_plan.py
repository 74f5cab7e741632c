"""Tests the main job: a request becomes a plan, with the same bytes every time."""
import glob
import json
import os
import unittest

import harness
from harness import Server, planner_service_pb2

JOBS = sorted(p for p in glob.glob(os.path.join(harness.EXAMPLES, "*.json")) if ".histogram." not in p)


class PlanTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.__exit__)

    def test_plan_of_the_real_case_is_consistent(self):
        plan = self.server.client().call("PlanJob", harness.job_request()).plan
        self.assertFalse(plan.HasField("misfit"))
        degrees = plan.parallelism
        self.assertEqual(degrees.tensor * degrees.context * degrees.pipeline * degrees.data, 32)
        self.assertEqual(len(plan.stages), degrees.pipeline)
        layers = sum(g.layer_count for s in plan.stages for g in s.layers if g.kind in (2, 5, 6))
        self.assertEqual(layers, 45 + 48)
        for stage in plan.stages:
            parts = stage.memory
            # These fields are sums of others, or parts of parts.
            derived = {"total_bytes", "allocated_bytes", "reserved_bytes", "logits_bytes", "activations_by_kind"}
            total = sum(getattr(parts, f.name) for f in parts.DESCRIPTOR.fields if f.name not in derived)
            self.assertEqual(parts.total_bytes, total)
            self.assertEqual(stage.free_bytes, stage.capacity_bytes - parts.total_bytes)
            self.assertGreaterEqual(stage.free_bytes, 0)
        step = next(f for f in plan.predictions.DESCRIPTOR.fields if f.message_type is not None)
        time = getattr(plan.predictions, step.name)
        parts = sum(getattr(time, f.name) for f in time.DESCRIPTOR.fields if f.name != "total_seconds")
        self.assertAlmostEqual(parts / time.total_seconds, 1, places=6)
        self.assertGreaterEqual(plan.proof.gap, 0)

    def test_three_arguments_suffice(self):
        done = self.server.ctl("plan", "--model", "internvl-chat-v1.5", "--gpu", "a100-sxm-80gb", "--gpus", "32")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_trainer_changes_the_plan_and_is_named(self):
        job = ["--model", "llama3-8b", "--gpu", "a100-sxm-80gb", "--gpus", "16"]
        plans = {}
        for trainer in ("megatron-core", "llm-foundry", "my-own@2.1"):
            done = self.server.ctl("plan", *job, "--trainer", trainer, "--output", "json")
            self.assertEqual(done.returncode, 0, done.stderr)
            plans[trainer] = json.loads(done.stdout)["plan"]
        self.assertEqual(plans["my-own@2.1"]["subject"]["trainer"], {"name": "my-own", "version": "2.1"})
        self.assertEqual(len({plan["plan_id"] for plan in plans.values()}), 3)
        ours, theirs = (plans[t]["predictions"] for t in ("megatron-core", "llm-foundry"))
        self.assertLess(ours["step"]["total_seconds"], theirs["step"]["total_seconds"])
        interval = plans["my-own@2.1"]["predictions"]["step_interval"]
        self.assertEqual(interval["evidence"], "EVIDENCE_KIND_OTHER_TRAINER")
        self.assertLess(interval["low_ratio"], 1)
        self.assertGreater(interval["high_ratio"], 1)
        done = self.server.ctl("plan", *job, "--trainer", "my-own")
        self.assertIn("no record of my-own", done.stdout)
        self.assertIn('"my-own" is not a known trainer', done.stdout)
        done = self.server.ctl("trainers", "foundry")
        self.assertIn("llm-foundry", done.stdout)
        self.assertNotIn("nanotron", done.stdout)
        done = self.server.ctl("trainers", "--output", "json")
        trainers = {trainer["name"]: trainer for trainer in json.loads(done.stdout)["trainers"]}
        self.assertEqual(trainers["deepspeed"]["offload"]["optimizer_share_stages"], ["ZERO_STAGE_3"])
        self.assertTrue(trainers["torchtune"]["fused_step"])

    def test_a_confidence_leaves_room_in_memory(self):
        job = ["--model", "llama3-70b", "--gpu", "h100-sxm-80gb", "--gpus", "64", "--output", "json"]
        plan = json.loads(self.server.ctl("plan", *job, "--memory-confidence", "0.9").stdout)["plan"]
        self.assertEqual(plan["memory_fit"], "MEMORY_FIT_FITS")
        refused = self.server.ctl("plan", *job, "--memory-confidence", "0.3")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("0.5 to 0.99", refused.stderr)

    def test_local_gives_the_plan_of_the_server(self):
        remote = self.server.ctl("plan", "--job", harness.JOB, "--output", "json")
        local = harness.run([harness.CTL, "plan", "--local", "--job", harness.JOB, "--output", "json"])
        self.assertEqual(remote.returncode, 0, remote.stderr)
        self.assertEqual(json.loads(remote.stdout)["plan"], json.loads(local.stdout)["plan"])

    def test_get_returns_what_plan_returned(self):
        client = self.server.client()
        planned = client.call("PlanJob", harness.job_request())
        got = client.call("GetPlan", planner_service_pb2.GetPlanRequest(plan_id=planned.plan_id))
        self.assertEqual(got.plan.SerializeToString(deterministic=True),
                         planned.plan.SerializeToString(deterministic=True))
        done = self.server.ctl("get", planned.plan_id)
        self.assertEqual(done.returncode, 0, done.stderr)
        listed = self.server.ctl("list")
        self.assertIn(planned.plan_id, listed.stdout, listed.stderr)

    def test_validate_only_plans_nothing(self):
        request = harness.job_request(seed=4242)
        request.validate_only = True
        client = self.server.client()
        answer = client.call("PlanJob", request)
        self.assertFalse(answer.HasField("plan"))
        request.validate_only = False
        self.assertEqual(client.call("PlanJob", request).plan_id, answer.plan_id)


class DeterminismTest(unittest.TestCase):
    def raw_plan(self, server, request):
        """Returns the answer's bytes as they came over the wire."""
        call = server.client().channel.unary_unary(f"/{harness.SERVICE}/PlanJob")
        return call(request.SerializeToString(), timeout=harness.TIMEOUT_SECONDS)

    def test_every_example_is_planned_with_the_same_bytes_after_a_restart(self):
        requests = {path: harness.job_request(path) for path in JOBS}
        with Server() as server:
            before = {path: self.raw_plan(server, request) for path, request in requests.items()}
            for path in JOBS:
                with self.subTest(job=os.path.basename(path)):
                    done = server.ctl("plan", "--job", path)
                    misfit = path.endswith("misfit.json")
                    self.assertEqual(done.returncode, 1 if misfit else 0, done.stderr)
                    self.assertGreater(len(done.stdout.splitlines()), 10)
        with Server() as server:
            for path, request in requests.items():
                with self.subTest(job=os.path.basename(path)):
                    self.assertEqual(self.raw_plan(server, request), before[path])

    def test_order_and_splitting_of_bins_do_not_matter(self):
        request = harness.job_request()
        other = harness.job_request()
        bins = list(zip(*(list(getattr(request.job.dataset.histogram, f))
                          for f in ("units", "llm_tokens", "sample_count"))))
        bins = [*reversed(bins[1:]), (bins[0][0], bins[0][1], 1), (bins[0][0], bins[0][1], bins[0][2] - 1)]
        histogram = other.job.dataset.histogram
        for index, field in enumerate(("units", "llm_tokens", "sample_count")):
            del getattr(histogram, field)[:]
            getattr(histogram, field).extend(b[index] for b in bins)
        answers = []
        for each in (request, other):
            with Server() as server:
                answers.append(self.raw_plan(server, each))
        self.assertEqual(*answers)


if __name__ == "__main__":
    unittest.main()
