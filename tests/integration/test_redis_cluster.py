"""Tests a Redis that is part of a cluster, which is not supported: plans are computed, and the log says why."""
import itertools
import unittest
import urllib.request

import harness
from harness import Server, wait_for
from redis_server import DURABLE, Redis
from test_plan_store import plan, small_job


class RedisClusterTest(unittest.TestCase):
    def setUp(self):
        self.redis = self.enterContext(Redis("--cluster-enabled", "yes", "--cluster-port", str(harness.free_port()),
                                             *DURABLE))

    def test_plans_are_computed_and_the_log_names_the_cluster(self):
        admin = f"127.0.0.1:{harness.free_port()}"
        with Server("--redis", self.redis.url, "--redis-timeout=1", "--admin-address", admin) as server:
            client = server.client()
            numbers = itertools.count()

            def is_left_alone():
                plan(client, small_job(next(numbers)))
                return server.metric("evenkeel_redis_breaker_state") == 2

            wait_for(is_left_alone)
            self.assertIn("is part of a Redis Cluster, which is not supported",
                          server.log("shared redis", "CLUSTERDOWN"))
            with urllib.request.urlopen(f"http://{admin}/statusz", timeout=10) as reply:
                self.assertIn("the log says why", reply.read().decode())

    def test_a_profile_store_stops_the_start(self):
        done = harness.run([harness.SERVER, "--listen=127.0.0.1:0", "--metrics-address=off", "--profile-store",
                            self.redis.url])
        self.assertEqual(done.returncode, 1)
        self.assertIn("is part of a Redis Cluster, which is not supported: name a Redis outside of one", done.stderr)


if __name__ == "__main__":
    unittest.main()
