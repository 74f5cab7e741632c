"""EvaluatePlan and `evenkeelctl evaluate`: a caller's plan beside ours, and its simulated step."""
import json
import os
import tempfile
import unittest

import harness
from harness import Server, planner_service_pb2

SPEC = {"parallelism": {"tensor": 2, "pipeline": 4, "data": 4},
        "stages": [{"layers": [{"layer_count": 22}]}, {"layers": [{"layer_count": 23, "recomputed_count": 5}]},
                   {"layers": [{"layer_count": 24}]}, {"layers": [{"layer_count": 24}]}]}


def evaluation(timeline=True):
    """The shipped job with the plan of SPEC."""
    request = planner_service_pb2.EvaluatePlanRequest(include_timeline=timeline)
    request.job.CopyFrom(harness.job_request().job)
    harness.json_format.ParseDict(SPEC, request.plan)
    return request


class TimelineTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.__exit__)

    def test_the_timeline_is_that_of_the_evaluated_plan(self):
        answer = self.server.client().call("EvaluatePlan", evaluation())
        timeline = answer.timeline
        self.assertEqual(len(timeline.stages), 4)
        self.assertEqual(len(timeline.ranks), 4)
        self.assertEqual(timeline.micro_batches, answer.evaluated.predictions.micro_batches)
        self.assertAlmostEqual(timeline.step_seconds / answer.evaluated.predictions.step.total_seconds, 1, delta=0.1)
        for stage, planned in zip(timeline.stages, answer.evaluated.stages):
            self.assertEqual(stage.memory.peak_bytes, planned.memory.total_bytes)
            self.assertAlmostEqual(sum(getattr(stage.time, f.name) for f in stage.time.DESCRIPTOR.fields),
                                   timeline.step_seconds, places=6)
        self.assertFalse(self.server.client().call("EvaluatePlan", evaluation(False)).HasField("timeline"))

    def test_a_timeline_beyond_a_message_is_refused(self):
        request = evaluation()
        request.job.training.global_batch_samples = 1000000
        with self.assertRaises(harness.grpc.RpcError) as caught:
            self.server.client().call("EvaluatePlan", request)
        self.assertEqual(caught.exception.code(), harness.grpc.StatusCode.INVALID_ARGUMENT)
        violation, = harness.error_details(caught.exception)["BadRequest"].field_violations
        self.assertEqual(violation.field, "include_timeline")


if __name__ == "__main__":
    unittest.main()
