"""Tests the policy with real processes: refusals at start, at a call and after a change; users of a unix socket."""
import json
import os
import subprocess
import tempfile
import time
import unittest

import certificates
import grpc
import harness
from evenkeel.v1 import catalog_pb2, profile_pb2
from harness import Server, error_details, health_pb2, planner_service_pb2

ROLES = {"planner.read": ["GetPlan", "ListPlans", "ListModels", "ListGpuTypes", "ListTrainers", "ListProfiles"],
         "planner.plan": ["PlanJob", "EvaluatePlan"],
         "planner.calibrate": ["RecordProfile", "RollBackProfile"]}


def rule(principals, tenant="", **grants):
    return {"principals": principals, "tenant": tenant, **grants}


def profile(seconds):
    from evenkeel.v1 import stage_pb2
    return profile_pb2.RecordProfileRequest(
        model="internvl-chat-v1.5", gpu_type="a100-sxm-80gb", tensor_parallel=2,
        layer_times=[profile_pb2.LayerTime(layer_kind=stage_pb2.LAYER_KIND_ENCODER, units=9, forward_seconds=seconds)])


class PolicyCase(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="evenkeel-auth-")
        self.addCleanup(self.folder.cleanup)
        os.chmod(self.folder.name, 0o755)
        self.path = os.path.join(self.folder.name, "policy.json")

    def write(self, *rules):
        self.write_text(json.dumps({"version": 1, "rules": list(rules)}))

    def write_text(self, text):
        """Replaces the file like a careful operator: a reader sees either the old file or the new one."""
        aside = self.path + ".new"
        with open(aside, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(aside, self.path)

    def start(self, *arguments, listen="127.0.0.1:0"):
        """Starts a server that is expected to end at once."""
        return harness.run([harness.SERVER, "--listen", listen, "--metrics-address", "off",
                            "--auth-policy", self.path, *arguments])

    def eventually(self, condition, what):
        """Waits for a condition. This is a guard, not a measurement: the file is checked every second."""
        end = time.monotonic() + 30
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.05)


