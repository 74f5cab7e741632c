"""Runs the containers of each overlay as rendered: settings, users, groups, read-only roots, probes."""
import base64
import os
import time
import unittest

import certificates
import manifests
from pod import ADDRESS, Pod, plan

PASSWORD = "correct-horse-battery-staple"
REDIS = ("evenkeel-redis-plans", "evenkeel-redis-profiles")
CLIENT = "spiffe://cluster.local/ns/evenkeel/sa/client"


def data(found, secrets=None):
    """Returns {(kind, name): {key: text}} of ConfigMaps, and of the secrets that operators make."""
    maps = {("ConfigMap", item["metadata"]["name"]): item["data"] for item in found if item["kind"] == "ConfigMap"}
    return {**maps, ("Secret", "evenkeel-redis"): {"password": PASSWORD}, **(secrets or {})}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Deployed:
    """The pods of an overlay, in one network. `planner` is a replica's container. `settings` override the overlay's."""

    def __init__(self, test, overlay, secrets=None, **settings):
        found = manifests.objects(overlay)
        self.pods = {}
        kinds = {item["metadata"]["name"]: template for item, template in manifests.templates(found)}
        for name in sorted(kinds, key=lambda name: name == "evenkeel"):  # the planner last: it needs Redis
            network = next(iter(self.pods.values()), None)
            objects = data(found, secrets)
            for (kind, at), content in objects.items():
                if kind == "ConfigMap" and at.startswith("evenkeel-settings"):
                    content.update(settings)
            self.pods[name] = Pod(kinds[name], objects, REDIS, network)
            test.addCleanup(self.pods[name].__exit__)
            container = kinds[name]["spec"]["containers"][0]["name"]
            probe = "startupProbe" if name == "evenkeel" else "readinessProbe"
            self.pods[name].start(container).wait_until(probe)
        self.planner = self.pods["evenkeel"].containers["evenkeel"]


