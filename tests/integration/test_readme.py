"""Tests that the output shown in README.md is what the program prints."""
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


if __name__ == "__main__":
    unittest.main()
