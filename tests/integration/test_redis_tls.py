"""Tests both uses of a Redis that speaks TLS only to replicas: sharing, a restart, certificates that prove nothing."""
import itertools
import os
import subprocess
import tempfile
import unittest

import certificates
import harness
from harness import Server, wait_for
from redis_server import DURABLE, Redis
from test_plan_store import plan, small_job
from test_shared_profiles import notes, profile, record

STORE = os.path.join(harness.BUILD, "bin", "evenkeel-store")


class TlsRedis(Redis):
    """A Redis with a second port, which speaks TLS and asks for certificates."""

    def __init__(self, authority, certificate, key):
        self.tls_port = harness.free_port()
        super().__init__("--tls-port", str(self.tls_port), "--tls-cert-file", certificate, "--tls-key-file", key,
                         "--tls-ca-cert-file", authority.ca, "--tls-auth-clients", "yes", *DURABLE)

    @property
    def url(self):
        return f"rediss://127.0.0.1:{self.tls_port}"


class RedisTlsTest(unittest.TestCase):
    def setUp(self):
        self.authority = certificates.Authority()
        self.redis = self.enterContext(TlsRedis(self.authority, *self.authority.issue("redis")))
        self.files = ("--redis-tls-ca", self.authority.ca,
                      *(word for pair in zip(("--redis-tls-cert", "--redis-tls-key"),
                                             self.authority.issue("planner")) for word in pair))

    def replica(self, *arguments, **options):
        # The budget is generous, because the machine may be slow.
        return Server("--redis", self.redis.url, "--redis-timeout=1", *self.files, *arguments, **options)

    def test_replicas_share_plans_and_profiles(self):
        shared = ("--profile-store", self.redis.url)
        with self.replica(*shared) as one, self.replica(*shared) as other:
            record(one.client(), profile(1))
            wait_for(lambda: 1 in notes(other.client()))
            found = plan(one.client(), small_job(1))
            wait_for(lambda: one.metric("evenkeel_redis_writes_total", outcome="written") == 1)
            self.assertEqual(plan(other.client(), small_job(1)).plan.plan_id, found.plan.plan_id)
            self.assertEqual(other.metric("evenkeel_redis_lookups_total", outcome="hit"), 1)

    def test_a_certificate_that_expired_costs_computations_only(self):
        good = {end: certificates.read(self.authority.path("redis" + end)) for end in (".pem", ".key")}
        with self.replica("--redis-timeout=0.05") as server:
            client = server.client()
            plan(client, small_job(1))
            wait_for(lambda: server.metric("evenkeel_redis_writes_total", outcome="written") == 1)
            self.redis.kill()
            self.authority.issue("redis", dates=("20240101000000Z", "20240201000000Z"))
            self.redis.start()
            for number in range(2, 7):
                plan(client, small_job(number))
            self.assertIn("certificate has expired", server.log("shared redis", "certificate has expired"))
            self.redis.kill()
            for end, content in good.items():
                with open(self.authority.path("redis" + end), "wb") as file:
                    file.write(content)
            self.redis.start()
            numbers = itertools.count(7)

            def is_used_again():
                plan(client, small_job(next(numbers)))
                return "it is used again" in server.log()

            wait_for(is_used_again)

    def test_a_profile_store_that_proves_nothing_stops_the_start(self):
        stranger = certificates.Authority("stranger")
        for files, why in ((("--redis-tls-ca", stranger.ca), "its certificate is not accepted"),
                           (("--redis-tls-ca", self.authority.ca), "certificate"),
                           (("--redis-tls-ca", "/none"), "/none holds no certificates of authorities")):
            done = subprocess.run([harness.SERVER, "--listen=127.0.0.1:0", "--metrics-address=off", "--profile-store",
                                   self.redis.url, *files], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(why, done.stderr)

    def test_settings_belong_together(self):
        for words, why in ((("--redis-tls-ca", self.authority.ca), "rediss:// or rediss-sentinel:// address"),
                           (("--redis", self.redis.url, "--redis-tls-cert", "a"), "belong together"),
                           (("--redis", self.redis.url, "--redis-tls-ca=off"), "must be a path, or system")):
            done = subprocess.run([harness.SERVER, *words], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(why, done.stderr)

    def test_backups(self):
        with self.replica("--profile-store", self.redis.url) as server, tempfile.TemporaryDirectory() as folder:
            record(server.client(), profile(1))
            backup = os.path.join(folder, "backup")
            words = [word.replace("--redis-tls", "--tls") for word in self.files]
            done = harness.run([STORE, "dump", self.redis.url, backup, *words])
            self.assertEqual((done.stdout, done.stderr), ("1 revisions\n", ""))
            done = harness.run([STORE, "dump", self.redis.url, backup, *words[:2]])
            self.assertIn("certificate", done.stderr)


if __name__ == "__main__":
    unittest.main()