class PolicyTest(PolicyCase):
    def server(self, *arguments, **options):
        server = Server("--auth-policy", self.path, *arguments, **options)
        self.addCleanup(server.__exit__)
        return server

    def code(self, client, name):
        """Returns the code of a call with an empty request. Codes other than INVALID_ARGUMENT and OK are refusals."""
        method = client.channel.unary_unary(f"/{harness.SERVICE}/{name}")
        try:
            method(b"", timeout=60)
            return grpc.StatusCode.OK
        except grpc.RpcError as error:
            return error.code()

    def test_a_bad_policy_keeps_the_server_from_starting(self):
        self.assertIn("No such file", self.start().stderr)
        for text, fault in (("{", "is not JSON: parse error at line 1, column 2"),
                            ('{"version": 1, "rules": [{"principals": ["uid:x"], "roles": ["admin"]}]}',
                             "rules[0].principals[0]: \"uid:x\" must be a number")):
            self.write_text(text)
            done = self.start()
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"policy {self.path}: {fault}", done.stderr)

    def test_a_policy_that_nobody_can_meet_is_refused(self):
        self.write(rule(["uid:1000"], roles=["admin"]))
        done = self.start()
        self.assertEqual(done.returncode, 1)
        self.assertIn("only a unix socket in --listen can prove", done.stderr)
        self.write(rule(["spiffe://example.org/*"], roles=["admin"]))
        done = self.start(listen=f"unix:{self.folder.name}/s.sock")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--tls-client-ca", done.stderr)

    def test_roles_open_their_methods_and_no_others(self):
        address = f"127.0.0.1:{harness.free_port()}"
        for role, methods in ROLES.items():
            self.write(rule(["any"], roles=[role]))
            with Server("--auth-policy", self.path, listen=[address]) as server:
                client = harness.Client(address)
                for name in sum(ROLES.values(), []):
                    refused = self.code(client, name) == grpc.StatusCode.UNAUTHENTICATED
                    self.assertEqual(refused, name not in methods, f"{name} by {role}")
                client.close()
                denied = server.metric("evenkeel_denied_total", reason="unauthenticated")
                self.assertEqual(denied, sum(len(m) for r, m in ROLES.items() if r != role))

    def test_refusals_say_why_and_health_stays_open(self):
        address = f"127.0.0.1:{harness.free_port()}"
        self.write(rule(["any"], methods=["ListModels"]))
        server = self.server(listen=[address])
        client = harness.Client(address)
        with self.assertRaises(grpc.RpcError) as caught:
            client.call("GetPlan", planner_service_pb2.GetPlanRequest(plan_id="plan-" + "0" * 32),
                        metadata=[("x-request-id", "denied-one")])
        self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAUTHENTICATED)
        info = error_details(caught.exception)["ErrorInfo"]
        self.assertEqual((info.reason, dict(info.metadata)), ("UNAUTHENTICATED", {"method": "GetPlan"}))
        self.assertGreater(len(client.call("ListModels", catalog_pb2.ListModelsRequest()).models), 0)
        self.assertEqual(client.health(), health_pb2.HealthCheckResponse.SERVING)
        described = harness.run([os.path.join(harness.TOOLS, "grpcurl"), "-plaintext", address, "list"])
        self.assertIn(harness.SERVICE, described.stdout)
        lines = [json.loads(line) for line in server.log('"code":"UNAUTHENTICATED"').splitlines()
                 if "denied-one" in line]
        self.assertEqual([(line["msg"], line["level"]) for line in lines], [("denied", "warning"), ("call", "info")])
        self.assertEqual((lines[0]["method"], lines[0]["principal"], lines[0]["code"]),
                         ("GetPlan", "ip:127.0.0.1", "UNAUTHENTICATED"))

    def test_a_change_is_taken_and_a_fault_keeps_the_policy(self):
        self.write(rule(["any"], methods=["ListModels"]))
        server = self.server()
        client = server.client()
        may = {name: lambda n=name: self.code(client, n) == grpc.StatusCode.OK
               for name in ("ListModels", "ListGpuTypes")}
        failures = lambda: server.metric("evenkeel_policy_reload_failures_total")  # noqa: E731
        self.assertTrue(may["ListModels"]() and not may["ListGpuTypes"]())
        self.write(rule(["any"], methods=["ListGpuTypes"]))
        self.eventually(may["ListGpuTypes"], "the change was not taken")
        self.assertFalse(may["ListModels"]())
        self.assertEqual(failures(), 0)
        for number, spoil in enumerate((lambda: self.write_text("{"), lambda: os.remove(self.path),
                                        lambda: self.write(rule(["uid:01"], methods=["ListModels"])))):
            before = failures()
            spoil()
            # It must be seen twice: the second check must not forget what the first one found.
            self.eventually(lambda b=before: failures() >= b + 2, f"fault {number} was not counted")
            self.assertTrue(may["ListGpuTypes"]() and not may["ListModels"]())
        faults = [line for line in server.log("rules[0].principals[0]").splitlines()
                  if "policy not taken" in line]
        self.assertEqual(len(faults), 3, faults)
        self.assertIn("rules[0].principals[0]", faults[2])
        self.write(rule(["any"], methods=["ListModels"]))
        self.eventually(may["ListModels"], "the repaired file was not taken")

    def test_a_tenant_whose_profiles_are_damaged_harms_nobody_else(self):
        store = os.path.join(self.folder.name, "profiles")
        with open(store + ".broken.lmdb", "wb") as file:
            file.write(b"x" * 10000)
        self.write(rule(["any"], "broken", roles=["admin"]))
        done = self.start("--profile-store", store)
        self.assertEqual(done.returncode, 1)
        self.assertIn("broken.lmdb: is not a profile store", done.stderr)
        self.write(rule(["any"], "fine", roles=["admin"]))
        server = self.server("--profile-store", store)
        client = server.client()
        self.assertEqual(client.call("RecordProfile", profile(0.0062)).revision, 1)
        self.write(rule(["any"], "broken", roles=["admin"]))
        listing = profile_pb2.ListProfilesRequest()

        def reason():
            try:
                client.call("ListProfiles", listing)
            except grpc.RpcError as error:
                return error_details(error)["ErrorInfo"].reason
            return ""
        self.eventually(lambda: reason() == "STORE_UNAVAILABLE", "the policy was not taken")
        with self.assertRaises(grpc.RpcError) as caught:
            client.call("PlanJob", harness.job_request())
        self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAVAILABLE)
        with self.assertRaises(grpc.RpcError) as caught:
            client.call("RecordProfile", profile(0.0062))
        self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAVAILABLE)
        self.assertGreaterEqual(server.metric("evenkeel_profile_store_errors_total"), 1)
        os.remove(store + ".broken.lmdb")
        self.eventually(lambda: reason() == "", "the repaired store was not opened")
        self.assertEqual(len(client.call("ListProfiles", listing).revisions), 0)
        self.write(rule(["any"], "fine", roles=["admin"]))
        self.eventually(lambda: len(client.call("ListProfiles", listing).revisions) == 1, "the first tenant's are gone")


