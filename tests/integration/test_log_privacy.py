"""Tests that nothing of a request gets into the log: every text field of every request carries a mark, the log none."""
import json
import os
import resource
import tempfile
import unittest

import grpc
import harness
from evenkeel.v1 import catalog_pb2, packing_pb2, profile_pb2, stage_pb2
from google.protobuf.descriptor import FieldDescriptor
from harness import Server, planner_service_pb2

MARK = "s3cr3t-mark"
MAX_DEPTH = 7


def text_paths(descriptor, depth=0):
    """Yields paths to every text and bytes field, through messages and lists."""
    for field in descriptor.fields:
        if field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES):
            yield (field,)
        elif field.type == FieldDescriptor.TYPE_MESSAGE and depth < MAX_DEPTH:
            if field.message_type.GetOptions().map_entry or field.message_type is descriptor:
                continue
            for rest in text_paths(field.message_type, depth + 1):
                yield (field, *rest)


def put(message, path, text):
    """Sets the field at `path` of the first element of every list on the way."""
    for field in path[:-1]:
        value = getattr(message, field.name)
        if field.label == FieldDescriptor.LABEL_REPEATED:
            message = value[0] if len(value) else value.add()
        else:
            value.SetInParent()
            message = value
    last = path[-1]
    content = text.encode() if last.type == FieldDescriptor.TYPE_BYTES else text
    if last.label == FieldDescriptor.LABEL_REPEATED:
        getattr(message, last.name).append(content)
    else:
        setattr(message, last.name, content)


def variants(base):
    """Yields `base` itself, and copies with a mark in one text field each."""
    yield base, "as it is"
    for path in text_paths(base.DESCRIPTOR):
        message = type(base)()
        message.CopyFrom(base)
        put(message, path, MARK)
        yield message, ".".join(field.name for field in path)


