"""Tests uploads whose stream ends inside a message, by hand-made HTTP/2."""
import socket
import unittest

import harness
import http2_bytes
from harness import Server
from test_pack import chunks, dataset, serialize, start


class CutUploadTest(unittest.TestCase):
    def test_an_upload_that_is_cut_off(self):
        """A stream that ends inside a message looks to gRPC like one that ends before it. Only the announced number of
        samples shows that something is missing. Clients of this project announce it."""
        units, tokens = dataset(300)
        port = harness.free_port()
        with Server(listen=[f"127.0.0.1:{port}"]) as server:
            for announced, status in ((300, b"3"), (0, b"0")):
                first = start(sample_count=announced)
                messages = [serialize(m) for m in (first, *chunks(units, tokens, 100))]
                data = b"".join(b"\0" + len(m).to_bytes(4, "big") + m for m in messages)
                last = len(messages[-1]) + 5
                for cut in (1, 4, last - 6, last - 3, last):
                    with self.subTest(announced=announced, cut=cut):
                        self.assertEqual(self.raw_status(port, data[:-cut]), status)
                self.assertEqual(self.raw_status(port, data), b"0")
            self.assertTrue(server.alive())

    def raw_status(self, port, data):
        """Returns the grpc-status of an upload of these bytes, after which the stream ends."""
        back = b""
        with socket.create_connection(("127.0.0.1", port), timeout=20) as peer:
            peer.sendall(http2_bytes.PREFACE + http2_bytes.frame(http2_bytes.SETTINGS, 0, 0) +
                         http2_bytes.frame(http2_bytes.HEADERS, http2_bytes.END_HEADERS, 1,
                                           http2_bytes.call_headers(f"/{harness.SERVICE}/PackDataset")) +
                         http2_bytes.frame(http2_bytes.DATA, http2_bytes.END_STREAM, 1, data))
            while True:
                chunk = peer.recv(1 << 16)
                self.assertTrue(chunk, "the server closed the connection")
                back += chunk
                for kind, flags, _, payload in http2_bytes.frames(back):
                    if kind == http2_bytes.HEADERS and flags & http2_bytes.END_STREAM:
                        name = payload.index(b"grpc-status")
                        return payload[name + 12:name + 12 + payload[name + 11]]


if __name__ == "__main__":
    unittest.main()
