"""Tests that exactly a server whose listener hangs ends itself. The thread that accepts is stopped by ptrace."""
import ctypes
import os
import signal
import time
import unittest

import harness
from harness import Server

RUNS_ALONE = True  # compares times

PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207
WAIT_FOR_THREADS = 0x40000000  # __WALL


def thread_called(pid, name):
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/comm", encoding="ascii") as file:
            if file.read().strip() == name:
                return int(thread)
    raise AssertionError(f"no thread is called {name}")


def hang(thread):
    """Stops one thread of a child for as long as this process lives."""
    libc = ctypes.CDLL(None, use_errno=True)
    for request in (PTRACE_SEIZE, PTRACE_INTERRUPT):
        if libc.ptrace(request, thread, None, None) != 0:
            raise OSError(ctypes.get_errno(), "ptrace")


def wait_for_end(server, thread, seconds=60):
    """Returns the exit code. A tracer reaps a traced thread, and the process does not end until then."""
    deadline = time.monotonic() + seconds
    while server.process.poll() is None:
        try:
            os.waitpid(thread, os.WNOHANG | WAIT_FOR_THREADS)
        except ChildProcessError:
            pass
        if time.monotonic() > deadline:
            raise AssertionError(server.log())
        time.sleep(0.02)
    return server.process.returncode


class SelfProbeTest(unittest.TestCase):
    def hang_and_wait(self, *arguments, listen=()):
        with Server(*arguments, listen=listen) as server:
            time.sleep(1.5)  # waits for the first answer
            self.assertEqual(server.metric("evenkeel_self_probe_failures_total"), 0)
            thread = thread_called(server.process.pid, "accept")
            hang(thread)
            began = time.monotonic()
            self.assertEqual(wait_for_end(server, thread), 3, server.log())
            print(f"(exit after {time.monotonic() - began:.1f} s) ", end="")
            self.assertIn("does not answer at its own address", server.log())
            return time.monotonic() - began

    def test_a_hanging_accept_thread_ends_the_process(self):
        self.assertLessEqual(self.hang_and_wait(), 15)

    def test_likewise_with_tcp_and_short_times(self):
        self.hang_and_wait("--self-probe-seconds", "0.5", listen=[f"127.0.0.1:{harness.free_port()}"])

    def test_without_the_probe_it_goes_on(self):
        with Server("--self-probe-seconds", "0") as server:
            thread = thread_called(server.process.pid, "accept")
            hang(thread)
            time.sleep(2)
            self.assertTrue(server.alive())
            server.terminate(signal.SIGKILL)
            self.assertEqual(wait_for_end(server, thread), -signal.SIGKILL)

    def test_an_idle_and_a_draining_server_are_alive(self):
        with Server("--self-probe-seconds", "0.1", "--drain-delay", "1") as server:
            time.sleep(1)
            server.terminate()
            time.sleep(0.5)
            client = server.client()
            self.assertEqual(client.health(), 2)  # NOT_SERVING, but it answers
            self.assertTrue(client.call("PlanJob", harness.job_request()).plan_id)
            self.assertEqual(server.wait(), 0)
            self.assertNotIn("self-probe failed", server.log())


if __name__ == "__main__":
    unittest.main()
