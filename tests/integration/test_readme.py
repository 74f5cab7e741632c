"""Tests that README.md shows what the program prints, and counts what it knows."""
import json
import os
import re
import unittest

import harness

README = os.path.join(os.path.dirname(harness.EXAMPLES), "..", "README.md")


class ReadmeTest(unittest.TestCase):
    def test_the_shown_plan_is_the_printed_plan(self):
        with open(README, encoding="utf-8") as file:
            block = re.search(r"```\n\$ build/bin/evenkeelctl (plan [^\n]*)\n(.*?)```", file.read(), re.DOTALL)
        done = harness.run([harness.CTL, *block.group(1).split(), "--color", "never", "--width", "100"])
        self.assertEqual(done.returncode, 0, done.stderr)
        printed = [line.rstrip() for line in done.stdout.splitlines()]
        at = 0
        for line in block.group(2).splitlines():
            if line in ("", "..."):
                continue
            self.assertIn(line, printed[at:], "not printed, or not in this place")
            at = printed.index(line, at) + 1
        self.assertGreater(at, 40)

    def test_models_gpus_and_trainers_are_as_many_as_it_says(self):
        with open(README, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("two stand-ins: `generic` for any other trainer, and `unlimited`", text)
        for kind, others, pattern in (("models", 0, r"(\d+) models and encoders by name"),
                                      ("gpus", 0, r"(\d+) GPU types"),
                                      ("trainers", 2, r"(\d+) by name \(`--trainer`\)")):
            count = int(re.search(pattern, text).group(1)) + others
            done = harness.run([harness.CTL, kind, "--local", "--output", "json"])
            self.assertEqual(len(json.loads(done.stdout)[kind]), count, kind)


if __name__ == "__main__":
    unittest.main()
