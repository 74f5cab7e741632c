"""Tests EvaluatePlan and `evenkeelctl evaluate`: a caller's plan next to ours, and its simulated step."""
import json
import os
import tempfile
import unittest

import harness
from harness import Server, planner_service_pb2

SPEC = {"parallelism": {"tensor": 2, "pipeline": 4, "data": 4},
        "stages": [{"layers": [{"layer_count": 22, "recomputed_count": 5}]}, {"layers": [{"layer_count": 23}]},
                   {"layers": [{"layer_count": 24}]}, {"layers": [{"layer_count": 24}]}]}


def evaluation(timeline=True):
    """Returns the shipped job with the plan of SPEC."""
    request = planner_service_pb2.EvaluatePlanRequest(include_timeline=timeline)
    request.job.CopyFrom(harness.job_request().job)
    harness.json_format.ParseDict(SPEC, request.plan)
    return request


class TimelineTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.__exit__)
        cls.client = cls.server.client()
        cls.addClassCleanup(cls.client.close)

    def test_the_timeline_is_that_of_the_evaluated_plan(self):
        answer = self.client.call("EvaluatePlan", evaluation())
        timeline = answer.timeline
        self.assertEqual(len(timeline.stages), 4)
        self.assertEqual(len(timeline.ranks), 4)
        self.assertEqual(timeline.micro_batches, answer.evaluated.predictions.micro_batches)
        self.assertAlmostEqual(timeline.step_seconds / answer.evaluated.predictions.step.total_seconds, 1, delta=0.1)
        for stage, planned in zip(timeline.stages, answer.evaluated.stages):
            self.assertEqual(stage.memory.peak_bytes, planned.memory.total_bytes)
            self.assertAlmostEqual(sum(getattr(stage.time, f.name) for f in stage.time.DESCRIPTOR.fields),
                                   timeline.step_seconds, places=6)
        self.assertFalse(self.client.call("EvaluatePlan", evaluation(False)).HasField("timeline"))

    def test_a_timeline_beyond_a_message_is_refused(self):
        request = evaluation()
        request.job.training.global_batch_samples = 1000000
        with self.assertRaises(harness.grpc.RpcError) as caught:
            self.client.call("EvaluatePlan", request)
        self.assertEqual(caught.exception.code(), harness.grpc.StatusCode.INVALID_ARGUMENT)
        violation, = harness.error_details(caught.exception)["BadRequest"].field_violations
        self.assertEqual(violation.field, "include_timeline")


class CommandTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.__exit__)
        folder = tempfile.TemporaryDirectory(prefix="evenkeel-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.spec = cls.path("spec.json")
        with open(cls.spec, "w", encoding="utf-8") as file:
            json.dump(SPEC, file)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    def ctl(self, command, *arguments, local=False):
        where = ["--local"] if local else ["--server", self.server.address]
        return harness.run([harness.CTL, command, *where, "--job", harness.JOB, *arguments])

    def test_a_plan_beside_ours_with_trace_and_report(self):
        answers = []
        for local in (False, True):
            trace, report = self.path(f"trace-{local}"), self.path(f"report-{local}")
            done = self.ctl("evaluate", "--plan", self.spec, "--trace", trace, "--report", report, local=local)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("more GPU-days than ours", done.stdout)
            with open(trace, encoding="utf-8") as file:
                events = json.load(file)["traceEvents"]
            self.assertEqual({e["pid"] for e in events}, {0, 1, 2, 3})
            with open(report, encoding="utf-8") as file:
                self.assertIn("<svg", file.read())
            done = self.ctl("evaluate", "--plan", self.spec, "--output", "json", local=local)
            answers.append(json.loads(done.stdout))
        self.assertEqual(*answers)
        again = self.ctl("evaluate", "--plan", self.spec, "--trace", trace)
        self.assertEqual(again.returncode, 2)
        self.assertIn("--force", again.stderr)
        self.assertEqual(self.ctl("evaluate", "--plan", self.spec, "--trace", trace, "--force").returncode, 0)

    def test_a_saved_plan_is_as_quick_as_itself(self):
        saved, trace = self.path("plan.json"), self.path("plan-trace")
        done = self.ctl("plan", "--save", saved, "--trace", trace)
        self.assertEqual(done.returncode, 0, done.stderr)
        again = self.ctl("plan", "--save", saved)
        self.assertEqual(again.returncode, 2)
        self.assertIn("--force", again.stderr)
        self.assertEqual(self.ctl("plan", "--save", saved, "--force").returncode, 0)
        with open(saved, encoding="utf-8") as file:
            plan_id = json.load(file)["plan_id"]
        with open(trace, encoding="utf-8") as file:
            self.assertEqual(json.load(file)["otherData"]["plan_id"], plan_id)
        done = self.ctl("evaluate", "--plan", saved)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("takes as many GPU-days as ours", done.stdout)

    def test_bad_plans_are_named_by_field(self):
        with open(self.path("bad.json"), "w", encoding="utf-8") as file:
            json.dump({"parallelism": {"tensor": 3}}, file)
        done = self.ctl("evaluate", "--plan", self.path("bad.json"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("plan.parallelism", done.stderr)
        self.assertEqual(self.ctl("evaluate", "--plan", self.spec, "--compare-sizes").returncode, 2)
        for source, framework in (("--plan", "megatron-bridge"), ("--from", "fsdp")):
            done = self.ctl("evaluate", source, self.spec, "--framework", framework)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"with {source}, --framework must be ", done.stderr)


if __name__ == "__main__":
    unittest.main()
