"""Tests a job by number of nodes: the same with a server and without, kept like other plans, and as table and CSV."""
import csv
import io
import json
import os
import tempfile
import unittest

import harness
from harness import Server

JOB = ("--model", "llama3-8b", "--gpu", "h100-sxm-80gb", "--global-batch", "128")
SIZES = (*JOB, "--nodes", "1..3", "--price", "2")


class CurveTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.__exit__)

    def ctl(self, command, *arguments, local=False):
        where = ["--local"] if local else ["--server", self.server.address]
        return harness.run([harness.CTL, command, *where, *arguments])

    def answer(self, command, *arguments, local=False):
        done = self.ctl(command, *arguments, "--output", "json", local=local)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_every_size_is_the_plan_that_it_is_alone(self):
        answer = self.answer("curve", *SIZES)
        self.assertEqual(answer["curves"], self.answer("curve", *SIZES, local=True)["curves"])
        points = answer["curves"][0]["points"]
        self.assertEqual([p["nodes"] for p in points], [1, 2, 3])
        for point in points:
            alone = self.answer("plan", *JOB, "--price", "2", "--gpus", str(point["gpu_count"]))
            self.assertEqual(alone["served_from"], "SERVED_FROM_MEMORY")
            self.assertEqual(alone["plan_id"], point["plan_id"])
            predictions = alone["plan"]["predictions"]
            self.assertEqual(point["step_seconds"], predictions["step"]["total_seconds"])
            self.assertEqual(point["cost"], predictions["cost"])
            self.assertEqual(point["parallelism"], alone["plan"]["parallelism"])

    def test_the_table_and_the_values(self):
        shown = self.ctl("curve", *SIZES)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        for text in ("h100-sxm-80gb", "tokens/s", "GPU-days", "cost", "resize.restart (assumed)"):
            self.assertIn(text, shown.stdout)
        done = self.ctl("curve", *SIZES, "--csv")
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        points = self.answer("curve", *SIZES)["curves"][0]["points"]
        self.assertEqual([row["plan_id"] for row in rows], [p["plan_id"] for p in points])
        self.assertEqual([float(row["step_seconds"]) for row in rows], [p["step_seconds"] for p in points])

    def test_a_size_that_misses_the_batch_is_marked(self):
        sizes = ("--model", "llama3-8b", "--gpu", "h100-sxm-80gb", "--global-batch", "20", "--nodes", "8,9",
                 "--trainer", "huggingface-trainer")
        missed = [abs(p["samples_per_second"] * p["step_seconds"] / 20 - 1) > 0.05
                  for p in self.answer("curve", *sizes)["curves"][0]["points"]]
        self.assertIn(True, missed)
        self.assertIn(False, missed)
        lines = [line.split() for line in self.ctl("curve", *sizes).stdout.splitlines()]
        marks = [line[1] for line in lines if line[:1] in (["8"], ["9"])]
        self.assertEqual(["b" in mark for mark in marks], missed)

    def test_a_batch_that_follows_the_nodes(self):
        points = self.answer("curve", *JOB, "--nodes", "1,2", "--batch-at", "1")["curves"][0]["points"]
        self.assertEqual([int(p["global_batch_samples"]) for p in points], [128, 256])
        alone = self.answer("plan", "--model", "llama3-8b", "--gpu", "h100-sxm-80gb", "--global-batch", "256",
                            "--gpus", "16")
        self.assertEqual(alone["plan_id"], points[1]["plan_id"])

    def test_several_types(self):
        curves = self.answer("curve", *JOB, "--nodes", "1,2", "--nodes", "1", "--type", "a100-sxm-80gb@1.5")["curves"]
        self.assertEqual([(c["gpu_type"], len(c["points"])) for c in curves],
                         [("h100-sxm-80gb", 2), ("a100-sxm-80gb", 1)])
        self.assertEqual(curves[1]["price_per_gpu_hour"], 1.5)

    def test_a_short_search_says_so(self):
        job = (*JOB, "--epochs", "7", "--nodes", "1,2")
        points = self.answer("curve", *job, "--short")["curves"][0]["points"]
        self.assertTrue(all(p["estimated"] for p in points))
        planned = self.answer("curve", *job)["curves"][0]["points"]
        again = self.answer("curve", *job, "--short")["curves"][0]["points"]
        self.assertEqual(again, planned)
        for short, whole in zip(points, planned):
            self.assertEqual(short["plan_id"], whole["plan_id"])
            self.assertLess(abs(short["step_seconds"] / whole["step_seconds"] - 1), 0.2)

    def test_a_job_file_may_also_be_for_plan(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "job.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"model": {"name": "llama3-8b"}, "training": {"global_batch_samples": 128},
                           "cluster": {"pools": [{"gpu_type": "h100-sxm-80gb", "gpu_count": 64}]}}, file)
            points = self.answer("curve", "--job", path, "--nodes", "2")["curves"][0]["points"]
        self.assertEqual(points[0]["plan_id"],
                         self.answer("plan", *JOB, "--gpus", "16")["plan_id"])

    def test_what_is_refused(self):
        for arguments, text in (
                (("--nodes", "4..2"), "--nodes 4..2: the first number must not exceed the second"),
                (("--nodes", "1..300"), "nodes: must be at most 256 sizes"),
                (("--nodes", "1-4"), "is not MIN..MAX"),
                (("--nodes", "2", "--gpus", "8"), "--nodes says how many"),
                (("--nodes", "2", "--compare-sizes"), "are for `plan`"),
                (("--nodes", "2", "--deadline", "5"), "--objective and --deadline are for `plan`"),
                (("--nodes", "2", "--type", "h200@x"), "is not TYPE[@PRICE]"),
                ((), "--nodes is required")):
            with self.subTest(arguments=arguments):
                done = self.ctl("curve", *JOB, *arguments)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertIn(text, done.stderr)

    def test_nothing_fits(self):
        done = self.ctl("curve", "--model", "llama3.1-405b", "--gpu", "a100-sxm-40gb", "--nodes", "1", local=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("Does not fit on 1", done.stdout)


if __name__ == "__main__":
    unittest.main()
