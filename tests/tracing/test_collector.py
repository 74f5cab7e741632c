"""Compares what a real OpenTelemetry Collector (EVENKEEL_COLLECTOR) gets with the calls that were made."""
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "integration"))
import certificates  # noqa: E402  pylint: disable=wrong-import-position
import grpc  # noqa: E402  pylint: disable=wrong-import-position
import harness  # noqa: E402  pylint: disable=wrong-import-position
from harness import Server, wait_for  # noqa: E402  pylint: disable=wrong-import-position
from test_plan_store import small_job  # noqa: E402  pylint: disable=wrong-import-position

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"
CONFIGURATION = """
receivers: {{otlp: {{protocols: {{grpc: {{endpoint: "127.0.0.1:{port}"{more}}}}}}}}}
exporters: {{debug: {{verbosity: detailed}}}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines: {{traces: {{receivers: [otlp], exporters: [debug]}}}}
"""


class Collector:
    """A collector that prints every span. Use it in a with statement."""

    def __init__(self, more=""):
        self.folder = tempfile.TemporaryDirectory(prefix="evenkeel-collector-")
        self.port = harness.free_port()
        self.log_path = os.path.join(self.folder.name, "log")
        self.config = os.path.join(self.folder.name, "config.yaml")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(port=self.port, more=more))
        self.process = None
        self.start()

    def start(self):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen([os.environ["EVENKEEL_COLLECTOR"], "--config", self.config], stdout=log,
                                            stderr=log, stdin=subprocess.DEVNULL)
        wait_for(lambda: "Everything is ready" in self.log(), 60)

    def log(self):
        with open(self.log_path, encoding="utf-8") as file:
            return file.read()

    def spans(self):
        """Returns each span as {field or attribute: text}."""
        return [{key.strip(): value.strip() for key, value in
                 re.findall(r"^(?:    |     -> )([\w. ]+?) *: (.*)$", part, re.M)}
                for part in re.split(r"^Span #\d+$", self.log(), flags=re.M)[1:]]

    def named(self, name):
        """Waits for a span, and returns it."""
        wait_for(lambda: any(span["Name"] == name for span in self.spans()))
        return next(span for span in self.spans() if span["Name"] == name)

    def stop(self):
        self.process.terminate()
        self.process.wait(20)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        self.folder.cleanup()


def server(collector, scheme="http", **environment):
    """Starts a server that exports to the collector, without waiting long."""
    return Server(environment={"OTEL_EXPORTER_OTLP_ENDPOINT": f"{scheme}://localhost:{collector.port}",
                               "OTEL_BSP_SCHEDULE_DELAY": "100", **environment})


def plan(one, number, sampled=None):
    """Plans a small job, in the trace TRACE if `sampled` is given."""
    metadata = () if sampled is None else (("traceparent", f"00-{TRACE}-{SPAN}-0{int(sampled)}"),)
    return one.client().call("PlanJob", small_job(number), metadata=metadata)


class CollectorTest(unittest.TestCase):
    def test_sees_calls_and_their_steps(self):
        with Collector() as collector, server(collector, OTEL_SERVICE_NAME="planner",
                                              OTEL_RESOURCE_ATTRIBUTES="deployment.environment.name=test") as one:
            answer = plan(one, 1, sampled=True)
            call = collector.named("evenkeel.v1.PlannerService/PlanJob")
            self.assertEqual((call["Trace ID"], call["Parent ID"], call["Kind"]), (TRACE, SPAN, "Server"))
            self.assertEqual(call["evenkeel.plan_id"], f"Str({answer.plan.plan_id})")
            self.assertEqual(call["evenkeel.served_from"], "Str(planner)")
            self.assertEqual(call["rpc.grpc.status_code"], "Int(0)")
            self.assertEqual(call["Status code"], "Unset")
            steps = [span for span in collector.spans() if span["Parent ID"] == call["ID"]]
            self.assertTrue({"queue", "search", "simulate", "check"} <= {span["Name"] for span in steps})
            for span in steps:
                self.assertEqual((span["Trace ID"], span["Kind"]), (TRACE, "Internal"))
                self.assertLessEqual(call["Start time"], span["Start time"])
                self.assertLessEqual(span["End time"], call["End time"])
            for attribute in ("service.name: Str(planner)", "deployment.environment.name: Str(test)", "host.name: "):
                self.assertIn(attribute, collector.log())
            self.assertEqual(one.metric("evenkeel_spans_total", outcome="exported"), 1 + len(steps))

    def test_errors_and_decisions_of_callers(self):
        with Collector() as collector, server(collector, OTEL_TRACES_SAMPLER="parentbased_always_off") as one:
            plan(one, 1)
            plan(one, 2, sampled=False)
            with self.assertRaises(grpc.RpcError):
                one.client().call("PlanJob", small_job(1).__class__(),
                                  metadata=(("traceparent", f"00-{TRACE}-{SPAN}-01"),))
            call = collector.named("evenkeel.v1.PlannerService/PlanJob")
            self.assertEqual(call["rpc.grpc.status_code"], "Int(3)")
            self.assertEqual(call["Status code"], "Unset")  # the caller's mistake
            self.assertEqual(len(collector.spans()), 1)

    def test_a_collector_may_come_back(self):
        with Collector() as collector, server(collector) as one:
            plan(one, 1)
            collector.named("queue")
            collector.stop()
            for number in range(2, 6):
                began = time.monotonic()
                plan(one, number)
                self.assertLess(time.monotonic() - began, 5)
            one.log("traces", "localhost")
            collector.start()
            names = "evenkeel.v1.PlannerService/PlanJob"
            wait_for(lambda: sum(span["Name"] == names for span in collector.spans()) == 5, 60)
            self.assertEqual(one.metric("evenkeel_spans_total", outcome="dropped"), 0)

    def test_the_last_spans_leave_before_the_server_ends(self):
        with Collector() as collector:
            with server(collector, OTEL_BSP_SCHEDULE_DELAY="3600000") as one:
                plan(one, 1)
                self.assertEqual(collector.spans(), [])
            collector.named("evenkeel.v1.PlannerService/PlanJob")

    def test_mutual_tls(self):
        authority = certificates.Authority()
        certificate, key = authority.issue("collector")
        more = f", tls: {{cert_file: {certificate}, key_file: {key}, client_ca_file: {authority.ca}}}"
        client, client_key = authority.issue("planner")
        files = {"OTEL_EXPORTER_OTLP_CERTIFICATE": authority.ca, "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": client,
                 "OTEL_EXPORTER_OTLP_CLIENT_KEY": client_key, "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip"}
        with Collector(more) as collector, server(collector, "https", **files) as one:
            plan(one, 1)
            collector.named("evenkeel.v1.PlannerService/PlanJob")


if __name__ == "__main__":
    result = unittest.main(exit=False, verbosity=2).result
    bad = len(result.failures) + len(result.errors)
    print(f"integration: {result.testsRun - bad} passed, {bad} failed")
    sys.exit(bad > 0)
