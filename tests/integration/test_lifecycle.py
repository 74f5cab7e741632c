"""Tests starting, stopping and dying: no request is lost on SIGTERM, and every failure explains itself."""
import os
import signal
import socket
import threading
import time
import unittest

import grpc
import harness
from harness import Client, Server, health_pb2
from evenkeel.v1 import catalog_pb2


class StartTest(unittest.TestCase):
    def test_serves_unix_socket_and_tcp_at_once(self):
        address = f"127.0.0.1:{harness.free_port()}"
        with Server(listen=[address]) as server:
            for client in (server.client(), Client(address)):
                self.assertEqual(client.health(), health_pb2.HealthCheckResponse.SERVING)
                self.assertEqual(client.health(harness.SERVICE), health_pb2.HealthCheckResponse.SERVING)
            done = harness.run([harness.CTL, "gpus", "--server", address])
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_port_in_use_is_said_and_fails(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            done = harness.run([harness.SERVER, "--listen", f"127.0.0.1:{port}",
                                "--metrics-address", f"127.0.0.1:{harness.free_port()}"])
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(str(port), done.stdout + done.stderr)
            done = harness.run([harness.SERVER, "--listen", f"127.0.0.1:{harness.free_port()}",
                                "--metrics-address", f"127.0.0.1:{port}"])
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(str(port), done.stdout + done.stderr)

    def test_unix_socket_in_use_is_not_stolen(self):
        with Server() as server:
            done = harness.run([harness.SERVER, "--listen", server.address, "--metrics-address", "off"])
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual(server.client().health(), health_pb2.HealthCheckResponse.SERVING)

    def test_socket_of_a_dead_server_is_replaced(self):
        with Server() as server:
            server.terminate(signal.SIGKILL)
            server.wait()
            path = server.address[len("unix:"):]
            self.assertTrue(os.path.exists(path))
            again = Server()
            self.addCleanup(again.__exit__)
            port = harness.free_port()
            with Server(listen=[server.address, f"127.0.0.1:{port}"]) as second:
                self.assertTrue(second.alive())
                self.assertEqual(Client(server.address).health(), health_pb2.HealthCheckResponse.SERVING)

    def test_unknown_flag_fails_and_help_explains(self):
        self.assertNotEqual(harness.run([harness.SERVER, "--no-such-flag"]).returncode, 0)
        done = harness.run([harness.SERVER, "--help"])
        self.assertEqual(done.returncode, 0)
        for flag in ("--listen", "--metrics-address"):
            self.assertIn(flag, done.stdout)


class StopTest(unittest.TestCase):
    def test_sigterm_drains_and_loses_nothing(self):
        with Server() as server:
            client = server.client()
            calls = []
            for seed in range(40):
                calls.append(client.method("PlanJob").future(harness.job_request(seed=1000 + seed), timeout=60))
            deadline = time.monotonic() + 10
            while server.metric("grpc_server_started_total", grpc_method="PlanJob") < 1:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.002)
            server.terminate()
            codes = []
            for call in calls:
                error = call.exception()
                codes.append(grpc.StatusCode.OK if error is None else error.code())
            self.assertEqual(server.wait(), 0, server.log())
        lost = [c for c in codes if c not in (grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE,
                                              grpc.StatusCode.RESOURCE_EXHAUSTED)]
        self.assertEqual(lost, [])
        self.assertGreaterEqual(codes.count(grpc.StatusCode.OK), 1)

    def test_calls_in_flight_at_sigterm_all_succeed(self):
        with Server() as server:
            client = server.client()
            client.call("ListModels", catalog_pb2.ListModelsRequest())
            # There are as many calls as the smallest queue takes, and all of them are in progress when the signal
            # comes.
            calls = [client.method("PlanJob").future(harness.job_request(seed=2000 + s), timeout=60) for s in range(8)]
            while server.metric("grpc_server_started_total", grpc_method="PlanJob") < len(calls):
                time.sleep(0.001)
            server.terminate()
            for call in calls:
                self.assertIsNone(call.exception())
            self.assertEqual(server.wait(), 0)

    def test_an_open_watch_does_not_hold_the_exit(self):
        with Server() as server:
            watch = server.client().channel.unary_stream(
                "/grpc.health.v1.Health/Watch", request_serializer=lambda m: m.SerializeToString(),
                response_deserializer=health_pb2.HealthCheckResponse.FromString)
            seen = []
            first = threading.Event()

            def read():
                try:
                    for answer in watch(health_pb2.HealthCheckRequest(service=harness.SERVICE)):
                        seen.append(answer.status)
                        first.set()
                except grpc.RpcError:
                    pass
            reader = threading.Thread(target=read)
            reader.start()
            self.assertTrue(first.wait(10))
            began = time.monotonic()
            server.terminate()
            self.assertEqual(server.wait(), 0)
            self.assertLess(time.monotonic() - began, 5)
            reader.join(10)
            self.assertEqual(seen[0], health_pb2.HealthCheckResponse.SERVING)
            self.assertIn(health_pb2.HealthCheckResponse.NOT_SERVING, seen)

    def test_sigint_ends_too_and_the_socket_is_gone(self):
        with Server() as server:
            server.terminate(signal.SIGINT)
            self.assertEqual(server.wait(), 0)
            self.assertFalse(os.path.exists(server.address[len("unix:"):]))


class ExitCodeTest(unittest.TestCase):
    def test_killed_server(self):
        with Server() as server:
            self.assertEqual(server.ctl("gpus").returncode, 0)
            server.terminate(signal.SIGKILL)
            server.wait()
            done = server.ctl("plan", "--job", harness.JOB, "--timeout", "5")
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn(server.address, done.stderr)

    def test_bad_input_is_two(self):
        with Server() as server:
            for arguments in (["plan", "--job", "no-such-file.json"], ["plan", "--no-such-flag"],
                              ["plan", "--model", "no-such-model", "--gpu", "a100-sxm-80gb", "--gpus", "8"],
                              ["plan", "--model", "llama3-8b", "--gpu", "no-such-gpu", "--gpus", "8"],
                              ["plan", "--model", "llama3-8b", "--gpu", "a100-sxm-80gb", "--gpus", "0"],
                              ["plan", "--job", "LICENSE"], ["no-such-command"]):
                with self.subTest(arguments=arguments):
                    command, *rest = arguments
                    done = server.ctl(command, *rest)
                    self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                    self.assertTrue(done.stderr.strip())

    def test_unknown_plan_is_four(self):
        with Server() as server:
            done = server.ctl("get", "plan-" + "0" * 32)
            self.assertEqual(done.returncode, 4, done.stderr)


if __name__ == "__main__":
    unittest.main()
