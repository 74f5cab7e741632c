"""Tests the whole loop with gloo on CPUs: a plan, a training that reports its steps, and the prediction of a job of
another shape on the same machine."""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import server  # noqa: E402  pylint: disable=wrong-import-position

import evenkeel  # noqa: E402  pylint: disable=wrong-import-position

HERE = os.path.dirname(os.path.abspath(__file__))
WORLD = int(os.environ.get("EVENKEEL_LOOP_RANKS", "2"))
LENGTH = 128
SAMPLES = 4  # of a micro-batch
SHAPE = {"hidden_size": 1024, "attention_heads": 16, "ffn_size": 4096, "vocabulary_size": 2048}
STEPS = int(os.environ.get("EVENKEEL_LOOP_STEPS", "30"))


def device():
    """Describes one thread of this machine as a GPU, by a quick measurement of it: products and copies of the size
    that the model has, whose tensors fit into a processor's cache."""
    torch.set_num_threads(1)
    left = torch.randn(1024, 1024)
    copied = torch.randn(LENGTH * SAMPLES * SHAPE["ffn_size"])
    copy = torch.empty_like(copied)

    def best(work):
        times = []
        for _ in range(7):
            begun = time.perf_counter()
            work()
            times.append(time.perf_counter() - begun)
        return min(times)
    return {"name": "one-thread", "costs_like": "a100-sxm-80gb", "memory_bytes": 8 << 30,
            "dense_16bit_flops_per_second": 2 * 1024 ** 3 / best(lambda: left @ left),
            "memory_bytes_per_second": max(1e10, 8 * len(copied) / best(lambda: copy.copy_(copied)))}


def job(gpu, layers, samples):
    return {
        "model": {"name": "tiny", "language_model": {"layers": layers, "gated_mlp": False, "norm": "NORM_LAYER",
                                                     **SHAPE}},
        "dataset": {"histogram": {"units": [0], "llm_tokens": [LENGTH], "sample_count": [100000]}},
        "cluster": {"pools": [{"gpu": gpu, "gpu_count": WORLD, "gpus_per_node": WORLD,
                               "intra_node_bytes_per_second": 1e9}]},
        "training": {"global_batch_samples": samples, "token_cap": SAMPLES * LENGTH, "trainer": {"name": "generic"},
                     "zero_stage": "ZERO_STAGE_0"},
        "constraints": {"tensor_parallel": {"min": 1, "max": 1}, "pipeline_parallel": {"min": 1, "max": 1},
                        "recompute": "RECOMPUTE_POLICY_FORBIDDEN"}}


class LoopTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = server.Server()
        cls.addClassCleanup(cls.server.stop)
        cls.client = evenkeel.Client(cls.server.address)
        cls.addClassCleanup(cls.client.close)
        cls.gpu = device()

    def train(self, *runs, **settings):
        """Trains (answer of plan_job, job, whether its outcome is recorded) in turns; returns what rank 0 wrote."""
        with tempfile.TemporaryDirectory(prefix="evenkeel-loop-") as folder:
            path, output = os.path.join(folder, "settings.json"), os.path.join(folder, "out.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"server": self.server.address, "store": "file://" + os.path.join(folder, "store"),
                           "output": output, "length": LENGTH, "steps": STEPS, "warmup_steps": 2,
                           "window_steps": 10, **settings, "runs": [
                               {"plan_id": planned.plan_id, "job": wanted, "record": record,
                                "shape": {**SHAPE, "layers": wanted["model"]["language_model"]["layers"]},
                                "micro_batch": SAMPLES, "micro_batches": planned.plan.predictions.micro_batches}
                               for planned, wanted, record in runs]}, file)
            processes = [subprocess.Popen([sys.executable, os.path.join(HERE, "train_gpt.py"), path, str(rank),
                                           str(WORLD)], env={**os.environ, "OMP_NUM_THREADS": "1"})
                         for rank in range(WORLD)]
            try:
                for process in processes:
                    self.assertEqual(process.wait(900), 0)
            finally:
                for process in processes:
                    process.kill()
            with open(output, encoding="utf-8") as file:
                return json.load(file)

    def test_a_job_of_another_shape_is_predicted_within_a_tenth(self):
        """The second job has more layers and twice the batch. Its plan is made from the outcome of the first alone."""
        first, second = job(self.gpu, 2, SAMPLES * WORLD), job(self.gpu, 3, 2 * SAMPLES * WORLD)
        planned, unmeasured = self.client.plan_job(first), self.client.plan_job(second)
        before = unmeasured.plan.predictions.step.total_seconds
        done, other = self.train((planned, first, True), (unmeasured, second, False))
        self.assertEqual(done["fault"], "")
        self.assertGreater(done["revision"], 0)
        self.assertEqual(done["steps"], STEPS)
        predicted = self.client.plan_job(second).plan.predictions.step.total_seconds
        measured = statistics.fmean(other["times"])
        print(f"\nfirst: {planned.plan.predictions.step.total_seconds:.3f} s predicted, "
              f"{statistics.fmean(done['times']):.3f} s measured; {done['advice']}")
        print(f"second: {before:.3f} s predicted before, {predicted:.3f} s after, {measured:.3f} s measured: "
              f"{100 * (predicted / measured - 1):+.1f} % off")
        self.assertNotAlmostEqual(predicted, before)
        self.assertLess(abs(predicted / measured - 1), .10)


if __name__ == "__main__":
    unittest.main()
