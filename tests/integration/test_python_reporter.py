"""Tests StepReporter and `profile drift` with a real server: windows, stragglers, the recorded outcome, and that no
fault reaches the training. Trainers are tested by tests/python/loop.sh."""
import json
import logging
import os
import socket
import tempfile
import threading
import time
import unittest
from unittest import mock

import harness
from harness import Server

import evenkeel
from evenkeel import rank_gather, reporter, reporting, step_times

JOB = {"model": {"name": "llama3-8b"}, "cluster": {"pools": [{"gpu_type": "h100-sxm-80gb", "gpu_count": 16}]},
       "training": {"global_batch_samples": 64}, "constraints": {"pipeline_parallel": {"min": 2, "max": 2}}}


class Clock:
    """A clock that goes only when it is told to."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class Module:
    """The part of a torch.nn.Module that `watch` needs."""
    training = True

    def __init__(self):
        self.hooks = []

    def register_forward_pre_hook(self, hook):
        self.hooks.append(hook)
        return mock.Mock()

    def register_forward_hook(self, hook):
        self.hooks.append(hook)
        return mock.Mock()

    def forward(self, clock, seconds):
        self.hooks[0](self, ())
        clock.now += seconds
        self.hooks[1](self, (), None)


class ReporterCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.__exit__)
        cls.client = evenkeel.Client(cls.server.address)
        cls.addClassCleanup(cls.client.close)
        cls.planned = cls.client.plan_job(JOB)
        cls.predicted = cls.planned.plan.predictions.step.total_seconds

    def setUp(self):
        self.clock = Clock()
        for module in ("reporter", "forward_times"):
            patch = mock.patch(f"evenkeel.{module}.time.perf_counter", self.clock)
            patch.start()
            self.addCleanup(patch.stop)
        fake = mock.patch.dict("sys.modules", {"torch": mock.Mock(**{"cuda.is_available.return_value": False},
                                                                  __version__="0")})
        fake.start()
        self.addCleanup(fake.stop)
        self.addCleanup(self.client.roll_back_profile, to_revision=0)

    def reporter(self, **settings):
        settings = {"plan": self.planned, "warmup_steps": 0, "window_seconds": .05, "window_steps": 1000, **settings}
        made = evenkeel.StepReporter(settings.pop("target", self.server.address), **settings)
        self.addCleanup(made.close)
        return made

    def steps(self, made, count, ratio):
        made.step_end()
        for _ in range(count):
            self.clock.now += ratio * self.predicted
            made.step_end()


class ReporterTest(ReporterCase):
    def test_a_run_is_compared_recorded_and_planned_again(self):
        before = self.server.metric("evenkeel_drift_reports_total", measured="step")
        made = self.reporter(job=JOB)
        with self.assertLogs("evenkeel.reporter", logging.WARNING) as logs:
            self.steps(made, 30, 1.5)
            harness.wait_for(lambda: made.report.windows >= 1)
            self.assertAlmostEqual(made.report.step_ratio, 1.5, 6)
            self.assertEqual(made.report.drift.step, 2)  # above
            self.assertIn("50.0% slower than planned", made.report.advice)
            self.assertEqual(made.report.revision, 0)  # a window is a dry run
            made.close()
        report = made.report
        self.assertEqual(report.fault, "")
        self.assertEqual(report.steps, 30)
        self.assertGreater(report.revision, 0)
        self.assertNotEqual(report.new_plan_id, self.planned.plan_id)
        self.assertAlmostEqual(report.new_step_seconds / self.predicted, 1.5, 5)
        self.assertIn("planned again with this outcome", logs.output[-1])
        self.assertEqual(self.server.metric("evenkeel_drift_reports_total", measured="step"), before + 2)
        self.assertGreaterEqual(self.server.metric("evenkeel_step_drift_ratio_sum"), 3)
        recorded = next(iter(self.client.list_profiles(include_measurements=True, active_only=True)))
        self.assertEqual(recorded.profile.steps[0].outcome.step_count, 30)

    def test_a_pause_and_the_first_steps_do_not_count(self):
        made = self.reporter(warmup_steps=3, record=False)
        self.steps(made, 2, 9)
        made.pause()
        self.clock.now += 1000
        self.steps(made, 4, 1.02)
        with made.step():
            self.clock.now += 1.02 * self.predicted
        made.close()
        self.assertEqual((made.report.steps, made.report.fault), (5, ""))
        self.assertAlmostEqual(made.report.step_ratio, 1.02, 6)
        self.assertEqual(made.report.advice, "")
        self.assertEqual(made.report.revision, 0)

    def test_the_log_tells_a_drift_once_and_not_with_every_window(self):
        made = self.reporter(record=False)
        with self.assertLogs("evenkeel.reporter", logging.WARNING) as logs:
            for number, ratio in enumerate((1.1, 1.12, 1, 1.08, 1.5, 1.52), start=1):
                made.pause()
                self.steps(made, 5, ratio)
                harness.wait_for(lambda: made.report.windows >= number)  # pylint: disable=cell-var-from-loop
            made.close()
        told = [line for line in logs.output if "slower than planned" in line]
        self.assertEqual(len(told), 2, logs.output)
        self.assertIn("10.0% slower", told[0])
        self.assertIn("50.0% slower", told[1])

    def test_ranks_come_together_and_the_slow_one_is_named(self):
        plan = self.planned.plan
        forward = [stage.forward_seconds * plan.predictions.micro_batches for stage in plan.stages]
        self.assertEqual(len(forward), 2)
        with tempfile.TemporaryDirectory() as folder:
            made = []
            for rank in (3, 2, 1, 0):
                made.append(self.reporter(rank=rank, world_size=4, stage=rank // 2, forward_every=1, record=False,
                                          gather=rank_gather.FolderGather(folder)))
                module = Module()
                made[-1].watch(module)
                made[-1].step_end()
                for _ in range(8):
                    begun = self.clock.now
                    module.forward(self.clock, forward[rank // 2] * (1.4 if rank == 2 else 1))
                    self.clock.now = begun + self.predicted
                    made[-1].step_end()
                made[-1].close()
        report = made[-1].report
        self.assertEqual(report.fault, "")
        self.assertEqual([(slow.rank, slow.stage_index) for slow in report.drift.slow_ranks], [(2, 1)])
        self.assertIn("rank 2 (stage 1) by 40.0%", report.advice)
        self.assertAlmostEqual(report.drift.stages[0].forward_ratio, 1, 5)
        self.assertEqual([each.report.windows for each in made], [0, 0, 0, 1])
        self.assertGreaterEqual(self.server.metric("evenkeel_slow_rank_reports_total"), 1)

    def test_a_plan_id_alone_is_enough(self):
        made = evenkeel.StepReporter(self.server.address, plan_id=self.planned.plan_id, warmup_steps=0)
        self.steps(made, 5, 1.1)
        made.close()
        self.assertEqual(made.report.fault, "")
        self.assertGreater(made.report.revision, 0)

    def test_a_plan_that_the_server_never_made_is_planned_there(self):
        with Server() as other:
            made = self.reporter(target=other.address, job=JOB)
            self.steps(made, 5, 1.1)
            made.close()
            self.assertEqual(made.report.fault, "")
            self.assertEqual(made.report.revision, 1)
        with Server() as third, self.assertLogs("evenkeel.reporter", logging.WARNING):
            made = self.reporter(target=third.address, job={**JOB, "training": {"global_batch_samples": 96}})
            self.steps(made, 5, 1.1)
            made.close()
            self.assertIn("is not available on this server", made.report.fault)  # another job's plan
            self.assertEqual(made.report.revision, 0)

    def test_a_refused_outcome_is_a_fault_and_still_drift(self):
        made = self.reporter()
        with self.assertLogs("evenkeel.reporter", logging.WARNING):
            self.steps(made, 5, 4)
            made.close()
        self.assertIn("accepted: 1/3 to 3", made.report.fault)
        self.assertAlmostEqual(made.report.step_ratio, 4, 5)
        self.assertEqual(made.report.revision, 0)

    def test_a_child_of_fork_is_left_alone(self):
        made = self.reporter(record=False)
        self.steps(made, 5, 1)
        harness.wait_for(lambda: made.report.windows >= 1)
        child = os.fork()
        if child == 0:
            made.step_end()
            made.close()
            os._exit(7)  # pylint: disable=protected-access
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)
        self.steps(made, 5, 1)
        made.close()
        self.assertEqual(made.report.fault, "")
        self.assertEqual(made.report.windows, 2)


class FaultTest(ReporterCase):
    def hindered(self, target, **settings):
        made = self.reporter(target=target, timeout=.3, exit_seconds=2.0, **settings)
        with self.assertLogs("evenkeel.reporter", logging.WARNING) as logs:
            for _ in range(3):
                self.steps(made, 5, 1)
                time.sleep(.15)
            begun = time.monotonic()
            made.close()
            self.assertLess(time.monotonic() - begun, 2.5)
        self.assertEqual(len(logs.output), 1, logs.output)
        self.assertIn("training goes on", logs.output[0])
        self.assertGreaterEqual(made.report.dropped, 2)
        return made

    def test_no_server_is_one_warning(self):
        self.hindered("unix:/nothing/there")

    def test_a_server_that_never_answers_holds_nothing_up(self):
        with socket.socket() as deaf:
            deaf.bind(("127.0.0.1", 0))
            deaf.listen()
            self.hindered(f"127.0.0.1:{deaf.getsockname()[1]}")

    def test_ranks_that_never_report_hold_nothing_up(self):
        class Never:
            def put(self, rank, data):
                raise OSError("the store is gone")

            def get(self, rank):
                return None
        made = self.reporter(world_size=64, rank=0, gather=Never(), gather_seconds=.2, record=False)
        self.steps(made, 5, 1)
        begun = time.monotonic()
        made.close()
        self.assertLess(time.monotonic() - begun, 5)
        self.assertEqual(made.report.windows, 1)
        other = self.reporter(world_size=64, rank=1, gather=Never())
        with self.assertLogs("evenkeel.reporter", logging.WARNING):
            self.steps(other, 5, 1)
            other.close()
        self.assertEqual(other.report.fault, "the store is gone")

    def test_a_wrong_plan_is_one_warning(self):
        made = evenkeel.StepReporter(self.server.address, plan_id="plan-" + 32 * "0", warmup_steps=0)
        with self.assertLogs("evenkeel.reporter", logging.WARNING) as logs:
            self.steps(made, 5, 1)
            made.close()
        self.assertEqual(len(logs.output), 1)

    def test_wrong_arguments_are_refused_at_once(self):
        for wrong in ({"plan_id": ""}, {"stage": -1}, {"window_steps": 0}, {"timeout": 0}, {"window_seconds": 1e9},
                      {"warmup_steps": 1.5}, {"target": " x"}):
            with self.subTest(wrong), self.assertRaises(ValueError):
                evenkeel.StepReporter(**{"plan_id": "plan-1", **wrong})


class HooksTest(ReporterCase):
    """The hooks of trainers that are not packages of the index, or need GPUs, on objects of their shape."""

    def test_megatron(self):
        calls = []

        class Training:
            @staticmethod
            def train_step(forward_step_func, data_iterator, model, optimizer):
                calls.append(optimizer)
                self.clock.now += self.predicted
                return "loss"

            @staticmethod
            def evaluate_and_print_results():
                self.clock.now += 1000

        with mock.patch.object(reporting, "_megatron_stage", lambda: 1):
            begun = reporting.megatron_hook(self.server.address, training=Training, plan=self.planned, warmup_steps=0,
                                            record=False)
            for step in range(7):
                self.assertEqual(Training.train_step(None, None, [Module()], optimizer=step), "loss")
                if step == 3:
                    Training.evaluate_and_print_results()
        begun.close()
        self.assertEqual(calls, list(range(7)))
        self.assertEqual((begun.reporter.report.steps, begun.reporter.report.fault), (5, ""))
        self.assertAlmostEqual(begun.reporter.report.step_ratio, 1, 5)

    def test_torchtitan(self):
        class Trainer:
            model_parts = [Module()]
            validator = None

            def train_step(trainer, data_iterator):  # pylint: disable=no-self-argument
                self.clock.now += self.predicted

            def close(self):
                pass

        trainer = Trainer()
        begun = reporting.torchtitan_hook(trainer, self.server.address, plan=self.planned, warmup_steps=0, record=False)
        for _ in range(4):
            trainer.train_step(None)
        trainer.close()
        self.assertEqual((begun.reporter.report.steps, begun.reporter.report.fault), (3, ""))


class PartsTest(unittest.TestCase):
    def test_percentiles_are_values_that_were_measured(self):
        window = step_times.RankWindow.of(3, 1, [float(v) for v in range(100, 0, -1)], [2., 1., 9.], 5, 6)
        self.assertEqual((window.p50, window.p90, window.p99, window.mean), (50, 90, 99, 50.5))
        self.assertEqual(window.forward, 2)
        self.assertEqual(step_times.RankWindow.from_bytes(window.to_bytes()), window)

    def test_a_long_run_takes_bounded_memory(self):
        total = step_times.Total(most=64)
        for start in range(0, 10000, 10):
            total.add([float(v) for v in range(start, start + 10)])
        last = step_times.RankWindow.of(0, 0, [1.])
        whole = total.window(last)
        self.assertEqual((whole.steps, whole.mean), (10000, 4999.5))
        self.assertAlmostEqual(whole.p50, 5000, delta=300)
        self.assertLessEqual(len(total._kept), 64)  # pylint: disable=protected-access

    def test_rank_0_waits_only_so_long(self):
        class Slow:
            def __init__(self):
                self.there = {1: b"one"}

            def get(self, rank):
                return self.there.get(rank)
        slow = Slow()
        threading.Timer(.1, slow.there.__setitem__, (2, b"two")).start()
        found = rank_gather.collect(slow, 4, 0, time.monotonic(), .4)
        self.assertEqual(found, {1: b"one", 2: b"two"})


class CommandTest(unittest.TestCase):
    def test_drift_is_shown_and_the_job_planned_again(self):
        with Server() as server, tempfile.TemporaryDirectory() as folder, evenkeel.Client(server.address) as client:
            planned = client.plan_job(JOB)
            predictions = planned.plan.predictions
            outcome = {"plan_id": planned.plan_id, "step_seconds": 1.2 * predictions.step.total_seconds, "ranks": [
                {"rank": s, "stage_index": s,
                 "forward_seconds": 1.2 * stage.forward_seconds * predictions.micro_batches,
                 "peak_allocated_bytes": stage.memory.allocated_bytes} for s, stage in enumerate(planned.plan.stages)]}
            path, job = os.path.join(folder, "outcome.json"), os.path.join(folder, "job.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"model": "llama3-8b", "gpu_type": "h100-sxm-80gb", "step_outcomes": [outcome]}, file)
            with open(job, "w", encoding="utf-8") as file:
                json.dump({"job": JOB}, file)
            shown = server.ctl("profile", "drift", path)
            self.assertEqual(shown.returncode, 0, shown.stderr)
            text = " ".join(shown.stdout.split())
            self.assertIn("All stages are 20.0% slower than planned", text)
            self.assertIn("1.200x of the predicted", text)
            again = server.ctl("profile", "drift", path, "--record", "--job", job)
            self.assertIn("Recorded as revision 1.", again.stdout)
            self.assertIn("Planned again with what is recorded: plan-", " ".join(again.stdout.split()))
            self.assertEqual(json.loads(server.ctl("profile", "drift", path, "--output", "json").stdout)
                             ["drifts"][0]["part"], "DRIFT_PART_ALL_STAGES")
            outcome["plan_id"] = "plan-" + 32 * "0"
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"model": "llama3-8b", "gpu_type": "h100-sxm-80gb", "step_outcomes": [outcome]}, file)
            self.assertEqual(server.ctl("profile", "drift", path).returncode, 2)


if __name__ == "__main__":
    unittest.main()
