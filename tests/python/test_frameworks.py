"""Tests the loops of frameworks, on two ranks: every sample once per epoch, another order in each epoch, and the error
if the framework would split batches between the ranks a second time."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import server

HERE = os.path.dirname(os.path.abspath(__file__))


class FrameworksTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = server.Server()
        cls.addClassCleanup(cls.server.stop)

    def ran(self, kind):
        with tempfile.TemporaryDirectory(prefix="evenkeel-frameworks-") as folder:
            output = os.path.join(folder, "out.json")
            done = subprocess.run(
                [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2", "frameworks_worker.py", kind,
                 self.server.address, output], cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                timeout=300, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)
            with open(output, encoding="utf-8") as file:
                return json.load(file)

    def check(self, kind, repeated):
        """`repeated`: samples of an epoch that come again, because the loop cannot drop a batch that fills a gap."""
        result = self.ran(kind)
        self.assertEqual(result["error"], "")
        first, second = zip(*result["ranks"])
        for epoch in (first, second):
            numbers = [number for rank in epoch for number in rank]
            self.assertEqual(set(numbers), set(range(300)))
            self.assertLessEqual(len(numbers) - 300, repeated)
        self.assertNotEqual(first, second)

    def test_lightning(self):
        self.check("lightning", 0)

    def test_transformers(self):
        self.check("transformers", 10)

    def test_accelerate(self):
        self.check("accelerate", 0)

    def test_lightning_says_that_it_would_wrap(self):
        self.assertIn("use_distributed_sampler=False", self.ran("lightning-wraps")["error"])

    def test_accelerate_that_wraps_is_noticed(self):
        self.assertIn("is a BatchSamplerShard, not this sampler", self.ran("accelerate-wraps")["error"])


if __name__ == "__main__":
    unittest.main()
