"""Tests packing groups from plan to packs: what PlanJob predicts for a long mix is what packing it gives."""
import json
import os
import random
import tempfile
import unittest

import harness
from harness import Server, planner_service_pb2

LONGEST = 131072
JOB = ("--model", "llama3.1-8b", "--gpu", "h100-sxm-80gb", "--gpus", "32", "--global-batch", "550",
       "--inter-node-gbps", "400", "--framework", "deepspeed", "--gradients", "fp32", "--groups", "published")


def long_mix(count, long_share=0.002, seed=11):
    """Returns the tokens of samples: most of them short answers, a few as long as a book."""
    chance = random.Random(seed)
    return [chance.randrange(LONGEST // 2, LONGEST + 1) if chance.random() < long_share
            else min(LONGEST, int(chance.lognormvariate(6, 1)) + 1) for _ in range(count)]


class PlanGroupsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.__exit__)
        folder = tempfile.TemporaryDirectory(prefix="evenkeel-plan-groups-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.lengths = os.path.join(cls.folder, "lengths.jsonl")
        with open(cls.lengths, "w", encoding="utf-8") as file:
            file.writelines(json.dumps({"llm_tokens": tokens}) + "\n" for tokens in long_mix(200_000))

    def ctl(self, command, *arguments):
        done = self.server.ctl(command, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_packs_are_as_the_plan_predicts(self):
        report = os.path.join(self.folder, "plan.html")
        answer = json.loads(self.ctl("plan", *JOB, "--dataset", self.lengths, "--report", report, "--output", "json"))
        plan = self.server.client().call(
            "GetPlan", planner_service_pb2.GetPlanRequest(plan_id=answer["plan"]["plan_id"])).plan
        self.assertGreaterEqual(len(plan.packing_groups), 2)
        self.assertEqual(plan.packing_groups[-1].length_tokens, LONGEST)
        with open(report, encoding="utf-8") as file:
            self.assertIn("a step of the longest group", file.read())

        page = os.path.join(self.folder, "packs.html")
        summary = json.loads(self.ctl("pack", self.lengths, "--plan", plan.plan_id, "--report", page, "--json"))
        self.assertEqual(len(summary["groups"]), len(plan.packing_groups))
        for packed, planned in zip(summary["groups"], plan.packing_groups):
            with self.subTest(length=planned.length_tokens):
                self.assertEqual(int(packed["length_tokens"]), planned.length_tokens)
                self.assertEqual(packed["data_parallel"], planned.data_parallel)
                for field, allowed in (("pack_count", planned.packs_per_rank * planned.data_parallel),
                                       ("step_count", 1)):
                    # One percent, or the last step, may differ.
                    expected = getattr(planned, field)
                    self.assertAlmostEqual(int(packed[field]), expected, delta=max(allowed, expected / 100), msg=field)
                for field in ("share", "dist_ratio_tokens", "dist_ratio_attention", "idle_ratio"):
                    self.assertAlmostEqual(packed.get(field, 0), getattr(planned, field), delta=0.01, msg=field)
        self.assertAlmostEqual(summary["communication_ratio"], plan.group_choice.communication_ratio, delta=0.01)
        self.assertEqual(int(summary.get("curriculum_step_count", 0)), plan.group_choice.curriculum_steps)
        with open(page, encoding="utf-8") as file:
            self.assertIn("Steps by group", file.read())


if __name__ == "__main__":
    unittest.main()
