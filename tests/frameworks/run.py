"""Runs every check and counts tests. A test fails once, however many of its cases fail."""
import sys
import unittest

import check_frameworks
import check_loss_memory
import check_manifests


def main():
    loader, suite = unittest.defaultTestLoader, unittest.TestSuite()
    for module in (check_manifests, check_frameworks, check_loss_memory):
        suite.addTests(loader.loadTestsFromModule(module))
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(suite)
    # A subtest has its test as test_case. A class that could not be set up is a separate failure.
    failed = {getattr(test, "test_case", test).id() for test, _ in result.failures + result.errors}
    passed = result.testsRun - sum(1 for name in failed if not name.startswith("setUpClass"))
    print(f"frameworks: {passed} passed, {len(failed)} failed")
    return 1 if failed or not result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main())
