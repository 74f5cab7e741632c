"""Tests that the commands which `plan` suggests give what they promise, for every example."""
import glob
import json
import os
import re
import shlex
import unittest

import harness

JOBS = sorted(p for p in glob.glob(os.path.join(harness.EXAMPLES, "*.json")) if ".histogram." not in p)


def plan(*arguments):
    done = harness.run([harness.CTL, "plan", "--local", *arguments])
    return done.returncode, done.stdout


def suggested(text, why):
    """Returns the arguments of the command after "# WHY", or None."""
    found = re.search(rf"^  # {re.escape(why)}[^\n]*\n  (.*)$", text, re.MULTILINE)
    return shlex.split(found.group(1))[2:] if found else None


def plan_of(arguments):
    """Runs the arguments of a suggested command and returns the plan."""
    done = harness.run([harness.CTL, "plan", *arguments, "--output", "json"])
    return done.returncode, json.loads(done.stdout)["plan"]


class NextCommandsTest(unittest.TestCase):
    def test_the_first_alternative_is_the_first_row(self):
        compared = 0
        for job in JOBS:
            with self.subTest(job=os.path.basename(job)):
                code, text = plan("--job", job)
                command = suggested(text, "the first alternative in full")
                if code != 0 or command is None:
                    continue
                row = plan_of(["--local", "--job", job])[1]["alternatives"][0]
                code, full = plan_of(command)
                self.assertEqual(code, 0)
                self.assertEqual(full["parallelism"], row["parallelism"])
                self.assertEqual(full["packing_groups"], [])
                seconds = full["predictions"]["step"]["total_seconds"]
                # The full search of its split may find a cut that is a little better.
                self.assertLess(abs(seconds / row["step_seconds"] - 1), 0.01, command)
                compared += 1
        self.assertGreater(compared, 5)

    def test_the_first_remedy_fits(self):
        job = os.path.join(harness.EXAMPLES, "misfit.json")
        code, text = plan("--job", job)
        self.assertEqual(code, 1)
        code, fits = plan_of(suggested(text, "with the first of these changes"))
        self.assertEqual(code, 0)
        self.assertNotIn("misfit", fits)

    def test_offers_stay_and_the_best_is_planned_alone(self):
        offers = ("--model", "llama3-8b", "--gpu", "a100-sxm-80gb", "--gpus", "8,16", "--price", "1.5",
                  "--pool", "h100-sxm-80gb:8,16@4")
        code, text = plan(*offers)
        self.assertEqual(code, 0)
        lines = text.splitlines()
        self.assertEqual(lines[0], "llama3-8b: 4 offers compared")
        self.assertRegex(lines[1], r"^Cheapest: 8 x a100-sxm-80gb, [0-9.]+\. Soonest: 16 x h100-sxm-80gb, ")
        self.assertLess(text.index("\nOffers  best first"), text.index("\nOffer 1 in full: "))
        for_programs = suggested(text, "for programs")
        self.assertIn("8,16", for_programs)
        self.assertIn("h100-sxm-80gb:8,16@4", for_programs)
        alone = suggested(text, "the best offer alone")
        alone = alone[:alone.index("--report")]
        best = plan_of(for_programs[:-2])[1]
        self.assertEqual(plan_of(alone)[1], best)
        code, twice = plan_of(suggested(plan("--model", "llama3-8b", "--pool", "h100-sxm-80gb:8")[1],
                                        "on twice the GPUs"))
        self.assertEqual((code, twice["subject"]["gpu_count"]), (0, 16))

    def test_a_misfit_has_no_report(self):
        code, text = plan("--job", os.path.join(harness.EXAMPLES, "misfit.json"), "--report", "/nonexistent/x.html")
        if code == 2:  # the folder is checked first
            self.skipTest(text)
        self.assertIn("No report was written: the job does not fit.", text)


if __name__ == "__main__":
    unittest.main()
