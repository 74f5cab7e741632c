"""Tests the status page, its terminal form, traces and the log level on a real server."""
import html.parser
import json
import os
import re
import stat
import subprocess
import threading
import unittest

import grpc
import harness
from harness import Server, planner_service_pb2

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"
UNKNOWN = planner_service_pb2.GetPlanRequest(plan_id="plan-" + "0" * 32)


class Balance(html.parser.HTMLParser):
    """Checks that every opened element is closed, and collects all text of the page."""

    VOID = {"meta", "br"}

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.text = [], set(), ""

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data):
        self.text += data + "\n"


class ObservabilityTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = harness.tempfile.TemporaryDirectory(prefix="evenkeel-admin-")
        cls.addClassCleanup(folder.cleanup)
        cls.socket = os.path.join(folder.name, "admin.sock")
        cls.server = Server("--admin-address", f"unix:{cls.socket}", "--workers", "1")
        cls.addClassCleanup(cls.server.__exit__)

    def http(self, path, *options):
        """Returns (status, body) by curl, as for an operator."""
        done = subprocess.run(["curl", "-sS", "-w", "\n%{http_code}", "--unix-socket", self.socket, *options,
                               f"http://localhost{path}"], stdout=subprocess.PIPE, text=True, check=True, timeout=20)
        body, status = done.stdout.rsplit("\n", 1)
        return int(status), body

    def calls(self, **fields):
        """Returns the log's lines of calls with these fields."""
        lines = [json.loads(line) for line in self.server.log().splitlines()]
        return [line for line in lines if line["msg"] == "call" and fields.items() <= line.items()]

    def test_the_page_shows_what_happened(self):
        client = self.server.client()
        plan_id = client.call("PlanJob", harness.job_request()).plan_id
        with self.assertRaises(grpc.RpcError):
            client.call("GetPlan", UNKNOWN)
        self.assertEqual(stat.S_IMODE(os.stat(self.socket).st_mode), 0o600)
        status, body = self.http("/statusz")
        self.assertEqual(status, 200)
        page = Balance()
        page.feed(body)
        self.assertEqual(page.open, [])
        self.assertFalse(page.tags & {"script", "link", "img", "iframe"})
        for words in (plan_id, "SERVING", "PlanJob", "NotFound", "--workers", "fits"):
            self.assertIn(words, page.text)
        answer = json.loads(self.http("/statusz?format=json")[1])
        self.assertEqual(answer["health"]["value"], "SERVING")
        self.assertEqual(answer["attention"], [])

    def test_the_terminal_shows_the_same(self):
        plan_id = self.server.client().call("PlanJob", harness.job_request(seed=3)).plan_id
        done = harness.run([harness.CTL, "status", "--admin", f"unix:{self.socket}", "--ascii"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(plan_id, done.stdout)
        self.assertRegex(done.stdout, r"(?m)^evenkeel-server \S+  SERVING$")
        self.assertNotIn("\x1b", done.stdout)
        as_json = harness.run([harness.CTL, "status", "--output", "json"],
                              environment={"EVENKEEL_ADMIN": f"unix:{self.socket}"})
        self.assertEqual(json.loads(as_json.stdout)["health"]["value"], "SERVING")
        nobody = harness.run([harness.CTL, "status", "--admin", f"127.0.0.1:{harness.free_port()}"])
        self.assertEqual(nobody.returncode, 3)
        self.assertIn("--admin-address", nobody.stderr)
        self.assertEqual(harness.run([harness.CTL, "status", "--admin", "nowhere"]).returncode, 2)

    def test_a_trace_can_be_followed_into_the_log(self):
        call = self.server.client().method("GetPlan").with_call
        for given, wanted in ((PARENT, TRACE), ("nonsense", None), (None, None)):
            with self.assertRaises(grpc.RpcError) as raised:
                call(UNKNOWN, metadata=(("traceparent", given),) if given else (), timeout=10)
            headers = dict(raised.exception.initial_metadata())
            trace = headers["x-trace-id"]
            self.assertEqual("traceparent" in headers, given is not None)
            fields = {"trace_id": trace}
            if given:
                _, parent_trace, span, sampled = headers["traceparent"].split("-")
                self.assertEqual((parent_trace, sampled), (trace, "01" if wanted else "00"))
                fields["span_id"] = span
            if wanted:
                self.assertEqual(trace, wanted)
            for _ in range(100):
                lines = self.calls(**fields)
                if lines:
                    break
                threading.Event().wait(0.05)
            self.assertEqual([line["code"] for line in lines], ["NOT_FOUND"])
        self.assertEqual(self.server.metric("evenkeel_bad_trace_contexts_total"), 1)

    def test_the_log_level_changes_while_it_runs(self):
        self.assertEqual(self.http("/log-level"), (200, "info\n"))
        self.assertEqual(self.http("/log-level", "-d", "error"), (200, "error\n"))
        request_id = "not-to-be-seen"
        self.server.client().call("ListPlans", planner_service_pb2.ListPlansRequest(),
                                  metadata=(("x-request-id", request_id),))
        self.assertEqual(self.http("/log-level", "-d", "loud")[0], 400)
        self.assertEqual(self.http("/log-level", "-d", "info"), (200, "info\n"))
        log = self.server.log('"to":"info"')
        self.assertNotIn(request_id, log)
        self.assertEqual(re.findall(r'"msg":"log level","from":"(\w+)","to":"(\w+)"', log),
                         [("info", "error"), ("error", "info")])

    def test_counters_agree_with_eight_clients(self):
        names = ("PlanJob", "GetPlan", "ListPlans")
        before = {name: self.server.metric_at_rest("grpc_server_handled_total", grpc_method=name) for name in names}
        self.server.client().call("PlanJob", harness.job_request())

        def work():
            client = self.server.client()
            for _ in range(50):
                client.call("PlanJob", harness.job_request())
                client.call("ListPlans", planner_service_pb2.ListPlansRequest())
                try:
                    client.call("GetPlan", UNKNOWN)
                except grpc.RpcError:
                    pass
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for name, extra in zip(names, (1, 0, 0)):
            now = self.server.metric_at_rest("grpc_server_handled_total", grpc_method=name)
            self.assertEqual(now - before[name], 400 + extra, name)
        self.assertEqual(self.server.metric("grpc_server_started_total"),
                         self.server.metric("grpc_server_handled_total"))


class AdminAddressTest(unittest.TestCase):
    def test_only_loopback_is_accepted(self):
        for address in ("0.0.0.0:9465", "10.0.0.7:9465"):
            done = harness.run([harness.SERVER, "--admin-address", address])
            self.assertEqual(done.returncode, 2)
            self.assertIn("no authentication", done.stderr)

    def test_a_taken_socket_is_reported(self):
        with Server() as server:
            done = harness.run([harness.SERVER, "--listen", f"127.0.0.1:{harness.free_port()}", "--metrics-address",
                                "off", "--admin-address", server.address])
            self.assertEqual(done.returncode, 1)
            self.assertIn("another server listens", done.stderr)


if __name__ == "__main__":
    unittest.main()
