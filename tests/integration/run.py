#!/usr/bin/env python3
"""Runs the integration tests. Usage: run.py [PATTERN]: only tests whose name contains it. EVENKEEL_BUILD: build folder.

Last line: "integration: N passed, N failed".
"""
import os
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)


class Result(unittest.TextTestResult):
    """Says how long each test took, and counts a test with failing parts once."""

    def startTest(self, test):
        self.began = time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        seconds = time.monotonic() - self.began
        if seconds > 2:
            self.stream.writeln(f"        {seconds:.1f} s")
        super().stopTest(test)


def main():
    loader = unittest.TestLoader()
    if len(sys.argv) > 1:
        loader.testNamePatterns = [f"*{sys.argv[1]}*"]
    suite = loader.discover(HERE, pattern="test_*.py")
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, resultclass=Result).run(suite)
    bad = {str(getattr(test, "test_case", test)) for test, _ in [*result.failures, *result.errors]}
    bad |= {str(test) for test in result.unexpectedSuccesses}
    known = len(result.expectedFailures)
    good = result.testsRun - len(bad) - len(result.skipped) - known
    if known:
        print(f"integration: {known} known faults, marked as such, are not counted")
    print(f"integration: {max(good, 0)} passed, {len(bad)} failed")
    sys.exit(0 if not bad and result.testsRun else 1)


if __name__ == "__main__":
    main()
