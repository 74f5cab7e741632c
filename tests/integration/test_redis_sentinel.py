"""Tests a shared Redis that real Sentinels watch: a failover costs no plan."""
import os
import subprocess
import tempfile
import unittest

import harness
from harness import Server, wait_for
from redis_server import SERVER, Redis
from test_plan_store import plan, small_job


class Sentinel:
    """A Sentinel that watches a primary called "plans". Use it in a with statement."""

    def __init__(self, primary):
        self.folder = tempfile.TemporaryDirectory(prefix="evenkeel-sentinel-")
        self.port = harness.free_port()
        path = os.path.join(self.folder.name, "sentinel.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"port {self.port}\nbind 127.0.0.1\ndir {self.folder.name}\n"
                       f"sentinel monitor plans 127.0.0.1 {primary} 1\n"
                       "sentinel down-after-milliseconds plans 200\nsentinel failover-timeout plans 2000\n")
        with open(os.path.join(self.folder.name, "log"), "ab") as log:
            self.process = subprocess.Popen([SERVER, path, "--sentinel"], stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL)

    def do(self, *words):
        """Returns the output of redis-cli."""
        return harness.run(["redis-cli", "-p", str(self.port), *words]).stdout.strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()


class RedisSentinelTest(unittest.TestCase):
    def test_a_failover_costs_no_plan(self):
        soon = ("--repl-diskless-sync-delay", "0")
        with Redis(*soon) as primary, Redis("--replicaof", f"127.0.0.1 {primary.port}", *soon) as replica, \
                Sentinel(primary.port) as sentinel:
            wait_for(lambda: sentinel.do("SENTINEL", "REPLICAS", "plans"))
            url = f"redis-sentinel://127.0.0.1:{harness.free_port()},127.0.0.1:{sentinel.port}#plans"
            with Server("--redis", url, "--redis-timeout=1") as server:
                before = plan(server.client(), small_job(1)).plan.plan_id
                wait_for(lambda: server.metric("evenkeel_redis_writes_total", outcome="written") == 1)
                wait_for(lambda: replica.do("DBSIZE") == primary.do("DBSIZE") != "0")
                primary.kill()
                wait_for(lambda: str(replica.port) in sentinel.do("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "plans"))
                # A replica that knows nothing reads the plan from the new primary, and the first one writes there.
                with Server("--redis", url, "--redis-timeout=1") as other:
                    self.assertEqual(plan(other.client(), small_job(1)).plan.plan_id, before)
                    self.assertEqual(other.metric("evenkeel_redis_lookups_total", outcome="hit"), 1)

                numbers = iter(range(2, 1000))

                def is_written():
                    plan(server.client(), small_job(next(numbers)))
                    return server.metric("evenkeel_redis_writes_total", outcome="written") > 1

                wait_for(is_written)

    def test_profiles_need_the_primary_itself(self):
        done = subprocess.run([harness.SERVER, "--listen=127.0.0.1:0", "--metrics-address=off", "--profile-store",
                               "redis-sentinel://127.0.0.1#profiles"], capture_output=True, text=True, timeout=60,
                              check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("name the primary itself", done.stderr)


if __name__ == "__main__":
    unittest.main()
