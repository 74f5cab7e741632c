"""Tests the real grpcurl against the real server, as the README promises an engineer."""
import json
import unittest

import harness
from harness import Server, json_format, planner_service_pb2


class GrpcurlTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.__exit__)

    def test_list_shows_the_services(self):
        done = self.server.grpcurl("list")
        self.assertEqual(done.returncode, 0, done.stderr)
        services = done.stdout.split()
        self.assertIn(harness.SERVICE, services)
        self.assertIn("grpc.health.v1.Health", services)
        self.assertTrue([s for s in services if s.startswith("grpc.reflection.")])

    def test_list_shows_the_methods(self):
        done = self.server.grpcurl("list", harness.SERVICE)
        names = [line.rsplit(".", 1)[1] for line in done.stdout.split()]
        self.assertEqual(names, ["EvaluatePlan", "GetPlan", "ListGpuTypes", "ListModels", "ListPlans", "ListProfiles",
                                 "ListTrainers", "PackDataset", "PlanCurve", "PlanJob", "RecordProfile",
                                 "RollBackProfile"])

    def test_describe_finds_every_service_method_and_message(self):
        for symbol in (harness.SERVICE, harness.SERVICE + ".PlanJob", "evenkeel.v1.Job", "evenkeel.v1.Plan",
                       "evenkeel.v1.LayerKind", "grpc.health.v1.Health", "grpc.health.v1.HealthCheckRequest"):
            with self.subTest(symbol=symbol):
                done = self.server.grpcurl("describe", symbol)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(symbol.rsplit(".", 1)[1], done.stdout)

    def test_describe_of_an_unknown_symbol_fails(self):
        self.assertNotEqual(self.server.grpcurl("describe", "evenkeel.v1.Nothing").returncode, 0)

    def test_plan_job_with_the_shipped_file(self):
        with open(harness.JOB, encoding="utf-8") as file:
            done = self.server.grpcurl(harness.SERVICE + "/PlanJob", data=file.read())
        self.assertEqual(done.returncode, 0, done.stderr)
        # Through reflection, names come in either spelling of protobuf's JSON.
        answer = json_format.Parse(done.stdout, planner_service_pb2.PlanJobResponse())
        self.assertEqual(answer.plan_id, answer.plan.plan_id)
        self.assertTrue(answer.plan.stages)

    def test_health(self):
        for service in ("", harness.SERVICE):
            done = self.server.grpcurl("grpc.health.v1.Health/Check", data=json.dumps({"service": service}))
            self.assertEqual(json.loads(done.stdout), {"status": "SERVING"}, done.stderr)

    def test_bad_request_names_every_field(self):
        bad = {"job": {"model": {"name": "no-such-model"}, "cluster": {"pools": [{"gpu_type": "a100-sxm-80gb"}]}}}
        done = self.server.grpcurl(harness.SERVICE + "/PlanJob", data=json.dumps(bad))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("InvalidArgument", done.stderr)
        self.assertIn("google.rpc.BadRequest", done.stderr)
        self.assertIn("job.model.name", done.stderr)
        self.assertIn("job.cluster.pools[0].gpu_count", done.stderr)
        self.assertIn("evenkeel.dev", done.stderr)

    def test_evaluate_plan(self):
        with open(harness.JOB, encoding="utf-8") as file:
            job = json.load(file)["job"]
        plan = {"parallelism": {"tensor": 8, "pipeline": 1, "data": 4}}
        done = self.server.grpcurl(harness.SERVICE + "/EvaluatePlan", data=json.dumps({"job": job, "plan": plan}))
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = json_format.Parse(done.stdout, planner_service_pb2.EvaluatePlanResponse())
        self.assertEqual(answer.evaluated.parallelism.tensor, 8)
        self.assertGreater(answer.slower_by_ratio, 0)

    def test_packs_a_stream(self):
        messages = [{"start": {"rule": {"token_cap": 10}, "data_parallel": 1}}, {"chunk": {"llm_tokens": [6, 4, 9]}}]
        done = self.server.grpcurl(harness.SERVICE + "/PackDataset", data="".join(json.dumps(m) for m in messages))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('"packCount": "2"', done.stdout)

    def test_catalogue(self):
        done = self.server.grpcurl(harness.SERVICE + "/ListGpuTypes", data='{"filter": "A100"}')
        names = [gpu["name"] for gpu in json.loads(done.stdout)["gpus"]]
        self.assertIn("a100-sxm-80gb", names)
        done = self.server.grpcurl(harness.SERVICE + "/ListModels", data='{"filter": "internvl"}')
        self.assertIn("internvl-chat-v1.5", [model["name"] for model in json.loads(done.stdout)["models"]])
        done = self.server.grpcurl(harness.SERVICE + "/ListTrainers", data='{"filter": "megatron-lm"}')
        self.assertEqual([trainer["name"] for trainer in json.loads(done.stdout)["trainers"]], ["megatron-core"])


if __name__ == "__main__":
    unittest.main()
