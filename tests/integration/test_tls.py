"""Tests TLS of the listener: who is refused, and certificates that change, or break, during calls.

EVENKEEL_ROTATIONS: rotations under load. EVENKEEL_BAD_FILE_SECONDS: how long each kind of broken file stays.
"""
import os
import shutil
import socket
import ssl
import subprocess
import threading
import time
import unittest

import grpc
import harness
from certificates import Authority, read
from harness import Server, health_pb2
from test_flood import OPTIONS, SLOW_PEERS, connect

ROTATIONS = int(os.environ.get("EVENKEEL_ROTATIONS", "20"))
BAD_FILE_SECONDS = float(os.environ.get("EVENKEEL_BAD_FILE_SECONDS", "1"))
RELOAD_SECONDS = 0.2


class TlsServer(Server):
    """A server whose TCP port speaks TLS with files in a separate folder."""

    def __init__(self, authority, *arguments, mutual=True, crls=False):
        self.authority = authority
        self.port = harness.free_port()
        self._files = harness.tempfile.TemporaryDirectory(prefix="evenkeel-tls-")
        self.certificate, self.key = (os.path.join(self._files.name, name) for name in ("tls.crt", "tls.key"))
        self.put(*authority.issue("server"))
        flags = ["--tls-cert", self.certificate, "--tls-key", self.key, "--tls-reload-seconds", str(RELOAD_SECONDS)]
        flags += ["--tls-client-ca", authority.ca] if mutual else []
        flags += ["--tls-crl-dir", authority.crls] if crls else []
        super().__init__(*flags, *arguments, listen=[f"127.0.0.1:{self.port}"])

    def put(self, certificate, key):
        """Writes one file after the other, like a careless script."""
        shutil.copy(certificate, self.certificate)
        shutil.copy(key, self.key)

    def health(self, pair=None, timeout=5, ca=None):
        """Returns whether it is SERVING, by a separate handshake."""
        client = TlsClient(self.port, ca or self.authority.ca, pair)
        try:
            return client.health(timeout=timeout)
        finally:
            client.close()

    def serial(self):
        """Returns the serial number of the certificate that a new connection gets."""
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as plain:
            with context.wrap_socket(plain) as peer:
                pem = ssl.DER_cert_to_PEM_cert(peer.getpeercert(True))
        return serial_of(pem)

    def wait_for_metric(self, name, accept, seconds=20):
        deadline = time.monotonic() + seconds
        while not accept(self.metric(name)):
            if time.monotonic() > deadline:
                raise AssertionError(f"{name} is {self.metric(name)}: {self.log()}")
            time.sleep(0.02)


class TlsClient(harness.Client):
    def __init__(self, port, ca, pair=None):
        own = {"private_key": read(pair[1]), "certificate_chain": read(pair[0])} if pair else {}
        self.channel = grpc.secure_channel(f"127.0.0.1:{port}", grpc.ssl_channel_credentials(read(ca), **own),
                                           options=OPTIONS)


def serial_of(pem):
    done = subprocess.run(["openssl", "x509", "-noout", "-serial"], input=pem, text=True, check=True,
                          stdout=subprocess.PIPE)
    return done.stdout.strip()


class RefusalTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.authority = Authority()
        cls.server = TlsServer(cls.authority, crls=True)
        cls.addClassCleanup(cls.server.__exit__)
        cls.client = cls.authority.issue("client", "URI:spiffe://example.org/ns/ml")

    def assert_refused(self, pair, ca=None):
        with self.assertRaises(grpc.RpcError) as caught:
            self.server.health(pair, ca=ca)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAVAILABLE)
        self.assertEqual(self.server.health(self.client), health_pb2.HealthCheckResponse.SERVING)

    def test_a_good_certificate_is_taken(self):
        self.assertEqual(self.server.health(self.client), health_pb2.HealthCheckResponse.SERVING)

    def test_no_certificate(self):
        self.assert_refused(None)

    def test_another_authority(self):
        other = Authority("another authority")
        self.assert_refused(other.issue("client"))

    def test_another_authority_of_the_same_name(self):
        other = Authority()
        self.assert_refused(other.issue("client"))

    def test_expired(self):
        self.assert_refused(self.authority.issue("old", dates=("20200101000000Z", "20200201000000Z")))

    def test_not_valid_yet(self):
        self.assert_refused(self.authority.issue("early", dates=("20400101000000Z", "20410201000000Z")))

    def test_revoked_while_the_server_runs(self):
        leaver = self.authority.issue("leaver")
        self.assertEqual(self.server.health(leaver), health_pb2.HealthCheckResponse.SERVING)
        reloads = self.server.metric("evenkeel_tls_reloads_total")
        self.authority.revoke(leaver[0])
        self.server.wait_for_metric("evenkeel_tls_reloads_total", lambda value: value > reloads)
        self.assert_refused(leaver)

    def test_the_client_refuses_a_server_of_another_authority(self):
        other = Authority("another authority")
        self.assert_refused(self.client, ca=other.ca)

    def test_plaintext_is_not_answered(self):
        client = harness.Client(f"127.0.0.1:{self.server.port}", options=OPTIONS)
        self.addCleanup(client.close)
        with self.assertRaises(grpc.RpcError):
            client.health(timeout=3)
        self.assertEqual(self.server.health(self.client), health_pb2.HealthCheckResponse.SERVING)

    def test_tls_1_1_is_not_spoken(self):
        for version, good in (("-tls1_1", False), ("-tls1_2", True), ("-tls1_3", True)):
            done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{self.server.port}", version,
                                   "-cipher", "DEFAULT@SECLEVEL=0", "-alpn", "h2", "-CAfile", self.authority.ca,
                                   "-cert", self.client[0], "-key", self.client[1]], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30, check=False)
            self.assertEqual(b"Verify return code: 0 (ok)" in done.stdout and b"Cipher is (NONE)" not in done.stdout,
                             good, version.encode() + done.stdout)

    def test_the_unix_socket_stays_plain(self):
        self.assertEqual(self.server.client().health(), health_pb2.HealthCheckResponse.SERVING)

    def test_evenkeelctl(self):
        address = f"localhost:{self.server.port}"
        files = ["--tls-ca", self.authority.ca, "--tls-cert", self.client[0], "--tls-key", self.client[1]]
        done = harness.run([harness.CTL, "gpus", "--server", address, *files])
        self.assertEqual(done.returncode, 0, done.stderr)
        done = harness.run([harness.CTL, "gpus", "--server", f"127.0.0.1:{self.server.port}", *files,
                            "--tls-server-name", "localhost"])
        self.assertEqual(done.returncode, 0, done.stderr)
        done = harness.run([harness.CTL, "gpus", "--server", address, "--tls-ca", self.authority.ca])
        self.assertEqual(done.returncode, 3, done.stderr)
        done = harness.run([harness.CTL, "gpus", "--server", address, "--tls-ca", "no-such-file"])
        self.assertEqual(done.returncode, 2, done.stderr)
        done = harness.run([harness.CTL, "gpus", "--server", address, "--tls-cert", self.client[0]])
        self.assertEqual(done.returncode, 2, done.stderr)

    def test_half_open_handshakes_are_cut_off(self):
        port = self.server.port
        arguments = ("--handshake-timeout", "2")
        with TlsServer(self.authority, *arguments) as server:
            peers = connect(server.port, SLOW_PEERS)
            for peer in peers:
                peer.sendall(b"\x16\x03\x01\x02\x00\x01")  # the beginning of a ClientHello
            self.assertEqual(server.health(self.client), health_pb2.HealthCheckResponse.SERVING)
            began = time.monotonic()
            for peer in peers:
                peer.settimeout(30)
                try:
                    self.assertEqual(peer.recv(1), b"")
                except ConnectionError:
                    pass
                peer.close()
            print(f"({len(peers)} cut off after {time.monotonic() - began:.1f} s) ", end="")
            self.assertLess(time.monotonic() - began, 20)
            self.assertEqual(server.health(self.client), health_pb2.HealthCheckResponse.SERVING)
        self.assertEqual(self.server.port, port)


class RotationTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.authority = Authority()
        cls.client = cls.authority.issue("client")

    def test_rotations_under_load_fail_no_call(self):
        pairs = [self.authority.issue(f"server{i}") for i in range(4)]
        with TlsServer(self.authority) as server:
            answers, failures, stop = [0, 0], [], threading.Event()

            def call(kind):
                kept = TlsClient(server.port, self.authority.ca, self.client)
                while not stop.is_set():
                    client = kept if kind == 0 else TlsClient(server.port, self.authority.ca, self.client)
                    try:
                        client.health(timeout=20)
                        answers[kind] += 1
                    except grpc.RpcError as error:
                        failures.append(str(error))
                    if kind == 1:
                        client.close()
                    time.sleep(0.001)
                kept.close()
            threads = [threading.Thread(target=call, args=(i % 2,)) for i in range(4)]
            for thread in threads:
                thread.start()
            serials = set()
            for i in range(ROTATIONS):
                server.put(*pairs[i % len(pairs)])
                server.wait_for_metric("evenkeel_tls_reloads_total", lambda value, at=i: value > at)
                serials.add(server.serial())
            stop.set()
            for thread in threads:
                thread.join()
            print(f"({ROTATIONS} rotations, {answers[0]} calls on kept and {answers[1]} on new connections) ", end="")
            self.assertEqual(failures, [])
            self.assertEqual(len(serials), len(pairs))
            self.assertGreater(min(answers), ROTATIONS)
            # Hosts with old certificates end with their last connection.
            deadline = time.monotonic() + 20
            while server.metric("evenkeel_connections") > 0 and time.monotonic() < deadline:
                time.sleep(0.1)
            self.assertEqual(server.health(self.client), health_pb2.HealthCheckResponse.SERVING)

    def test_broken_files_keep_the_old_certificate(self):
        good = self.authority.issue("good")
        other = self.authority.issue("other")
        expired = self.authority.issue("expired", dates=("20200101000000Z", "20200201000000Z"))
        empty, cut = self.authority.path("empty"), self.authority.path("cut")
        with open(empty, "wb"):
            pass
        with open(cut, "wb") as file:
            file.write(read(other[0])[:300])
        with TlsServer(self.authority) as server:
            before = server.serial()
            for name, certificate, key in (("empty certificate", empty, good[1]), ("empty key", good[0], empty),
                                           ("cut off", cut, other[1]), ("mismatched", other[0], good[1]),
                                           ("expired", *expired), ("missing", None, None)):
                with self.subTest(name):
                    if certificate:
                        server.put(certificate, key)
                    else:
                        os.unlink(server.certificate)
                    failed = server.metric("evenkeel_tls_reload_failures_total")
                    server.wait_for_metric("evenkeel_tls_reload_failures_total", lambda value, at=failed: value > at)
                    end = time.monotonic() + BAD_FILE_SECONDS
                    while time.monotonic() < end:
                        self.assertEqual(server.metric("evenkeel_tls_files_ok"), 0)
                        self.assertEqual(server.serial(), before)
                        self.assertEqual(server.health(self.client), health_pb2.HealthCheckResponse.SERVING)
                    self.assertTrue(server.alive(), server.log())
            server.put(*good)
            server.wait_for_metric("evenkeel_tls_files_ok", lambda value: value == 1)
            self.assertEqual(server.serial(), serial_of(read(good[0]).decode()))
            expiry = server.metric("evenkeel_cert_expiry_timestamp_seconds")
            self.assertAlmostEqual(expiry, time.time() + 30 * 86400, delta=86400)
            self.assertIn("TLS files cannot be used", server.log("TLS files cannot"))

    def test_a_server_does_not_start_with_broken_files(self):
        good, other = self.authority.issue("good"), self.authority.issue("other")
        for certificate, key, what in ((good[0], other[1], "is not the key of"), ("LICENSE", good[1], "no certificate"),
                                       (good[0], "no-such-file", "cannot be read")):
            done = harness.run([harness.SERVER, "--listen", f"127.0.0.1:{harness.free_port()}", "--metrics-address",
                                "off", "--tls-cert", certificate, "--tls-key", key])
            self.assertEqual(done.returncode, 1)
            self.assertIn(what, done.stderr)


class PlaintextTest(unittest.TestCase):
    def test_beyond_loopback_it_must_be_asked_for(self):
        address = f"0.0.0.0:{harness.free_port()}"
        done = harness.run([harness.SERVER, "--listen", address, "--metrics-address", "off"])
        self.assertEqual(done.returncode, 2)
        for part in (address, "--tls-cert", "--allow-plaintext"):
            self.assertIn(part, done.stderr)
        with Server("--allow-plaintext=true", listen=[address]) as server:
            self.assertTrue(server.alive())


if __name__ == "__main__":
    unittest.main()
