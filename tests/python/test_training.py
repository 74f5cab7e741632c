"""Tests training by real DataLoaders in several processes (gloo), with packs of a real server."""
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import unittest

import torch

import server
import toy

HERE = os.path.dirname(os.path.abspath(__file__))
RULE = {"token_cap": 256}

# Two-sided 95% and 90% points of Student's t for SEEDS - 1 degrees of freedom.
SEEDS = 10
FIRST_SEED = int(os.environ.get("EVENKEEL_FIRST_SEED", "0"))
T_95, T_90 = 2.262, 1.833


class TrainingCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = server.Server()
        cls.addClassCleanup(cls.server.stop)

    def results(self, runs, world):
        """Returns the results of `runs` in `world` processes."""
        with tempfile.TemporaryDirectory(prefix="evenkeel-train-") as folder:
            path, output = os.path.join(folder, "runs.json"), os.path.join(folder, "out.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump([{"server": self.server.address, "rule": RULE, **run} for run in runs], file)
            address = "file://" + os.path.join(folder, "store")
            processes = [subprocess.Popen([sys.executable, os.path.join(HERE, "train_worker.py"), path, str(rank),
                                           str(world), address, output]) for rank in range(world)]
            try:
                for process in processes:
                    self.assertEqual(process.wait(600), 0)
            finally:
                for process in processes:
                    process.kill()
            with open(output, encoding="utf-8") as file:
                return json.load(file)


class ExactTest(TrainingCase):
    WORLD = 3

    def test_samples_and_gradients_are_those_of_one_process(self):
        """Checks that every sample comes once per epoch, and that each step's gradient is that of the mean over all its
        tokens in one process."""
        run = {"order": "balanced", "samples": 500, "seed": 4, "epochs": 2, "packs_per_rank": 2, "rate": .5,
               "exact": True, "workers": 2}
        result, = self.results([run], self.WORLD)
        ranks = result["steps"]
        self.assertEqual(len({len(steps) for steps in ranks}), 1)
        count = len(ranks[0])
        dataset = toy.Sequences(toy.lengths(500, 0), 0)
        model = toy.Model(4, torch.float64)
        optimizer = torch.optim.SGD(model.parameters(), lr=.5)
        seen = []
        for step in range(count):
            packs = [pack for steps in ranks for pack in steps[step] if pack]
            numbers = [n for pack in packs for n in pack]
            seen += numbers
            _, inputs, targets = toy.collate([dataset[n] for n in numbers])
            optimizer.zero_grad()
            (model(inputs, targets) / len(targets)).backward()
            theirs = torch.tensor(result["gradients"][step], dtype=torch.float64)
            self.assertLess(float((toy.gradient(model) - theirs).abs().max()), 1e-12, f"step {step}")
            optimizer.step()
        half = len(seen) // 2
        self.assertEqual(sorted(seen[:half]), list(range(500)))
        self.assertEqual(sorted(seen[half:]), list(range(500)))
        self.assertNotEqual(seen[:half], seen[half:])
        packs = [len([p for p in steps[s] if p]) for s in (count // 2 - 1, count - 1) for steps in ranks]
        self.assertIn(1, [p < 2 for p in packs])  # the last step lacks packs; otherwise weight 0 was not tried

    def test_resumes_while_workers_read_ahead(self):
        run = {"kind": "resume", "samples": 500, "seed": 4, "packs_per_rank": 2, "workers": 2, "stop": 7}
        for options in ({"share": "auto", "persistent": True}, {"share": "each"}, {"client": True}):
            result, = self.results([{**run, **options}], self.WORLD)
            for rank in result["ranks"]:
                self.assertEqual(len(rank["head"]), 16)
                self.assertEqual(rank["head"] + rank["tail"], rank["whole"])
                self.assertEqual(rank["after"], rank["second"])
                self.assertEqual(rank["state"], result["ranks"][0]["state"])

    def test_ranks_that_disagree_are_told(self):
        *others, last = self.results([{"kind": "disagree", "samples": 300}], self.WORLD)[0]
        self.assertEqual(others, [["", ""]] * (self.WORLD - 1))
        for text, said in zip(("rank 2 asks for other packs than rank 0: samples '", "seed 9, rank 0 has 4"), last):
            self.assertIn(text, said)

    def test_a_program_may_end_while_the_next_epoch_is_asked_for(self):
        code = ("import sys, torch, evenkeel, toy\n"
                "sizes = toy.lengths(400_000, 1)\n"
                "sampler = evenkeel.EvenkeelBatchSampler(\n"
                "    sys.argv[1], {'token_cap': 256}, sizes, rank=0, world_size=64)\n"
                "loader = torch.utils.data.DataLoader(sizes, batch_sampler=sampler, num_workers=2)\n"
                "print(len(next(iter(loader))) > 0)\n")
        for _ in range(3):
            done = subprocess.run([sys.executable, "-c", code, self.server.address], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, cwd=HERE, timeout=100, check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "True\n", ""))


class LossCurveTest(TrainingCase):
    """Compares balanced order with random order, with an order that is known to be bad as the control.

    Held-out loss, mean over the second half of each epoch, is measured for each of SEEDS seeds (weights, order) under
    three orders of the same packs and with the same initial weights. Differences are taken seed by seed. The control,
    packs in order of length, must be distinguished from random order: its 95% interval must be above 0. So a test that
    could not distinguish them fails. Balanced order must be equivalent to random order: the 90% interval of the mean
    difference (two one-sided t tests at 5%) must be within +- SHARE of the least cost of the control in that epoch of
    that run. So at least three quarters of the effect of a bad order are shown to be absent. This must hold in every
    epoch, so testing three epochs makes the test no easier to pass.
    """
    EPOCHS, SHARE = 3, .25

    def test_balanced_order_trains_like_random_order(self):
        runs = [{"order": order, "samples": 1500, "seed": seed, "epochs": self.EPOCHS, "packs_per_rank": 1, "rate": .3}
                for order in ("balanced", "random", "sorted") for seed in range(FIRST_SEED, FIRST_SEED + SEEDS)]
        curves = [result["losses"] for result in self.results(runs, 2)]
        balanced, plain, control = (curves[i * SEEDS:(i + 1) * SEEDS] for i in range(3))

        def interval(order, epoch, t):
            """Returns the interval of the mean difference, as a share of the loss in random order."""
            reference = statistics.mean(curve[epoch] for curve in plain)
            differences = [(a[epoch] - b[epoch]) / reference for a, b in zip(order, plain)]
            mean, spread = statistics.mean(differences), statistics.stdev(differences) / math.sqrt(SEEDS)
            return mean - t * spread, mean + t * spread
        for epoch in range(self.EPOCHS):
            low, high = interval(balanced, epoch, T_90)
            bad = interval(control, epoch, T_95)
            print(f"epoch {epoch}: loss in random order {statistics.mean(c[epoch] for c in plain):.4f}; "
                  f"balanced {low:+.2%} to {high:+.2%} of it; control, sorted by length: "
                  f"{bad[0]:+.2%} to {bad[1]:+.2%}")
            with self.subTest(epoch=epoch):
                self.assertGreater(bad[0], 0)
                self.assertGreater(low, -self.SHARE * bad[0])
                self.assertLess(high, self.SHARE * bad[0])
        self.assertLess(statistics.mean(c[-1] for c in plain), .8 * math.log(toy.VOCABULARY))  # it does learn


if __name__ == "__main__":
    unittest.main()
