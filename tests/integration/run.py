#!/usr/bin/env python3
"""Runs the integration tests, each file in a process of its own, twice as many at a time as there are processors: they
wait about half of the time. Those that take longest start first.

Usage: run.py [PATTERN]: only tests whose name contains it. EVENKEEL_BUILD: build folder. EVENKEEL_TEST_JOBS: how many
files run at a time. A file that sets RUNS_ALONE = True has the machine to itself, because it compares times. A file
that does not end is killed, and what its threads did is printed.

What failed is printed once more at the end. Last line: "integration: N passed, N failed".
"""
import concurrent.futures
import faulthandler
import glob
import os
import re
import signal
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT_SECONDS = 600
LONGEST = ("test_evaluate_from.py", "test_plan.py", "test_python_lengths.py", "test_rules.py", "test_replicas.py",
           "test_shared_profiles.py")  # 40 to 80 s each
FILE_FLAG = "--file"
sys.path.insert(0, HERE)


class Result(unittest.TextTestResult):
    """Reports how long each test took, and counts a test with failing parts once."""

    def startTest(self, test):
        self.began = time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        seconds = time.monotonic() - self.began
        if seconds > 2:
            self.stream.writeln(f"        {seconds:.1f} s")
        super().stopTest(test)


def run_file(name, pattern):
    """Runs one file's tests in this process and prints the line that `tally` reads."""
    faulthandler.enable()  # prints what each thread did, also on SIGABRT
    loader = unittest.TestLoader()
    if pattern:
        loader.testNamePatterns = [f"*{pattern}*"]
    suite = loader.discover(HERE, pattern=name)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, resultclass=Result).run(suite)
    bad = {str(getattr(test, "test_case", test)) for test, _ in [*result.failures, *result.errors]}
    bad |= {str(test) for test in result.unexpectedSuccesses}
    known = len(result.expectedFailures)
    good = result.testsRun - len(bad) - len(result.skipped) - known
    print(f"{name}: {max(good, 0)} passed, {len(bad)} failed, {known} known", flush=True)
    sys.exit(1 if bad else 0)


def run_apart(name, pattern):
    """Runs one file's tests in a separate process. Returns its output, without the tally if it did not end."""
    command = [sys.executable, os.path.abspath(__file__), FILE_FLAG, name, *pattern]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          start_new_session=True) as process:
        try:
            output, _ = process.communicate(timeout=LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)
            time.sleep(1)
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            output += f"\n{name}: FAILED: did not end within {LIMIT_SECONDS} s\n".encode()
    return output.decode(errors="replace")


def tally(name, output):
    """Returns how many tests of a file passed, failed, and fail as known. If the output does not end with its tally,
    the file failed as a whole."""
    found = re.search(rf"^{re.escape(name)}: (\d+) passed, (\d+) failed, (\d+) known\s*\Z", output, re.MULTILINE)
    return tuple(map(int, found.groups())) if found else (0, 1, 0)


def texts_of(pattern):
    """Returns the text of each test file that may have a test whose name contains the pattern."""
    words = re.split(r"[.*]", pattern[0]) if pattern else []
    texts = {}
    for path in sorted(glob.glob(os.path.join(HERE, "test_*.py"))):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if all(word in path + text for word in words):
            texts[os.path.basename(path)] = text
    return texts


def main():
    if FILE_FLAG in sys.argv:
        run_file(sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "")
    pattern = sys.argv[1:2]
    # The messages of the contract are generated once, and all files use these.
    import harness  # pylint: disable=import-outside-toplevel
    os.environ[harness.PROTOS_VARIABLE] = harness.PROTOS.name
    texts = texts_of(pattern)
    alone = [name for name, text in texts.items() if re.search(r"^RUNS_ALONE = True", text, re.MULTILINE)]
    totals = [0, 0, 0]
    failures = []

    def report(name, output):
        print(output, end="" if output.endswith("\n") else "\n", flush=True)
        for i, count in enumerate(tally(name, output)):
            totals[i] += count
        failures.extend(re.findall(r"^={70}\n((?:FAIL|ERROR): .*?)(?=^={70}$|^-{70}\nRan )", output,
                                   re.MULTILINE | re.DOTALL))

    jobs = int(os.environ.get("EVENKEEL_TEST_JOBS") or 2 * (os.cpu_count() or 1))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        together = sorted(texts.keys() - set(alone), key=lambda name: (name not in LONGEST, name))
        running = {pool.submit(run_apart, name, pattern): name for name in together}
        for done in concurrent.futures.as_completed(running):
            report(running[done], done.result())
    for name in alone:
        report(name, run_apart(name, pattern))
    print("\n".join(failures), end="")
    good, bad, known = totals
    if known:
        print(f"integration: {known} known faults, marked as such, are not counted")
    print(f"integration: {good} passed, {bad} failed")
    sys.exit(0 if good and not bad else 1)


if __name__ == "__main__":
    main()