@unittest.skipUnless(os.geteuid() == 0, "only root can be several users")
class UnixPeersTest(PolicyCase):
    """Tests clients that run as different users."""

    def setUp(self):
        super().setUp()
        self.write(rule(["uid:0"], roles=["admin"]),  # lets the harness in
                   rule(["uid:61001"], "a", roles=["planner.plan", "planner.read", "planner.calibrate"]),
                   rule(["gid:61002"], "b", roles=["planner.plan", "planner.read"]))
        self.socket = os.path.join(self.folder.name, "s.sock")
        self.server = Server("--auth-policy", self.path, listen=[f"unix:{self.socket}"])
        self.addCleanup(self.server.__exit__)
        os.chmod(self.socket, 0o666)
        self.profile = os.path.join(self.folder.name, "profile.json")
        with open(self.profile, "w", encoding="utf-8") as file:
            json.dump({"model": "internvl-chat-v1.5", "gpu_type": "a100-sxm-80gb", "tensor_parallel": 2,
                       "layer_times": [{"layer_kind": "LAYER_KIND_ENCODER", "units": 9, "forward_seconds": 0.009}]},
                      file)

    def ctl(self, uid, gid, *arguments):
        return subprocess.run([harness.CTL, *arguments, "--server", f"unix:{self.socket}"], user=uid, group=gid,
                              extra_groups=[], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=60, check=False, cwd="/")

    def plan_id(self, uid, gid):
        done = self.ctl(uid, gid, "validate", "--job", harness.JOB, "--output", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["plan_id"]

    def test_users_have_the_rights_of_their_rule(self):
        self.assertEqual(self.ctl(61001, 61001, "models").returncode, 0)
        self.assertEqual(self.ctl(61005, 61002, "models").returncode, 0)
        self.assertEqual(self.ctl(61001, 61001, "profile", "record", self.profile, "--dry-run").returncode, 0)
        refused = self.ctl(61005, 61002, "profile", "record", self.profile, "--dry-run")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("as gid:61002", refused.stderr)
        self.assertEqual(self.server.metric("evenkeel_denied_total", reason="method_not_allowed"), 1)

    def test_a_user_of_no_rule_does_not_get_in(self):
        denied = self.server.metric("evenkeel_denied_total")
        done = self.ctl(61009, 61009, "models", "--timeout", "5")
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertEqual(self.server.metric("evenkeel_denied_total"), denied)  # no call began
        self.assertEqual(self.ctl(61001, 61001, "models").returncode, 0)

    def test_profiles_of_one_tenant_do_not_change_plans_of_another(self):
        a, b = (61001, 61001), (61005, 61002)
        before = self.plan_id(*b)
        self.assertEqual(self.plan_id(*a), before)
        self.assertEqual(self.ctl(*a, "profile", "record", self.profile).returncode, 0)
        self.assertNotEqual(self.plan_id(*a), before)
        self.assertEqual(self.plan_id(*b), before)

    def test_rights_that_are_taken_away_end_at_once(self):
        self.assertEqual(self.ctl(61001, 61001, "models").returncode, 0)
        self.write(rule(["uid:0"], roles=["admin"]), rule(["uid:61001"], "a", roles=["planner.plan"]))
        self.eventually(lambda: self.ctl(61001, 61001, "models").returncode != 0, "the right was not taken away")
        self.assertEqual(self.ctl(0, 0, "models").returncode, 0)


class CertificatesTest(PolicyCase):
    """Tests clients with certificates of one authority and different names."""

    @classmethod
    def setUpClass(cls):
        cls.authority = certificates.Authority()
        cls.own = cls.authority.issue("server")
        names = {"benchmark": "URI:spiffe://example.org/ns/vision/sa/benchmark",
                 "train": "URI:spiffe://example.org/ns/vision/sa/train,DNS:scheduler.example.org",
                 "scheduler": "DNS:other.example.org,DNS:Scheduler.example.org",
                 "two": "URI:spiffe://example.org/ns/vision/sa/benchmark,URI:spiffe://example.org/ns/x",
                 "below": "URI:spiffe://example.org/ns/visionary",
                 "foreign": "URI:spiffe://example.com/ns/vision/sa/benchmark",
                 "address": "IP:127.0.0.1"}
        cls.issued = {name: cls.authority.issue(name, san) for name, san in names.items()}

    def setUp(self):
        super().setUp()
        self.write(rule(["uid:0"], roles=["admin"]),  # lets the harness in
                   rule(["spiffe://example.org/ns/vision/sa/benchmark"], "vision", roles=["planner.calibrate"]),
                   rule(["spiffe://example.org/ns/vision/*"], "vision", roles=["planner.read"]),
                   rule(["dns:scheduler.example.org"], roles=["planner.plan"]),
                   rule(["any"], methods=["ListGpuTypes"]))
        self.port = harness.free_port()
        self.server = Server("--auth-policy", self.path, "--tls-cert", self.own[0], "--tls-key", self.own[1],
                             "--tls-client-ca", self.authority.ca, listen=[f"127.0.0.1:{self.port}"])
        self.addCleanup(self.server.__exit__)

    def codes(self, name):
        """Calls one method of each role, with an empty message."""
        certificate, key = self.issued[name]
        credentials = grpc.ssl_channel_credentials(certificates.read(self.authority.ca), certificates.read(key),
                                                   certificates.read(certificate))
        with grpc.secure_channel(f"localhost:{self.port}", credentials) as channel:
            found = []
            for method in ("ListModels", "PlanJob", "RecordProfile", "ListGpuTypes"):
                try:
                    channel.unary_unary(f"/{harness.SERVICE}/{method}")(b"", timeout=60)
                    found.append("OK")
                except grpc.RpcError as error:
                    found.append(error.code().name)
            return found

    def test_names_of_certificates_decide(self):
        denied, bad, unknown = "PERMISSION_DENIED", "INVALID_ARGUMENT", "UNAUTHENTICATED"
        expected = {"benchmark": [denied, denied, bad, denied],
                    "train": ["OK", denied, denied, "OK"],  # the id's rule comes before the name's
                    "scheduler": [denied, bad, denied, denied],
                    "two": [unknown, unknown, unknown, "OK"],  # two URIs are not a SPIFFE id
                    "below": [denied, denied, denied, "OK"],
                    "foreign": [denied, denied, denied, "OK"],
                    "address": [unknown, unknown, unknown, "OK"]}
        for name, codes in expected.items():
            self.assertEqual(self.codes(name), codes, name)
        lines = [json.loads(line) for line in self.server.log("ns/visionary").splitlines()
                 if '"msg":"call"' in line]
        principals = {(line["principal"], line.get("tenant", "")) for line in lines if line["code"] == "OK"}
        self.assertIn(("spiffe://example.org/ns/vision/sa/train", "vision"), principals)
        self.assertIn(("spiffe://example.org/ns/visionary", ""), principals)


if __name__ == "__main__":
    unittest.main()
