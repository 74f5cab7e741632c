#!/usr/bin/env python3
"""Runs the tests of this folder; run.sh installs what they need. Usage: run.py TOOLS [PATTERN]"""
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "integration")]
import manifests  # noqa: E402  pylint: disable=wrong-import-position


def main():
    manifests.TOOLS = sys.argv[1]
    loader = unittest.TestLoader()
    if len(sys.argv) > 2:
        loader.testNamePatterns = [f"*{sys.argv[2]}*"]
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(loader.discover(HERE, pattern="test_*.py"))
    bad = {str(getattr(test, "test_case", test)) for test, _ in [*result.failures, *result.errors]}
    print(f"{max(result.testsRun - len(bad) - len(result.skipped), 0)} passed, {len(bad)} failed")
    sys.exit(0 if not bad and result.testsRun else 1)


if __name__ == "__main__":
    main()
