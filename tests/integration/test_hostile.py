"""Tests hostile and faulty peers: the server refuses them, stays alive, and keeps answering others."""
import random
import socket
import time
import unittest

import grpc
import harness
from harness import Client, Server, error_details, health_pb2


class HostileTest(unittest.TestCase):
    def setUp(self):
        self.port = harness.free_port()
        self.server = Server(listen=[f"127.0.0.1:{self.port}"])
        self.addCleanup(self.server.__exit__)

    def assert_serving(self):
        self.assertTrue(self.server.alive(), self.server.log())
        self.assertEqual(Client(f"127.0.0.1:{self.port}").health(), health_pb2.HealthCheckResponse.SERVING)

    def send(self, data):
        """Returns the bytes that come back until the server closes the connection or is silent for half a second."""
        back = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout=0.5) as peer:
            try:
                peer.sendall(data)
                while chunk := peer.recv(4096):
                    back += chunk
            except OSError:
                pass
        return back

    def test_random_bytes(self):
        chance = random.Random(7)
        for length in (1, 24, 1000, 100000):
            self.send(chance.randbytes(length))
        preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        for _ in range(5):
            self.send(preface + chance.randbytes(2000))
        self.send(preface + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00" + b"\xff" * 300)
        self.assert_serving()

    def test_http1_request(self):
        self.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assert_serving()

    def test_gzip_is_refused_and_not_inflated(self):
        bomb = b"\0" * (64 << 20)
        before = self.server.resident_bytes()
        client = self.server.client(compression=grpc.Compression.Gzip)
        call = client.channel.unary_unary(f"/{harness.SERVICE}/PlanJob")
        with self.assertRaises(grpc.RpcError) as caught:
            call(bomb, timeout=30)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.UNIMPLEMENTED)
        self.assertLess(self.server.resident_bytes() - before, 16 << 20)
        self.assert_serving()

    def test_two_mebibytes_are_refused(self):
        call = self.server.client().channel.unary_unary(f"/{harness.SERVICE}/PlanJob")
        with self.assertRaises(grpc.RpcError) as caught:
            call(b"\0" * (2 << 20), timeout=30)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.assert_serving()

    def test_bytes_that_are_no_message(self):
        call = self.server.client().channel.unary_unary(f"/{harness.SERVICE}/PlanJob")
        with self.assertRaises(grpc.RpcError) as caught:
            call(b"\xff" * 100, timeout=30)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
        self.assertEqual(error_details(caught.exception)["ErrorInfo"].reason, "MALFORMED_REQUEST")

    def test_unknown_method_and_service(self):
        for path in (f"/{harness.SERVICE}/Nothing", "/nothing.v1.Nothing/Nothing"):
            with self.assertRaises(grpc.RpcError) as caught:
                self.server.client().channel.unary_unary(path)(b"", timeout=10)
            self.assertEqual(caught.exception.code(), grpc.StatusCode.UNIMPLEMENTED)

    def test_every_violation_comes_at_once_with_its_path(self):
        request = harness.job_request()
        request.job.model.name = "no-such-model"
        request.job.cluster.pools[0].gpu_count = -1
        request.job.training.epochs = -5
        request.job.dataset.histogram.sample_count[0] = 0
        request.max_violations = -1
        with self.assertRaises(grpc.RpcError) as caught:
            self.server.client().call("PlanJob", request)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
        details = error_details(caught.exception)
        fields = {v.field for v in details["BadRequest"].field_violations}
        self.assertLessEqual({"job.model.name", "job.cluster.pools[0].gpu_count", "job.training.epochs",
                              "job.dataset.histogram.sample_count[0]", "max_violations"}, fields)
        self.assertEqual(details["ErrorInfo"].domain, "evenkeel.dev")

    def test_a_deadline_ends_the_call(self):
        with self.assertRaises(grpc.RpcError) as caught:
            self.server.client().call("PlanJob", harness.job_request(seed=99), timeout=0.001)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
        self.assert_serving()


class RequestIdTest(unittest.TestCase):
    def test_request_id_comes_back_and_into_the_log(self):
        with Server() as server:
            call = server.client().method("ListPlans")
            request = harness.planner_service_pb2.ListPlansRequest()
            _, done = call.with_call(request, metadata=[("x-request-id", "abc-123")], timeout=10)
            headers = dict([*done.initial_metadata(), *done.trailing_metadata()])
            self.assertEqual(headers.get("x-request-id"), "abc-123")
            _, done = call.with_call(request, timeout=10)
            self.assertTrue(dict([*done.initial_metadata(), *done.trailing_metadata()]).get("x-request-id"))
            self.assertIn("abc-123", server.log("abc-123"))


if __name__ == "__main__":
    unittest.main()
