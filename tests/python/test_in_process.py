"""Tests the planner in this process: its bytes against a server's, errors, threads, ends, other libraries with it."""
import glob
import importlib.util
import itertools
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
import unittest
from xml.etree import ElementTree

import grpc
import numpy as np

import evenkeel
import server
from evenkeel import _native
from evenkeel.v1 import batching_pb2, curve_pb2, planner_service_pb2, timeline_pb2

EXAMPLES = os.path.join(server.ROOT, "deploy", "examples")
EXAMPLE = os.path.join(EXAMPLES, "internvl-6b-20b.json")
RULE = {"unit_cap": 9, "token_cap": 4096}
FOREVER = float("inf")


def jobs():
    """Returns all shipped jobs by name."""
    paths = [path for path in sorted(glob.glob(os.path.join(EXAMPLES, "*.json"))) if ".histogram." not in path]
    return {os.path.basename(path): evenkeel.load_job(path) for path in paths}


def long_job():
    """Returns a job that takes seconds to plan."""
    request = evenkeel.load_job(EXAMPLE)
    request.compare_sizes = True
    request.job.cluster.pools[0].gpu_count = 1024
    return request


def caught(call, *arguments, **options):
    """Returns the error of a call without what only servers know, or None."""
    try:
        call(*arguments, **options)
    except evenkeel.EvenkeelError as error:
        return type(error), error.method, error.code, error.reason, error.message, error.violations, error.metadata
    return None


class EqualityTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = server.Server()
        cls.addClassCleanup(cls.server.stop)
        cls.client = evenkeel.Client(cls.server.address, timeout=120)
        cls.addClassCleanup(cls.client.close)
        cls.channel = grpc.insecure_channel(cls.server.address)
        cls.addClassCleanup(cls.channel.close)

    def answer(self, method, request):
        """Returns the server's answer as it comes."""
        return self.channel.unary_unary(f"/evenkeel.v1.PlannerService/{method}")(request.SerializeToString())

    def test_every_example_gives_the_bytes_of_the_server(self):
        found = jobs()
        self.assertGreater(len(found), 12)
        for name, request in found.items():
            with self.subTest(name):
                request.no_cache = True  # so that both say SERVED_FROM_PLANNER
                mine = _native.plan_job(request.SerializeToString(), FOREVER, None)
                self.assertEqual(mine, self.answer("PlanJob", request))
                planned = evenkeel.plan(request)
                self.assertEqual(planned.response, planner_service_pb2.PlanJobResponse.FromString(mine))
                self.assertEqual(planned.plan, self.client.get_plan(planned.plan_id).plan)

    def test_several_offers_are_those_of_the_server(self):
        job = {"job": {"model": {"name": "llama3-8b"}, "cluster": {"pools": [
            {"gpu_type": "a100-sxm-80gb", "gpu_count": 16}, {"gpu_type": "h100-sxm-80gb", "gpu_count": 8}]}}}
        planned = evenkeel.plan(job, no_cache=True)
        self.assertEqual(len(planned.offers), 2)
        self.assertEqual(planned.response, self.client.plan_job(job, no_cache=True))

    def test_checking_alone_gives_the_id_of_the_server(self):
        planned = evenkeel.plan(evenkeel.load_job(EXAMPLE), validate_only=True, label="x")
        self.assertEqual(planned.response,
                         self.client.plan_job(evenkeel.load_job(EXAMPLE), validate_only=True, label="x"))
        self.assertFalse(planned.fits)
        self.assertIn(planned.plan_id, repr(planned))

    def test_evaluations_are_those_of_the_server(self):
        for name in ("internvl-6b-20b.json", "llama3-8b-text.json", "omni-8b.json"):
            with self.subTest(name):
                job = jobs()[name]
                plan = evenkeel.plan(job)
                edited = plan.plan.__class__()
                edited.CopyFrom(plan.plan)
                edited.batch_rule.token_cap += 512
                request = planner_service_pb2.EvaluatePlanRequest(job=job.job, plan=edited, include_timeline=True)
                mine = _native.evaluate_plan(request.SerializeToString(), FOREVER, None)
                theirs = self.answer("EvaluatePlan", request)
                parsed = [planner_service_pb2.EvaluatePlanResponse.FromString(answer) for answer in (mine, theirs)]
                self.assertEqual(*parsed)
                self.assertEqual(len(mine), len(theirs))  # the server writes the fields in another order
                self.assertEqual(evenkeel.evaluate(job, edited, include_timeline=True), parsed[0])
                self.assertAlmostEqual(evenkeel.evaluate(job, plan).slower_by_ratio, 0, delta=.01)

    def test_curves_are_those_of_the_server(self):
        job = {"model": {"name": "llama3-8b"}, "cluster": {"pools": [{"gpu_type": "h100-sxm-80gb"}]}}
        mine = evenkeel.curve(job, range(1, 4))
        theirs = self.client.plan_curve(job, range(1, 4))
        self.assertEqual([point.nodes for point in mine.curves[0].points], [1, 2, 3])
        for curve, other in zip(mine.curves, theirs.curves, strict=True):
            for point, same in zip(curve.points, other.points, strict=True):
                self.assertEqual((point.plan_id, point.step_seconds), (same.plan_id, same.step_seconds))
        short = evenkeel.curve(job, [2], search=curve_pb2.CURVE_SEARCH_SHORT)
        self.assertTrue(short.curves[0].points[0].estimated)

    def test_catalogue(self):
        self.assertEqual(evenkeel.models(), self.client.list_models())
        self.assertEqual(evenkeel.gpu_types(), self.client.list_gpu_types())
        self.assertEqual(evenkeel.trainers(), self.client.list_trainers())

    def equal_packings(self, *arguments, **options):
        mine, theirs = evenkeel.pack(*arguments, **options), self.client.pack_dataset(*arguments, **options)
        self.assertEqual(mine.digest, theirs.digest)
        self.assertEqual(mine.summary, theirs.summary)
        for name in ("step_group", "loss_normalizer", "pack_offsets", "sample_index", "order", "step_offsets"):
            ours, other = getattr(mine, name), getattr(theirs, name)
            self.assertEqual(ours.dtype, other.dtype, name)
            np.testing.assert_array_equal(ours, other, name)
        return mine

    def test_packs_are_those_of_the_server(self):
        chance = np.random.default_rng(1)
        tokens, units = chance.integers(40, 4000, 3000), chance.integers(0, 9, 3000)
        packed = self.equal_packings(RULE, tokens, units, data_parallel=4, packs_per_rank=2, epoch=3)
        self.assertGreater(packed.pack_count, 100)
        self.assertEqual(packed.step(0).shape, (4, 2))
        self.equal_packings(RULE, tokens, data_parallel=2)
        self.equal_packings(RULE, tokens.astype(np.int32), units.astype(np.uint8), data_parallel=2, apart=[1000, 2000])
        self.equal_packings(RULE, tokens, units, data_parallel=3, summary_only=True)
        self.equal_packings(RULE, [], data_parallel=3)
        self.equal_packings({}, tokens, units, data_parallel=3)
        self.equal_packings({"unit_cap": 40, "token_cap": 4096, "unit_scales": [4, 1]}, tokens,
                            np.column_stack([units, units // 2]), data_parallel=3)
        self.equal_packings({"unit_cap": 40, "token_cap": 4096, "unit_scales": [4, 1]}, tokens, data_parallel=3)

    def test_groups_of_packs_are_those_of_the_server(self):
        chance = np.random.default_rng(2)
        tokens = chance.integers(40, 16000, 2000)
        groups = [batching_pb2.PackingGroup(length_tokens=4096, longest_sample_tokens=4096, sequence_parallel=1,
                                            data_parallel=4, packs_per_rank=2),
                  batching_pb2.PackingGroup(length_tokens=16384, longest_sample_tokens=16384, sequence_parallel=2,
                                            data_parallel=2, packs_per_rank=1)]
        packed = self.equal_packings({}, tokens, groups=groups, loss_tokens=tokens // 2, curriculum_steps=10)
        self.assertEqual(set(packed.step_group), {0, 1})

    def test_a_plan_packs(self):
        planned = evenkeel.plan(evenkeel.load_job(EXAMPLE))
        tokens, units = np.full(4000, 700), np.ones(4000, np.int64)
        packed = evenkeel.pack(planned, tokens, units)
        self.assertEqual(packed.digest, self.client.pack_dataset(planned.plan, tokens, units).digest)
        mine, theirs = evenkeel.OnlinePacker(planned), evenkeel.OnlinePacker(planned.plan)
        self.assertEqual((mine.columns, mine.ranks), (theirs.columns, theirs.ranks))

    def test_errors_are_those_of_the_server(self):
        bad = {"model": {"name": "nope"}, "cluster": {"pools": [{"gpu_type": "a100", "gpu_count": -1}]}}
        mine = caught(evenkeel.plan, bad)
        self.assertEqual(mine, caught(self.client.plan_job, bad))
        self.assertIs(mine[0], evenkeel.InvalidRequestError)
        self.assertGreater(len(mine[5]), 1)
        self.assertIn("job.model.name", [violation.field for violation in mine[5]])
        for options in ({"data_parallel": 1 << 30}, {"data_parallel": 4, "epoch": -1, "sequence_parallel_group": 3},
                        {"data_parallel": 4, "apart": [7]}):
            mine = caught(evenkeel.pack, {"token_cap": 4096}, [9, 8], **options)
            self.assertIsNotNone(mine)
            self.assertEqual(mine, caught(self.client.pack_dataset, {"token_cap": 4096}, [9, 8], **options))
        good = evenkeel.load_job(EXAMPLE)
        self.assertEqual(caught(evenkeel.evaluate, good, {}), caught(self.client.evaluate_plan, good, {}))

    def test_what_needs_a_server_is_refused(self):
        job = {"model": {"name": "llama3-8b"}, "cluster": {"pools": [{"gpu_type": "a100-sxm-80gb", "gpu_count": 8}]}}
        dataset = {"dataset_ref": "ds-" + "0" * 32}
        for request, field in (({"job": job, "min_calibration_revision": 3}, "min_calibration_revision"),
                               ({"job": {**job, "dataset": dataset}}, "job.dataset.dataset_ref")):
            with self.assertRaises(evenkeel.InvalidRequestError) as error:
                evenkeel.plan(request)
            self.assertEqual([violation.field for violation in error.exception.violations], [field])

    def test_wrong_arguments(self):
        for call in (lambda: evenkeel.plan(EXAMPLE), lambda: evenkeel.plan(7)):
            self.assertRaises(TypeError, call)
        self.assertRaisesRegex(ValueError, "timeout is 0", evenkeel.plan, {}, timeout=0)
        self.assertRaisesRegex(ValueError, "timeout is nan", evenkeel.plan, {}, timeout=float("nan"))
        self.assertRaisesRegex(ValueError, "unit_scales", evenkeel.pack, RULE, [3], [[1, 2]], data_parallel=1)
        self.assertRaisesRegex(ValueError, "tokens\\[0\\]", evenkeel.pack, RULE, [0], data_parallel=1)

    def test_errors_pickle(self):
        with self.assertRaises(evenkeel.InvalidRequestError) as error:
            evenkeel.plan({})
        copy = pickle.loads(pickle.dumps(error.exception))
        self.assertEqual((copy.violations, str(copy)), (error.exception.violations, str(error.exception)))


class EndsTest(unittest.TestCase):
    def test_the_lock_is_free_while_planning(self):
        request = long_job().SerializeToString()
        gaps, done = [], threading.Event()

        def compute():
            try:
                _native.plan_job(request, 1.0, None)
            except _native.Failure:
                pass
            done.set()
        thread = threading.Thread(target=compute)
        thread.start()
        last = time.monotonic()
        while not done.is_set():
            time.sleep(.001)
            now = time.monotonic()
            gaps.append(now - last)
            last = now
        thread.join()
        self.assertGreater(len(gaps), 100)

    def test_threads_plan_side_by_side(self):
        request = evenkeel.load_job(EXAMPLE)
        want = _native.plan_job(request.SerializeToString(), FOREVER, None)
        others = [r for name, r in jobs().items() if name.startswith("llama3")]
        answers = {}

        def compute(index):
            mine = request if index % 2 == 0 else others[index % len(others)]
            answers[index] = (mine, _native.plan_job(mine.SerializeToString(), FOREVER, None))
        threads = [threading.Thread(target=compute, args=(index,)) for index in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual({bytes(answers[index][1]) for index in range(0, 8, 2)}, {want})
        for index in range(1, 8, 2):
            mine, answer = answers[index]
            self.assertEqual(answer, _native.plan_job(mine.SerializeToString(), FOREVER, None))

    def test_timeout(self):
        job = evenkeel.load_job(EXAMPLE)
        planned = evenkeel.plan(job)
        for call in (lambda: evenkeel.plan(long_job(), timeout=.05),
                     lambda: evenkeel.evaluate(job, planned, timeout=1e-6),
                     lambda: evenkeel.pack(RULE, np.full(100000, 7), data_parallel=2, timeout=1e-6)):
            started = time.monotonic()
            error = caught(call)
            self.assertIs(error[0], evenkeel.DeadlineExceededError)
            self.assertEqual(error[3], "DEADLINE_EXCEEDED")
            self.assertLess(time.monotonic() - started, 1)

    def test_cancelled(self):
        event = threading.Event()
        threading.Timer(.1, event.set).start()
        self.assertIs(caught(evenkeel.plan, long_job(), cancelled=event.is_set)[0], evenkeel.CallCancelledError)
        self.assertRaises(ZeroDivisionError, evenkeel.plan, long_job(), cancelled=lambda: 1 / 0)

    def test_control_c(self):
        # A shell without job control starts background jobs with this signal ignored.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        threading.Timer(.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        self.assertRaises(KeyboardInterrupt, evenkeel.plan, long_job())


class LibrariesTest(unittest.TestCase):
    def test_any_order_of_imports(self):
        names = ["grpc", "google.protobuf.struct_pb2", "evenkeel._native"]
        names += ["torch"] if importlib.util.find_spec("torch") else []
        use = {"grpc": "grpc.insecure_channel('unix:/nothing').close()",
               "google.protobuf.struct_pb2": "s = google.protobuf.struct_pb2.Struct(); s['a'] = 1; "
                                             "assert s.FromString(s.SerializeToString()) == s",
               "evenkeel._native": f"p = evenkeel.plan(evenkeel.load_job({EXAMPLE!r})); "
                                   "from evenkeel.v1 import plan_pb2; "
                                   "assert plan_pb2.Plan.FromString(p.plan.SerializeToString()) == p.plan; "
                                   "print(p.plan_id, len(p.response.SerializeToString()))",
               "torch": "assert float((torch.ones(3) * 2).sum()) == 6"}
        said = set()
        for order in itertools.permutations(names):
            code = "import evenkeel\n" + "".join(f"import {name}\n{use[name]}\n" for name in order)
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, f"{order}: {done.stderr}")
            said.add(done.stdout)
        self.assertEqual(len(said), 1)

    def test_the_module_shows_one_symbol_and_brings_its_libraries(self):
        symbols = subprocess.run(["nm", "-D", "--defined-only", _native.__file__], stdout=subprocess.PIPE, text=True,
                                 check=True).stdout
        self.assertEqual([line.split()[-1] for line in symbols.splitlines()], ["PyInit__native"])
        needed = subprocess.run(["readelf", "-d", _native.__file__], stdout=subprocess.PIPE, text=True,
                                check=True).stdout
        for library in ("libprotobuf", "libgrpc", "libpython"):
            self.assertNotIn(library, needed)
        brought = os.listdir(os.path.join(os.path.dirname(_native.__file__), "_libraries"))
        for library in re.findall(r"\[(libabsl[^]]*|libevk[^]]*)\]", needed):
            self.assertIn(library, brought)
        code = "from evenkeel import _native; print(open('/proc/self/maps').read())"
        maps = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout
        loaded = set(re.findall(r" (/.*/lib(?:absl|protobuf|evk).*)", maps))
        self.assertEqual({os.path.basename(path) for path in loaded}, set(brought))
        self.assertEqual({os.path.basename(os.path.dirname(path)) for path in loaded}, {"_libraries"})

    def test_planning_loads_neither_grpc_nor_numpy(self):
        code = (f"import sys, evenkeel; evenkeel.plan(evenkeel.load_job({EXAMPLE!r})); "
                "assert not {'grpc', 'numpy', 'torch'} & set(sys.modules)")
        self.assertEqual(subprocess.run([sys.executable, "-c", code], check=False).returncode, 0)


class TablesTest(unittest.TestCase):
    def test_a_plan_shows_itself(self):
        planned = evenkeel.plan(evenkeel.load_job(EXAMPLE))
        page = planned._repr_html_()  # pylint: disable=protected-access
        for shown in (repr(planned), page):
            for part in (planned.plan_id, f"x pipeline {len(planned.plan.stages)} x data", "patches + encoder 0-",
                         "on 32 x a100-sxm-80gb"):
                self.assertIn(part, shown)
        self.assertEqual(page.count("<tr>"), page.count("</tr>"))
        self.assertEqual(page.count('class="bar"'), len(planned.plan.stages))

    def test_a_misfit_says_what_would_fit(self):
        planned = evenkeel.plan(evenkeel.load_job(os.path.join(EXAMPLES, "misfit.json")))
        self.assertFalse(planned.fits)
        self.assertIn("does not fit", repr(planned))
        self.assertIn(planned.plan.misfit.remedies[0].text[:20], repr(planned))

    def test_text_is_escaped(self):
        planned = evenkeel.plan(evenkeel.load_job(EXAMPLE))
        planned.response.plan.subject.model = "<script>"
        self.assertNotIn("<script>", planned._repr_html_())  # pylint: disable=protected-access


class PicturesTest(unittest.TestCase):
    def shapes(self, picture, name):
        """Returns the titles of shapes. An SVG that is no XML raises."""
        root = ElementTree.fromstring(picture.svg)
        self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
        return [shape.findtext("{*}title") for shape in root.iter("{http://www.w3.org/2000/svg}" + name)]

    def test_the_parts_of_a_step(self):
        planned = evenkeel.plan(evenkeel.load_job(EXAMPLE))
        picture = evenkeel.pictures.step_parts(planned.plan)
        shown = [title for title in self.shapes(picture, "rect") if title]
        step = planned.plan.predictions.step
        share = step.encoder_compute_seconds / step.total_seconds
        self.assertEqual(shown[0], f"encoder compute: {step.encoder_compute_seconds:.3g} s, {share:.1%}")
        self.assertIn(picture.svg, planned._repr_html_())  # pylint: disable=protected-access
        misfit = evenkeel.plan(evenkeel.load_job(os.path.join(EXAMPLES, "misfit.json")))
        self.assertNotIn("<svg", misfit._repr_html_())  # pylint: disable=protected-access

    def test_a_timeline(self):
        job = evenkeel.load_job(EXAMPLE)
        plan = evenkeel.plan(job)
        answer = evenkeel.evaluate(job, plan, include_timeline=True)
        titles = [title for title in self.shapes(evenkeel.pictures.timeline(answer), "rect") if title]
        forwards = sum(list(stage.operations.kinds).count(timeline_pb2.OPERATION_KIND_FORWARD)
                       for stage in answer.timeline.stages)
        self.assertEqual(sum(title.startswith("forward, pack") for title in titles), forwards)
        before, evenkeel.pictures.MOST_PASSES = evenkeel.pictures.MOST_PASSES, 40
        self.addCleanup(setattr, evenkeel.pictures, "MOST_PASSES", before)
        short = evenkeel.pictures.timeline(answer)
        self.assertLess(len(self.shapes(short, "rect")), 60)
        self.assertIn(f" s of {answer.timeline.step_seconds:.3g} s", short.svg)
        with self.assertRaisesRegex(ValueError, "include_timeline"):
            evenkeel.pictures.timeline(evenkeel.evaluate(job, plan))

    def test_a_curve(self):
        response = curve_pb2.PlanCurveResponse()
        line = response.curves.add(gpu_type="h100 <new>", gpus_per_node=8)
        line.points.add(gpu_count=8, state=curve_pb2.CURVE_POINT_STATE_MISFIT, reason="2 GiB short")
        with self.assertRaisesRegex(ValueError, "fits"):
            evenkeel.pictures.curve(response)
        for gpus, rate in ((16, 100.0), (32, 190.0)):
            line.points.add(gpu_count=gpus, state=curve_pb2.CURVE_POINT_STATE_FITS, samples_per_second=rate,
                            scaling_efficiency_ratio=0.95, plan_id=f"plan-{gpus}")
        picture = evenkeel.pictures.curve(response)
        self.assertEqual([title.split(":")[0] for title in self.shapes(picture, "circle")], ["16 GPUs", "32 GPUs"])
        self.assertIn("8 GPUs: 2 GiB short", self.shapes(picture, "rect"))
        self.assertEqual(picture._repr_html_(), picture.svg)  # pylint: disable=protected-access


if __name__ == "__main__":
    unittest.main()
