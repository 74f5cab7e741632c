"""Tests the metrics port: what Prometheus scrapes is well-formed and complete, and does not show who asked for what."""
import os
import re
import unittest

import grpc
import harness
from harness import Server, planner_service_pb2


class MetricsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.__exit__)
        client = cls.server.client()
        request = harness.job_request()
        request.label = "who-asked"
        client.call("PlanJob", request)
        client.call("PlanJob", request)
        try:
            client.call("GetPlan", planner_service_pb2.GetPlanRequest(plan_id="plan-" + "0" * 32))
        except grpc.RpcError:
            pass
        cls.text = cls.server.metrics_text()

    def test_promtool_finds_no_fault(self):
        done = harness.run([os.path.join(harness.TOOLS, "promtool"), "check", "metrics"], text=self.text)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stderr)

    def test_conventional_server_metrics(self):
        count = self.server.metric
        self.assertEqual(count("grpc_server_handled_total", grpc_method="PlanJob", grpc_code="OK"), 2)
        self.assertEqual(count("grpc_server_handled_total", grpc_method="GetPlan", grpc_code="NotFound"), 1)
        for name in ("grpc_server_started_total", "grpc_server_msg_received_total", "grpc_server_msg_sent_total",
                     "grpc_server_handling_seconds_count"):
            self.assertGreaterEqual(count(name, grpc_method="PlanJob"), 2, name)

    def test_our_own_metrics_are_there(self):
        for name in ("evenkeel_cache_hits_total", "evenkeel_cache_misses_total", "evenkeel_cache_evictions_total",
                     "evenkeel_queue_depth", "evenkeel_inflight", "evenkeel_build_info", "evenkeel_plans_total",
                     "evenkeel_plan_seconds_count", "evenkeel_queue_wait_seconds_count", "evenkeel_shed_total",
                     "process_resident_memory_bytes", "process_open_fds", "process_cpu_seconds_total"):
            self.assertRegex(self.text, rf"(?m)^{name}[ {{]")

    def test_no_label_says_model_gpu_or_caller(self):
        labels = set(re.findall(r'[{,](\w+)="', self.text))
        self.assertFalse(labels & {"model", "gpu", "gpu_type", "job", "user", "label", "plan_id"}, labels)
        for value in ("who-asked", "internlm2", "a100"):
            self.assertNotIn(value, self.text)

    def test_no_summaries(self):
        self.assertNotRegex(self.text, r"(?m)^# TYPE \S+ summary")


if __name__ == "__main__":
    unittest.main()
