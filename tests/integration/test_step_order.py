"""Tests that the step orders of tests/golden/step_order/ are those of the twin that was written from the text only."""
import json
import os
import sys
import unittest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GOLDEN = os.path.join(TESTS, "golden", "step_order")
sys.path.insert(0, os.path.join(TESTS, "reference"))

import step_order_twin  # noqa: E402


class StepOrderTest(unittest.TestCase):
    def test_the_twin_makes_every_golden_order(self):
        files = sorted(name for name in os.listdir(GOLDEN) if name.endswith(".json"))
        self.assertGreater(len(files), 10)
        for name in files:
            with self.subTest(name), open(os.path.join(GOLDEN, name), encoding="utf-8") as file:
                case = json.load(file)
                expected = case.pop("order")
                work = list(zip(case.pop("vision"), case.pop("language")))
                self.assertEqual(step_order_twin.order_of(work, **case), expected)


if __name__ == "__main__":
    unittest.main()
