"""Tests offers, other sizes and node failures: the same with a server and without, and stored like other plans."""
import json
import unittest

import harness
from harness import Server, planner_service_pb2

OFFERS = ("--model", "llama3-8b", "--gpu", "a100-sxm-80gb", "--gpus", "8,16", "--price", "1.5",
          "--pool", "h100-sxm-80gb:8,16@4")


class OffersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.__exit__)
        cls.client = cls.server.client()
        cls.addClassCleanup(cls.client.close)

    def ctl(self, *arguments, local=False):
        where = ["--local"] if local else ["--server", self.server.address]
        return harness.run([harness.CTL, "plan", *where, *arguments])

    def answer(self, *arguments, local=False):
        done = self.ctl(*arguments, "--output", "json", local=local)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_every_offer_has_the_plan_that_it_has_alone(self):
        answer = self.answer(*OFFERS)
        self.assertEqual(answer["plan"], answer["offers"][0])
        self.assertEqual([o["subject"]["gpu_count"] for o in answer["offers"]], [16, 8, 16, 8])
        self.assertEqual(answer["offers"], self.answer(*OFFERS, local=True)["offers"])
        alone = self.answer("--model", "llama3-8b", "--gpu", "h100-sxm-80gb", "--gpus", "16", "--price", "4")
        self.assertEqual(alone["served_from"], "SERVED_FROM_MEMORY")
        self.assertEqual(alone["plan"], answer["plan"])
        self.assertEqual(alone["plan_id"], answer["plan"]["plan_id"])
        for plan_id in (answer["plan_id"], answer["plan"]["plan_id"]):
            got = self.client.call("GetPlan", planner_service_pb2.GetPlanRequest(plan_id=plan_id))
            self.assertEqual(got.plan.plan_id, answer["plan"]["plan_id"])

    def test_a_comparison_is_known_the_second_time(self):
        first = self.answer(*OFFERS, "--objective", "cost")
        again = self.answer(*OFFERS, "--objective", "cost")
        self.assertEqual(first["served_from"], "SERVED_FROM_PLANNER")
        self.assertEqual(again["served_from"], "SERVED_FROM_MEMORY")
        self.assertEqual({**first, "served_from": ""}, {**again, "served_from": ""})
        costs = [o["predictions"]["cost"] for o in first["offers"]]
        self.assertEqual(costs, sorted(costs))

    def test_fewest_gpus_for_a_deadline(self):
        answer = self.answer(*OFFERS, "--deadline", "40")
        self.assertEqual(answer["plan"]["subject"]["gpu_count"], 8)
        self.assertEqual({o["reason"] for o in answer["offers_left_out"]}, {"LEFT_OUT_REASON_NOT_NEEDED"})
        shown = self.ctl(*OFFERS, "--deadline", "40")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn("not planned: fewer GPUs meet the deadline", shown.stdout)

    def test_failures_and_other_sizes_are_shown(self):
        arguments = ("--model", "llama3-8b", "--gpu", "a100-sxm-80gb", "--gpus", "16", "--compare-sizes",
                     "--mtbf", "2000", "--checkpoint-gbytes", "2")
        self.assertEqual(self.answer(*arguments)["plan"], self.answer(*arguments, local=True)["plan"])
        shown = self.ctl(*arguments)
        for text in ("fewer GPUs", "more GPUs", "With failures of nodes", "a checkpoint"):
            self.assertIn(text, shown.stdout)

    def test_a_deadline_of_the_call_stops_the_comparison(self):
        request = harness.job_request()
        pool = request.job.cluster.pools[0]
        pool.gpu_count = 0
        pool.gpu_counts.extend(range(32, 32 * 17, 32))
        with self.assertRaises(harness.grpc.RpcError) as caught:
            self.client.call("PlanJob", request, timeout=0.3)
        self.assertEqual(caught.exception.code(), harness.grpc.StatusCode.DEADLINE_EXCEEDED)

    def test_a_picture_needs_one_offer(self):
        done = self.ctl(*OFFERS, "--trace", "none.json")
        self.assertEqual(done.returncode, 2)
        self.assertIn("one number of GPUs", done.stderr)

    def test_ways_to_cut_the_model_are_compared(self):
        done = self.ctl("--job", harness.JOB, "--compare")
        self.assertEqual(done.returncode, 0, done.stderr)
        table = done.stdout[done.stdout.index("Ways to cut the model"):]
        for name in ("exact (ours)", "BMP (OmniBal)", "profile (PipeDream)", "equal parameters", "equal layers"):
            self.assertIn(name, table)
        self.assertEqual(self.ctl(*OFFERS, "--compare").returncode, 2)


if __name__ == "__main__":
    unittest.main()
