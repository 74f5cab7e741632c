"""Tests `evenkeelctl healthcheck`, which probes run: it returns 0 exactly while the server serves."""
import signal
import threading
import time
import unittest

import harness
from harness import Server

from evenkeel.v1 import packing_pb2


class HealthcheckTest(unittest.TestCase):
    def test_says_yes_of_a_server_that_serves(self):
        with Server() as server:
            for arguments in ((), ("--service", ""), ("--service", harness.SERVICE)):
                done = server.ctl("healthcheck", *arguments)
                self.assertEqual((done.returncode, done.stdout), (0, "SERVING\n"), done.stderr)

    def test_says_no_without_a_server_and_of_another_service(self):
        nobody = f"127.0.0.1:{harness.free_port()}"
        done = harness.run([harness.CTL, "healthcheck", "--server", nobody, "--timeout", "2"])
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stderr, f"evenkeelctl: no server at {nobody}\n")
        with Server() as server:
            self.assertEqual(server.ctl("healthcheck", "--service", "other").returncode, 1)

    def test_says_no_of_a_server_that_hangs(self):
        with Server() as server:
            server.terminate(signal.SIGSTOP)
            try:
                self.assertEqual(server.ctl("healthcheck", "--timeout", "0.5").returncode, 1)
            finally:
                server.terminate(signal.SIGCONT)

    def test_says_no_while_the_server_drains(self):
        with Server("--drain-timeout", "60") as server:
            # An upload that has begun and does not end blocks the drain.
            hold = threading.Event()

            def upload():
                yield packing_pb2.PackDatasetRequest(start=packing_pb2.PackDatasetStart(rule={}, data_parallel=1))
                hold.wait(60)
            client = server.client()
            pack = client.channel.stream_stream(f"/{harness.SERVICE}/PackDataset",
                                                request_serializer=lambda message: message.SerializeToString(),
                                                response_deserializer=packing_pb2.PackDatasetResponse.FromString)
            call = pack(upload(), timeout=60)
            while server.metric("evenkeel_pack_streams") == 0:
                time.sleep(0.01)
            server.terminate()
            deadline = time.monotonic() + 20
            while (done := server.ctl("healthcheck", "--timeout", "2")).returncode == 0:
                self.assertLess(time.monotonic(), deadline)
            self.assertTrue(server.alive())
            self.assertEqual(done.returncode, 1, done.stderr)
            call.cancel()
            hold.set()
            self.assertEqual(server.wait(), 0)

    def test_bad_usage_is_told_apart(self):
        self.assertEqual(harness.run([harness.CTL, "healthcheck", "--local"]).returncode, 2)
        self.assertEqual(harness.run([harness.CTL, "healthcheck", "--no-such"]).returncode, 2)


if __name__ == "__main__":
    unittest.main()