class OverlayTest(unittest.TestCase):
    def check_server(self, deployed):
        for name in ("startupProbe", "readinessProbe", "livenessProbe"):
            self.assertEqual(deployed.planner.probe(name).returncode, 0, name)
        status = deployed.planner.run("evenkeelctl", "status", "--admin", "unix:/run/evenkeel/admin.sock")
        self.assertEqual(status.returncode, 0, status.stderr)
        self.assertIn("workers", status.stdout)
        self.assertIn("\nevenkeel_workers 2\n", self.metrics(deployed))  # the CPU limit of the manifest

    def test_standalone(self):
        deployed = Deployed(self, "standalone")
        self.check_server(deployed)
        self.assertIn("plan_id", plan(deployed.planner))
        grace = deployed.pods["evenkeel"].spec["terminationGracePeriodSeconds"]
        self.assertLess(float(deployed.planner.environment["EVENKEEL_DRAIN_DELAY"]), grace)
        self.assertEqual(deployed.planner.stop(), 0)

    def metrics(self, deployed):
        return deployed.planner.run("/usr/bin/python3", "-c", "import urllib.request; print(urllib.request.urlopen("
                                    f"'http://{ADDRESS}:9464/metrics').read().decode())").stdout

    def test_redis_shares_plans(self):
        # The timeout is generous, because the machine may be slow: the test checks whether they find each other.
        deployed = Deployed(self, "redis", EVENKEEL_REDIS_TIMEOUT="1")
        self.check_server(deployed)
        found = plan(deployed.planner)
        end = time.monotonic() + 20
        while 'evenkeel_redis_writes_total{outcome="written"} 1' not in self.metrics(deployed):
            self.assertLess(time.monotonic(), end)
        deployed.planner.stop()
        replica = deployed.pods["evenkeel"].start("evenkeel").wait_until("startupProbe")
        self.assertEqual(plan(replica)["plan_id"], found["plan_id"])
        self.assertIn('"served_from":"shared"', replica.log())

    def redis(self, deployed, which, *words):
        """Returns the answer to a client on another machine."""
        port = {"plans": "6380", "profiles": "6379"}[which]
        done = deployed.planner.run("redis-cli", "--no-auth-warning", "-h", f"evenkeel-redis-{which}", "-p", port,
                                    *words)
        return done.stdout + done.stderr

    def test_redis_lets_nobody_in_without_the_password(self):
        deployed = Deployed(self, "redis")
        for which in ("plans", "profiles"):
            self.assertIn("NOAUTH", self.redis(deployed, which, "ping"))
            user = ("--user", "evenkeel", "--pass")
            self.assertIn("WRONGPASS", self.redis(deployed, which, *user, "replace-me", "ping"))
            self.assertEqual(self.redis(deployed, which, *user, PASSWORD, "ping"), "PONG\n")
        self.assertIn("appendonlydir", os.listdir(deployed.pods["evenkeel-redis-profiles"].volume("data")))

    def tls(self, overlay):
        """Returns the overlay with certificates like cert-manager's, and the authority."""
        authority = certificates.Authority()
        certificate, key = authority.issue("evenkeel", san="DNS:evenkeel.evenkeel")
        secret = {"ca.crt": read(authority.ca), "tls.crt": read(certificate), "tls.key": read(key)}
        secrets = {("Secret", "evenkeel-tls"): secret}
        if overlay == "production":
            certificate, key = authority.issue("redis", san="DNS:evenkeel-redis-plans,DNS:evenkeel-redis-profiles")
            secrets["Secret", "evenkeel-redis-tls"] = {**secret, "tls.crt": read(certificate), "tls.key": read(key)}
        return Deployed(self, overlay, secrets, EVENKEEL_REDIS_TIMEOUT="1"), authority

    def ask(self, deployed, authority, uri):
        """Asks for the plan over TLS, as a client with that URI or without a certificate."""
        server = deployed.planner
        arguments = ["--server", f"{ADDRESS}:50051", "--tls-server-name", "evenkeel.evenkeel"]
        files = {"ca": authority.ca}
        if uri:
            files["cert"], files["key"] = authority.issue("client", san=f"URI:{uri}")
        script = "".join(f"echo {base64.b64encode(read(path).encode()).decode()} | base64 -d >/run/evenkeel/{name}\n"
                         for name, path in files.items())
        arguments += [f"--tls-{name}=/run/evenkeel/{name}" for name in files]
        script += 'exec evenkeelctl plan --model llama3-8b --gpu h100-sxm-80gb --gpus 8 "$@"'
        return server.run("sh", "-euc", script, "sh", *arguments)

    def test_tls(self):
        deployed, authority = self.tls("tls")
        self.check_server(deployed)
        done = self.ask(deployed, authority, CLIENT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("plan-", done.stdout)
        self.assertIn("does not let you call PlanJob",
                      self.ask(deployed, authority, "spiffe://cluster.local/ns/other/sa/client").stderr)
        self.assertNotEqual(self.ask(deployed, authority, None).returncode, 0)
        plain = deployed.planner.run("evenkeelctl", "list", "--server", f"{ADDRESS}:50051", "--timeout", "3")
        self.assertNotEqual(plain.returncode, 0)

    def test_everything_together(self):
        deployed, authority = self.tls("production")
        self.check_server(deployed)
        done = self.ask(deployed, authority, CLIENT)
        self.assertEqual(done.returncode, 0, done.stderr)
        for which in REDIS:
            self.assertEqual(deployed.pods[which].containers["redis"].probe("livenessProbe").returncode, 0, which)
        # Both Redis speak TLS only, and the planner speaks it with them.
        self.assertNotIn("NOAUTH", self.redis(deployed, "plans", "ping"))
        self.assertIn("NOAUTH", self.redis(deployed, "plans", "--tls", "--insecure", "ping"))
        end = time.monotonic() + 20
        while 'evenkeel_redis_writes_total{outcome="written"} 1' not in self.metrics(deployed):
            self.assertLess(time.monotonic(), end)
        self.assertEqual(deployed.planner.stop(), 0)

    def test_a_sidecar_ends_well(self):
        job = manifests.named(manifests.objects("training-job"), "Job", "train")
        with Pod(job["spec"]["template"]) as pod:
            sidecar = pod.start("evenkeel").wait_until("startupProbe")
            self.assertIn("plan_id", plan(sidecar, user=1000, group=1000))
            self.assertEqual(sidecar.stop(), 0)


if __name__ == "__main__":
    unittest.main()
