"""Tests the Python package against real servers: calls, decoded errors, deadlines, retries, TLS, asyncio."""
import asyncio
import os
import pickle
import socket
import threading
import time
import unittest

import grpc
import harness
from harness import Server
from certificates import Authority

import numpy as np

import evenkeel
from evenkeel.v1 import batching_pb2, curve_pb2, packing_pb2, planner_service_pb2

RULE = {"unit_cap": 9, "token_cap": 4096}


def job():
    return evenkeel.load_job(harness.JOB)


class ClientTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.__exit__)
        cls.client = evenkeel.Client(cls.server.address)
        cls.addClassCleanup(cls.client.close)

    def test_plans_and_reads_them_again(self):
        answer = self.client.plan_job(job(), label="run 7")
        self.assertEqual(answer.label, "run 7")
        self.assertGreater(len(answer.plan.stages), 1)
        self.assertEqual(self.client.get_plan(answer.plan_id).plan, answer.plan)
        self.assertIn(answer.plan_id, [p.plan_id for p in self.client.list_plans(page_size=1)])
        self.assertEqual(self.client.plan_job(job().job).plan, answer.plan)
        evaluated = self.client.evaluate_plan(job(), answer)
        self.assertEqual(evaluated.best, answer.plan)
        self.assertAlmostEqual(evaluated.slower_by_ratio, 0, delta=.01)

    def test_a_curve_has_the_plans_of_its_sizes(self):
        small = {"model": {"name": "llama3-8b"}, "cluster": {"pools": [{"gpu_type": "h100-sxm-80gb", "gpu_count": 64}]}}
        points = self.client.plan_curve(small, range(1, 3), label="run 8").curves[0].points
        self.assertEqual([p.nodes for p in points], [1, 2])
        small["cluster"]["pools"][0]["gpu_count"] = 16
        plan = self.client.plan_job(small).plan
        self.assertEqual((points[1].plan_id, points[1].step_seconds),
                         (plan.plan_id, plan.predictions.step.total_seconds))

        async def curve():
            async with evenkeel.aio.Client(self.server.address) as client:
                return await client.plan_curve(small, curve_pb2.NodeRange(min=1, max=2))
        self.assertEqual(asyncio.run(curve()).curves[0].points, points)
        with self.assertRaisesRegex(evenkeel.InvalidRequestError, r"nodes\[0\].max"):
            self.client.plan_curve(small, curve_pb2.NodeRange(min=2, max=1))
        with self.assertRaisesRegex(ValueError, "takes no compare_sizes"):
            self.client.plan_curve({"job": small, "compare_sizes": True}, [1])

    def test_lists_go_page_by_page(self):
        for gpus in (8, 16, 24, 32, 40):
            self.client.plan_job({"model": {"name": "llama3-8b"}, "cluster": {
                "pools": [{"gpu_type": "a100-sxm-80gb", "gpu_count": gpus}]}})
        pages = self.server.metric_at_rest("grpc_server_handled_total", grpc_method="ListPlans")
        plans = list(self.client.list_plans(page_size=2))
        self.assertGreaterEqual(len(plans), 5)
        self.assertEqual(len({p.plan_id for p in plans}), len(plans))
        self.assertEqual(self.server.metric_at_rest("grpc_server_handled_total", grpc_method="ListPlans") - pages,
                         -(-len(plans) // 2))
        self.assertGreater(len(self.client.list_models().models), 40)
        self.assertGreater(len(self.client.list_gpu_types().gpus), 20)
        self.assertIn("torchtitan", [trainer.name for trainer in self.client.list_trainers().trainers])

    def test_records_and_rolls_back_profiles(self):
        profile = {"model": "llama3-8b", "gpu_type": "a100-sxm-80gb", "layer_times": [
            {"layer_kind": "LAYER_KIND_DENSE", "tokens": "4096", "forward_seconds": 1e-9}]}
        with self.assertRaises(evenkeel.InvalidRequestError) as caught:
            self.client.record_profile(profile)
        self.assertEqual(caught.exception.violations[0].field, "layer_times[0].forward_seconds")
        profile["layer_times"][0]["forward_seconds"] = 0.0095
        recorded = self.client.record_profile(profile, dry_run=True)
        self.assertEqual((recorded.revision, recorded.timed_layer_count, len(recorded.refused)), (0, 1, 0))
        self.assertEqual(list(self.client.list_profiles()), [])
        self.assertEqual(self.client.record_profile(profile).revision, 1)
        self.assertEqual([r.revision for r in self.client.list_profiles()], [1])
        self.assertEqual(list(self.client.roll_back_profile(to_revision=0).deactivated_revisions), [1])

    def test_bad_fields_are_named(self):
        with self.assertRaises(evenkeel.InvalidRequestError) as caught:
            self.client.plan_job({"model": {"name": "nope"}, "training": {"global_batch_samples": -1}})
        error = caught.exception
        self.assertEqual((error.code, error.reason), (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_REQUEST"))
        self.assertEqual({v.field for v in error.violations},
                         {"job.model.name", "job.cluster.pools", "job.training.global_batch_samples"})
        self.assertIn("ListModels", str(error))
        self.assertEqual(len(str(error).splitlines()), 1 + len(error.violations))
        with self.assertRaises(evenkeel.InvalidRequestError) as caught:
            self.client.get_plan("plan-1")
        self.assertEqual(len(str(caught.exception).splitlines()), 1)  # the one violation is not said twice
        again = pickle.loads(pickle.dumps(error))  # like multiprocessing and DataLoader workers
        self.assertEqual((str(again), again.violations), (str(error), error.violations))

    def test_what_is_not_there_is_named(self):
        wanted = "plan-" + "0" * 32
        with self.assertRaises(evenkeel.NotFoundError) as caught:
            self.client.get_plan(wanted)
        error = caught.exception
        self.assertEqual((error.reason, error.resource.name), ("PLAN_NOT_FOUND", wanted))
        self.assertIsNone(error.retry_after)
        until = time.monotonic() + 10  # the log is written slightly later
        while error.request_id not in self.server.log() and time.monotonic() < until:
            time.sleep(.02)
        self.assertIn(error.request_id, self.server.log())

    def test_preconditions_are_decoded(self):
        request = job()
        request.min_calibration_revision = 10 ** 6
        with self.assertRaises(evenkeel.PreconditionError) as caught:
            self.client.plan_job(request)
        self.assertEqual(caught.exception.reason, "CALIBRATION_BEHIND")
        self.assertTrue(caught.exception.preconditions[0].description)
        self.assertEqual(caught.exception.metadata["min_revision"], str(10 ** 6))

    def test_deadlines_hold(self):
        request = {"model": {"name": "llama3-405b"}, "cluster": {
            "pools": [{"gpu_type": "h100-sxm-80gb", "gpu_count": 16384}]}, "training": {"global_batch_samples": 8192}}
        began = time.monotonic()
        with self.assertRaises(evenkeel.EvenkeelError) as caught:
            self.client.plan_job(request, timeout=0.01)
        self.assertIn(caught.exception.code, (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.RESOURCE_EXHAUSTED))
        self.assertLess(time.monotonic() - began, 5)

    def test_deadlines_hold_where_nobody_answers(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            target = "127.0.0.1:%d" % silent.getsockname()[1]

            async def several():
                async with evenkeel.aio.Client(target, timeout=.5, pack_timeout=.5) as client:
                    return await asyncio.gather(client.list_models(), client.pack_dataset(RULE, [5], data_parallel=1),
                                                return_exceptions=True)
            with evenkeel.Client(target, timeout=.5, pack_timeout=.5, wait_for_ready=True) as client:
                for call in (client.list_models, lambda: client.pack_dataset(RULE, [5], data_parallel=1)):
                    began = time.monotonic()
                    with self.assertRaisesRegex(evenkeel.DeadlineExceededError, f"(?s) at {target}: .*running there"):
                        call()
                    self.assertLess(time.monotonic() - began, 3)
            began = time.monotonic()
            for error in asyncio.run(several()):
                self.assertIsInstance(error, evenkeel.DeadlineExceededError)
                self.assertIn(target, str(pickle.loads(pickle.dumps(error))))
            self.assertLess(time.monotonic() - began, 3)

    def test_fields_override_the_request(self):
        request = job()
        request.compare_sizes, request.label = True, "from the file"
        self.assertEqual(self.client.plan_job(request).label, "from the file")
        answer = self.client.plan_job(request, label="", compare_sizes=False)
        self.assertEqual((answer.label, answer.plan), ("", self.client.plan_job(job()).plan))
        self.assertEqual((request.label, request.compare_sizes), ("from the file", True))
        with self.assertRaisesRegex(ValueError, "compare_size"):
            self.client.plan_job(request, compare_size=True)

    def test_what_is_wrong_on_this_side_needs_no_server(self):
        client = self.client
        for name, call, text in (
                ("field", lambda: client.plan_job({"modle": {}}), "modle"),
                ("type", lambda: client.plan_job(7), "int"),
                ("floats", lambda: client.pack_dataset(RULE, [1.5], data_parallel=1), "dtype float64"),
                ("range", lambda: client.pack_dataset(RULE, [5, 0, 0], data_parallel=1), r"tokens\[1\] is 0"),
                ("units", lambda: client.pack_dataset(RULE, [5, 5], [1], data_parallel=1), "1 values for 2"),
                ("ranks", lambda: client.pack_dataset(RULE, [5]), "data_parallel is needed"),
                ("path", lambda: client.plan_job("job.json"), "load_job reads a file"),
                ("timeout", lambda: client.get_plan("x", timeout=0), "above 0"),
                ("no end", lambda: client.get_plan("x", timeout=float("inf")), "timeout is inf.*finite"),
                ("none", lambda: evenkeel.Client(pack_timeout=None), "pack_timeout is None"),
                ("server", lambda: evenkeel.EvenkeelBatchSampler(None, RULE, [5], rank=0, world_size=1), "NoneType"),
                ("target", lambda: evenkeel.Client(""), "target"),
                ("host without a port", lambda: evenkeel.Client("127.0.0.1"), "127.0.0.1:50051"),
                ("tls", lambda: evenkeel.Tls(cert="x"), "belong together")):
            with self.subTest(name), self.assertRaisesRegex((ValueError, TypeError), text):
                call()

    def test_packs_are_those_of_a_plan(self):
        plan = self.client.plan_job(job()).plan
        tokens = [300 + 37 * (i % 50) for i in range(3000)]
        packing = self.client.pack_dataset(plan, tokens, [i % 4 for i in range(3000)])
        self.assertEqual(packing.step(0).shape, (plan.parallelism.data, plan.predictions.micro_batches))
        self.assertEqual(sorted(packing.sample_index.tolist()), list(range(3000)))
        self.assertEqual(packing.summary.rule.token_cap, plan.batch_rule.token_cap)
        summary = self.client.pack_dataset(RULE, tokens, data_parallel=2, summary_only=True, keep_histogram=True)
        self.assertEqual((summary.pack_count, summary.summary.sample_count), (0, 3000))
        request = job()
        request.job.dataset.Clear()
        request.job.dataset.dataset_ref = summary.summary.dataset_ref
        self.assertEqual(self.client.plan_job(request).plan.subject.sample_count, 3000)


    def test_units_of_several_encoders(self):
        rule = {"unit_scales": [10, 1], "unit_cap": 300, "token_cap": 4096}
        tokens = np.array([300 + 37 * (i % 50) for i in range(1000)])
        units = np.array([[i % 4, 7 * (i % 9)] for i in range(1000)])
        packing = self.client.pack_dataset(rule, tokens, units, data_parallel=4)
        scaled = units @ np.array([10, 1])
        for pack in range(packing.pack_count):
            held = packing.pack(pack)
            self.assertTrue(len(held) == 1 or scaled[held].sum() <= 300 and tokens[held].sum() <= 4096)
        self.assertEqual(list(packing.summary.rule.unit_scales), [10, 1])
        for wrong, text in ((units[:, 0], "one column, but the rule is for 2 encoders"),
                            (np.ones((1000, 3), int), "3 columns, but the rule has 2 unit_scales"),
                            (np.ones((1000, 5), int), "up to 4 encoders")):
            with self.assertRaisesRegex(ValueError, text):
                self.client.pack_dataset(rule, tokens, wrong, data_parallel=4)


class AsyncTest(unittest.TestCase):
    def test_the_same_methods_as_coroutines(self):
        async def main(address):
            async with evenkeel.aio.Client(address) as client:
                answers = await asyncio.gather(*(client.plan_job(job()) for _ in range(20)))
                self.assertEqual(len({a.plan_id for a in answers}), 1)
                self.assertEqual((await client.get_plan(answers[0].plan_id)).plan, answers[0].plan)
                self.assertEqual(len([p async for p in client.list_plans()]), 1)
                with self.assertRaises(evenkeel.NotFoundError) as caught:
                    await client.get_plan("plan-" + "0" * 32)
                self.assertEqual(caught.exception.reason, "PLAN_NOT_FOUND")
                packings = await asyncio.gather(*(
                    client.pack_dataset(RULE, range(1, 1000), data_parallel=2, epoch=e) for e in (0, 0, 1)))
                self.assertEqual(packings[0].order.tolist(), packings[1].order.tolist())
                self.assertNotEqual(packings[0].order.tolist(), packings[2].order.tolist())
        with Server() as server:
            asyncio.run(main(server.address))

    def test_a_cancelled_task_ends_its_call(self):
        async def main(server):
            async with evenkeel.aio.Client(server.address) as client:
                tokens = [1 + i % 999 for i in range(400_000)]
                task = asyncio.create_task(client.pack_dataset(RULE, tokens, data_parallel=2))
                await self.until(lambda: server.metric("evenkeel_pack_streams") == 1)
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                await self.until(lambda: server.metric("evenkeel_pack_streams") == 0)
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(client.pack_dataset(RULE, tokens, data_parallel=2), .05)
                self.assertEqual((await client.pack_dataset(RULE, [5] * 9, data_parallel=1)).pack_count, 1)
        with Server() as server:
            asyncio.run(main(server))

    def test_closing_is_no_cancellation_of_the_tasks(self):
        async def main(target):
            client = evenkeel.aio.Client(target, wait_for_ready=True)
            waiting = [asyncio.create_task(call) for call in (
                client.list_models(), client.pack_dataset(RULE, [5], data_parallel=1))]
            await asyncio.sleep(.2)
            await client.close()
            for task in waiting:
                with self.assertRaises(evenkeel.CallCancelledError) as caught:
                    await task
                self.assertIn("closed", str(caught.exception))
        with socket.create_server(("127.0.0.1", 0)) as silent:
            asyncio.run(main("127.0.0.1:%d" % silent.getsockname()[1]))

    async def until(self, condition):
        end = time.monotonic() + 20
        while not condition():
            self.assertLess(time.monotonic(), end)
            await asyncio.sleep(.01)

    def test_both_clients_have_the_same_methods(self):
        def methods(kind):
            return {name for name in dir(kind) if not name.startswith("_")}
        self.assertEqual(methods(evenkeel.Client), methods(evenkeel.aio.Client))
        described = planner_service_pb2.DESCRIPTOR.services_by_name["PlannerService"].methods
        names = {"".join("_" + c.lower() if c.isupper() else c for c in m.name).lstrip("_") for m in described}
        self.assertLessEqual(names, methods(evenkeel.Client))


class BusyTest(unittest.TestCase):
    """The only place for uploads is taken: RESOURCE_EXHAUSTED with a delay of 1 s."""

    def setUp(self):
        self.server = Server("--pack-max-streams=1")
        self.addCleanup(self.server.__exit__)
        self.go = threading.Event()
        self.addCleanup(self.go.set)
        blocker = self.server.client()
        self.addCleanup(blocker.close)

        def messages():
            yield self.first()
            self.go.wait(30)
        stream = blocker.channel.stream_stream("/evenkeel.v1.PlannerService/PackDataset",
                                               request_serializer=lambda m: m.SerializeToString())
        self.call = stream(messages(), timeout=60)
        while self.server.metric("evenkeel_pack_streams") < 1:
            time.sleep(.01)

    @staticmethod
    def first():
        return packing_pb2.PackDatasetRequest(start=packing_pb2.PackDatasetStart(
            rule=batching_pb2.BatchRule(**RULE), data_parallel=1))

    def refused(self):
        return self.server.metric("grpc_server_handled_total", grpc_method="PackDataset",
                                  grpc_code="ResourceExhausted")

    def test_the_delay_is_waited_for(self):
        threading.Timer(0.3, self.go.set).start()
        with evenkeel.Client(self.server.address) as client:
            began = time.monotonic()
            packing = client.pack_dataset(RULE, [100] * 50, data_parallel=1)
        self.assertEqual(packing.sample_index.size, 50)
        self.assertGreater(time.monotonic() - began, 0.99)
        harness.wait_for(lambda: self.refused() == 1)

    def test_no_wait_beyond_the_deadline(self):
        with evenkeel.Client(self.server.address) as client:
            began = time.monotonic()
            with self.assertRaises(evenkeel.BusyError) as caught:
                client.pack_dataset(RULE, [100], data_parallel=1, timeout=0.8)
        self.assertLess(time.monotonic() - began, 0.7)  # waiting would not help
        self.assertEqual((caught.exception.reason, caught.exception.retry_after), ("PACKING_BUSY", 1.0))

    def test_retries_can_be_switched_off(self):
        policy = evenkeel.RetryPolicy(max_attempts=1, honour_retry_info=False)
        with evenkeel.Client(self.server.address, retry=policy) as client, self.assertRaises(evenkeel.BusyError):
            client.pack_dataset(RULE, [100], data_parallel=1)
        harness.wait_for(lambda: self.refused() == 1)


class RestartTest(unittest.TestCase):
    """A server that is killed and comes back on the same socket."""

    def setUp(self):
        folder = harness.tempfile.TemporaryDirectory(prefix="evenkeel-restart-")
        self.addCleanup(folder.cleanup)
        self.target = "unix:" + os.path.join(folder.name, "s.sock")

    def test_nobody_there(self):
        with evenkeel.Client(self.target) as client:
            began = time.monotonic()
            for call in (lambda: client.get_plan("plan-" + "0" * 32),
                         lambda: client.pack_dataset(RULE, [5], data_parallel=1)):
                with self.assertRaises(evenkeel.UnavailableError) as caught:
                    call()
                self.assertEqual(caught.exception.reason, "")  # it did not come from a server
            self.assertLess(time.monotonic() - began, 20)

    def test_calls_and_uploads_go_on_after_kill(self):
        server = Server(listen=(self.target,))
        answers, errors, stop = [], [], threading.Event()

        def work(call):
            while not stop.is_set():
                try:
                    answers.append(call())
                except evenkeel.EvenkeelError as error:
                    errors.append(error)
        with evenkeel.Client(self.target, wait_for_ready=True) as client:
            calls = (lambda: client.plan_job(job()).plan_id,
                     lambda: client.pack_dataset(RULE, [100] * 20000, data_parallel=2).pack_count)
            threads = [threading.Thread(target=work, args=(call,)) for call in calls]
            for thread in threads:
                thread.start()
            for _ in range(3):
                time.sleep(.4)
                server.process.kill()
                server.wait()
                server.__exit__()
                server = Server(listen=(self.target,))
            before = len(answers)
            time.sleep(1.5)
            stop.set()
            for thread in threads:
                thread.join(60)
        self.addCleanup(server.__exit__)
        self.assertEqual([str(e) for e in errors], [])
        self.assertGreater(len(answers), before)
        self.assertEqual(len(set(answers)), 2)

    def test_a_client_may_come_before_its_server(self):
        with evenkeel.Client(self.target, wait_for_ready=True, timeout=20) as client:
            found = []
            thread = threading.Thread(target=lambda: found.append(client.plan_job(job()).plan_id))
            thread.start()
            time.sleep(.3)
            with Server(listen=(self.target,)):
                thread.join(20)
        self.assertEqual(len(found), 1)


class TlsTest(unittest.TestCase):
    def test_mutual_tls(self):
        authority, stranger = Authority(), Authority("stranger")
        certificate, key = authority.issue("server", "DNS:localhost,IP:127.0.0.1")
        mine = authority.issue("client")
        address = f"127.0.0.1:{harness.free_port()}"
        with Server("--tls-cert", certificate, "--tls-key", key, "--tls-client-ca", authority.ca, listen=(address,)):
            with evenkeel.Client(address, tls=evenkeel.Tls(authority.ca, *mine)) as client:
                self.assertTrue(client.plan_job(job()).plan_id)
            localhost = evenkeel.Tls(authority.ca, *mine, server_name="localhost")
            with evenkeel.Client(address, tls=localhost) as client:
                self.assertGreater(len(client.list_models().models), 1)
            for tls in (evenkeel.Tls(authority.ca), None, evenkeel.Tls(stranger.ca, *mine)):
                with evenkeel.Client(address, tls=tls, timeout=5) as client, \
                        self.assertRaises((evenkeel.UnavailableError, evenkeel.DeadlineExceededError)):
                    client.list_models()
        with self.assertRaises(FileNotFoundError):
            evenkeel.Client(address, tls=evenkeel.Tls("no-such-file"))
        with self.assertRaisesRegex(ValueError, "no PEM"):
            evenkeel.Client(address, tls=evenkeel.Tls(harness.JOB))


if __name__ == "__main__":
    unittest.main()
