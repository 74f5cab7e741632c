#!/usr/bin/env python3
"""Counts single tests of a ctest run. Usage: tally.py JUNIT_XML GTEST_JSON_FOLDER

ctest knows programs; the programs know their tests (GTEST_OUTPUT=json:FOLDER/). A program that failed without naming a
failed test (a crash, a timeout) counts as one failure. Last line: "N passed, N failed"; exit status 1 if any failed.
"""
import json
import os
import sys
import xml.etree.ElementTree


def tally_program(case, folder):
    """Returns (passed, names of failed tests) of one program."""
    name = case.get("name")
    program_failed = case.get("status") != "run"
    passed, failed = 0, []
    path = os.path.join(folder, name + ".json")
    if os.path.exists(path) and os.path.getsize(path):
        with open(path, encoding="utf-8") as file:
            suites = json.load(file)["testsuites"]
        for suite in suites:
            for test in suite["testsuite"]:
                if test["status"] != "RUN" or test.get("result") == "SKIPPED":
                    continue
                if test.get("failures"):
                    failed.append(f"{suite['name']}.{test['name']}")
                else:
                    passed += 1
    elif not program_failed:
        passed = 1
    if program_failed and not failed:
        failed = [name + " (ended early)"]
    return passed, failed


def main():
    junit, folder = sys.argv[1:]
    all_passed, all_failed = 0, []
    for case in xml.etree.ElementTree.parse(junit).getroot().iter("testcase"):
        passed, failed = tally_program(case, folder)
        print(f"{case.get('name')}: {passed} passed, {len(failed)} failed, {float(case.get('time')):.1f} s")
        all_passed += passed
        all_failed += failed
    for name in all_failed:
        print(f"FAILED  {name}")
    if not all_passed and not all_failed:
        all_failed.append("no tests found")
    print(f"{all_passed} passed, {len(all_failed)} failed")
    sys.exit(1 if all_failed else 0)


if __name__ == "__main__":
    main()
