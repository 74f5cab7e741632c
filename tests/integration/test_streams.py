"""Tests that evenkeelctl survives streams that are closed, full or not read: no abort, and lost output is an error."""
import json
import os
import signal
import subprocess
import tempfile
import unittest

import harness

PLAN = ["plan", "--local", "--model", "llama3-8b", "--gpu", "h100-sxm-80gb", "--gpus", "8"]
HIDDEN = "\u202e\u2028\u2029\u2066\u200e\u061c\u0085\u009b\u200b"


def shell(arguments, redirection):
    """Returns the exit status under a shell's redirections."""
    return subprocess.run(["bash", "-o", "pipefail", "-c", f'"$0" "$@" {redirection}', harness.CTL, *arguments],
                          check=False, capture_output=True, timeout=harness.TIMEOUT_SECONDS).returncode


class StreamsTest(unittest.TestCase):
    def test_nobody_hears_of_errors(self):
        for silent in ("2>&-", "2>/dev/full", "2> >(true)", "2>&- <&-"):
            with self.subTest(silent=silent):
                self.assertEqual(shell(["version"], silent), 0)
                self.assertEqual(shell(PLAN, silent), 0)
                self.assertEqual(shell([*PLAN, "--no-such-flag"], silent), 2)
                self.assertEqual(shell([*PLAN, "--model", "none-such"], silent), 2)
                self.assertEqual(shell([], silent), 2)

    def test_output_that_is_lost_is_an_error(self):
        for lost in (">&-", ">/dev/full", ">&- 2>&-", ">/dev/full 2>/dev/full", "| true"):
            for arguments in (["version"], ["--help"], ["plan", "--help"], PLAN, [*PLAN, "--output", "json"]):
                with self.subTest(lost=lost, arguments=arguments[:1]):
                    got = shell(arguments, lost)
                    # If nobody reads, the output may still fit into the pipe. Else SIGPIPE ends the program.
                    self.assertIn(got, (0, 128 + signal.SIGPIPE) if lost == "| true" else (4,))

    def test_a_closed_stream_gets_no_file_in_its_place(self):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "report.html")
            self.assertEqual(shell([*PLAN, "--html", out, "--model", "none-such"], ">&- 2>&- <&-"), 2)
            self.assertEqual(os.listdir(folder), [])

    def test_text_of_callers_is_written_out(self):
        """Tries names with direction controls and separators: on the terminal, in JSON, in errors."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "job.json")
            job = {"job": {"model": {"name": "llama3-8b"}, "cluster": {"pools": [
                {"gpu_type": "h100-sxm-80gb", "gpu_count": 8}]},
                "dataset": {"parts": [{"name": f"a{HIDDEN}b"}, {"name": f"a{HIDDEN}b"}]}}}
            with open(path, "w", encoding="utf-8") as file:
                json.dump(job, file)
            runs = [harness.run([harness.CTL, "plan", "--local", "--job", path]),
                    harness.run([harness.CTL, "plan", "--local", "--model", f"x{HIDDEN}", "--gpu", f"y{HIDDEN}",
                                 "--gpus", "8"]),
                    harness.run([harness.CTL, "plan", "--local", f"--z{HIDDEN}"]),
                    harness.run([harness.CTL, "plan", "--local", "--job", f"{folder}/{HIDDEN}"])]
            for done in runs:
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn("\\u202e", done.stderr)
                for hidden in HIDDEN:
                    self.assertNotIn(hidden, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