def profile(plan_id, seconds=0.0062):
    return profile_pb2.RecordProfileRequest(
        model="internvl-chat-v1.5", gpu_type="a100-sxm-80gb", tensor_parallel=2, author=MARK,
        note=MARK * (500 // len(MARK)),  # a record takes more room than the lines about it
        layer_times=[profile_pb2.LayerTime(layer_kind=stage_pb2.LAYER_KIND_ENCODER, units=9, forward_seconds=seconds)],
        step_outcomes=[profile_pb2.StepOutcome(plan_id=plan_id, step_seconds=1)])


class LogPrivacyTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="evenkeel-privacy-")
        self.addCleanup(self.folder.cleanup)
        self.codes = {}
        self.calls = 0

    def start(self, *arguments):
        store = os.path.join(self.folder.name, "profiles")
        server = Server("--log-level", "debug", "--profile-store", store, *arguments)
        self.addCleanup(server.__exit__)
        client = server.client(options=[("grpc.primary_user_agent", MARK)])
        self.addCleanup(client.close)
        return server, client

    def call(self, client, name, request, timeout=60):
        raw = (lambda m: m) if isinstance(request, bytes) else None
        self.calls += 1
        try:
            answer = client.method(name, raw)(request, timeout=timeout, metadata=[
                ("authorization", f"Bearer {MARK}"), ("x-custom", MARK), ("x-request-id", f"{MARK} is none")])
            self.codes[grpc.StatusCode.OK] = self.codes.get(grpc.StatusCode.OK, 0) + 1
            return answer
        except grpc.RpcError as error:
            self.codes[error.code()] = self.codes.get(error.code(), 0) + 1
            return None

    def pack(self, client, message):
        method = client.channel.stream_stream(f"/{harness.SERVICE}/PackDataset",
                                              request_serializer=lambda m: m.SerializeToString())
        try:
            list(method(iter([message]), timeout=60, metadata=[("x-custom", MARK)]))
        except grpc.RpcError as error:
            self.codes[error.code()] = self.codes.get(error.code(), 0) + 1

    def assert_no_mark(self, server, least_lines):
        server.terminate()
        server.wait()
        lines = server.log().splitlines()
        self.assertGreaterEqual(sum('"msg":"call"' in line for line in lines), least_lines)
        self.assertEqual([line for line in lines if MARK in line][:5], [])

    def requests(self, plan_id):
        job = harness.job_request(os.path.join(harness.EXAMPLES, "llama3-8b-text.json"))
        job.label = MARK
        evaluation = planner_service_pb2.EvaluatePlanRequest(job=job.job)
        return [("PlanJob", job), ("EvaluatePlan", evaluation),
                ("GetPlan", planner_service_pb2.GetPlanRequest(plan_id=plan_id)),
                ("ListPlans", planner_service_pb2.ListPlansRequest(page_size=5)),
                ("RecordProfile", profile(plan_id)),
                ("ListProfiles", profile_pb2.ListProfilesRequest()),
                ("RollBackProfile", profile_pb2.RollBackProfileRequest(to_revision=1, author=MARK)),
                ("RollBackProfile", profile_pb2.RollBackProfileRequest(remove_revision=77, author=MARK)),
                ("ListModels", catalog_pb2.ListModelsRequest()), ("ListGpuTypes", catalog_pb2.ListGpuTypesRequest())]

    def test_no_text_of_a_request_is_logged(self):
        server, client = self.start()
        plan_id = self.call(client, "PlanJob", harness.job_request()).plan_id
        fields = set()
        for name, base in self.requests(plan_id):
            for message, field in variants(base):
                self.call(client, name, message)
                fields.add((name, field))
        for message, field in variants(packing_pb2.PackDatasetRequest(start=packing_pb2.PackDatasetStart())):
            self.pack(client, message)
        self.assertGreater(len(fields), 60)
        for code in (grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND):
            self.assertGreater(self.codes.get(code, 0), 0, self.codes)
        self.assert_no_mark(server, self.calls)

    def test_nor_by_any_other_way_to_fail(self):
        server, client = self.start("--queue-length", "1", "--workers", "1")
        plan_id = self.call(client, "PlanJob", harness.job_request()).plan_id
        self.call(client, "PlanJob", b"\xff\xff" + MARK.encode())  # not a message
        self.call(client, "PlanJob", MARK.encode() * 100000)  # too large
        self.call(client, "GetPlan", planner_service_pb2.GetPlanRequest(plan_id="plan-" + "0" * 32))
        late = harness.job_request(seed=999)
        late.label = MARK
        busy = [client.method("PlanJob").future(late, timeout=0.01)]
        for seed in range(8):  # the queue is full
            request = harness.job_request(seed=1000 + seed)
            request.label = MARK
            busy.append(client.method("PlanJob").future(request, timeout=0.2, metadata=[("x-custom", MARK)]))
        for future in busy:
            self.codes[future.code()] = self.codes.get(future.code(), 0) + 1
        cancelled = harness.job_request(seed=2000)
        cancelled.label = MARK
        client.method("PlanJob").future(cancelled, timeout=30).cancel()
        for path in (f"/{harness.SERVICE}/{MARK}", f"/{MARK}/PlanJob"):
            with self.assertRaises(grpc.RpcError) as caught:
                client.channel.unary_unary(path)(MARK.encode(), timeout=30)
            self.assertEqual(caught.exception.code(), grpc.StatusCode.UNIMPLEMENTED)
        # The store cannot be written, but the log can.
        store = os.path.join(self.folder.name, "profiles")
        for number in range(300):
            self.call(client, "RecordProfile", profile(plan_id, 0.006 + 1e-6 * number))
            limit = os.path.getsize(store)
            if limit > os.path.getsize(server.log_path) + (24 << 10):
                break
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        for number in range(60):
            self.call(client, "RecordProfile", profile(plan_id, 0.007 + 1e-6 * number))
            if grpc.StatusCode.UNAVAILABLE in self.codes:
                break
        self.assertLess(os.path.getsize(server.log_path), limit)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        for code in ("INVALID_ARGUMENT", "RESOURCE_EXHAUSTED", "NOT_FOUND", "DEADLINE_EXCEEDED", "UNAVAILABLE"):
            self.assertGreater(self.codes.get(getattr(grpc.StatusCode, code), 0), 0, (code, self.codes))
        self.assert_no_mark(server, self.calls - 1)  # what is too large never reached the service
        self.assertIn('"msg":"profile store"', server.log())

    def test_nor_when_the_policy_refuses(self):
        path = os.path.join(self.folder.name, "policy.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"version": 1, "rules": [{"principals": ["any"], "methods": ["ListModels"],
                                                "description": MARK}]}, file)
        server, client = self.start("--auth-policy", path)
        for name, base in self.requests("plan-" + "0" * 32):
            self.call(client, name, base)
        self.assertEqual(self.codes, {grpc.StatusCode.UNAUTHENTICATED: 9, grpc.StatusCode.OK: 1})
        self.assert_no_mark(server, 10)


if __name__ == "__main__":
    unittest.main()
