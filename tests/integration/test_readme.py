"""Tests that README.md shows what the program prints, and that the commands of its lists exist."""
import json
import os
import re
import unittest

import harness

README = os.path.join(os.path.dirname(harness.EXAMPLES), "..", "README.md")


def readme():
    with open(README, encoding="utf-8") as file:
        return file.read()


class ReadmeTest(unittest.TestCase):
    def test_the_shown_plans_are_the_printed_plans(self):
        blocks = re.findall(r"```\n\$ build/bin/evenkeelctl (plan [^\n]*)\n(.*?)```", readme(), re.DOTALL)
        self.assertEqual(len(blocks), 3)
        for command, block in blocks:
            done = harness.run([harness.CTL, *command.split(), "--color", "never", "--width", "100"])
            self.assertEqual(done.returncode, 0, done.stderr)
            printed = [line.rstrip() for line in done.stdout.splitlines()]
            at = 0
            for line in block.splitlines():
                if line in ("", "..."):
                    continue
                self.assertIn(line, printed[at:], "not printed, or not in this place")
                at = printed.index(line, at) + 1
            self.assertGreater(at, 1)

    def test_the_named_lists_are_printed(self):
        text = readme()
        known = {}
        for kind in ("models", "gpus", "trainers"):
            self.assertIn(f"`evenkeelctl {kind} --local`", text)
            done = harness.run([harness.CTL, kind, "--local", "--output", "json"])
            self.assertEqual(done.returncode, 0, done.stderr)
            known[kind] = {entry["name"] for entry in json.loads(done.stdout)[kind]}
        for trainer in ("generic", "unlimited"):
            self.assertIn(f"`{trainer}`", text)
            self.assertIn(trainer, known["trainers"])


if __name__ == "__main__":
    unittest.main()
