"""Tests the adapters of evenkeel.reporting in the real trainers. What trains here is a toy on CPUs, so its steps are
far quicker than the plan's: the server compares them, and refuses to record them."""
import importlib
import inspect
import logging
import os
import sys
import tempfile
import unittest

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import server  # noqa: E402  pylint: disable=wrong-import-position

import evenkeel  # noqa: E402  pylint: disable=wrong-import-position
from evenkeel import reporting  # noqa: E402  pylint: disable=wrong-import-position

JOB = {"model": {"name": "llama3-8b"}, "cluster": {"pools": [{"gpu_type": "h100-sxm-80gb", "gpu_count": 8}]},
       "training": {"global_batch_samples": 64}}
STEPS = 12


class Toy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, x, labels=None):
        torch.linalg.norm(torch.randn(300, 300) @ torch.randn(300, 300))  # takes more than a millisecond
        return {"loss": ((self.layer(x).squeeze(-1) - labels) ** 2).mean()}


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 1000

    def __getitem__(self, index):
        return {"x": torch.full((4,), index / 1000), "labels": torch.tensor(float(index % 2))}


class TrainersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = server.Server()
        cls.addClassCleanup(cls.server.stop)
        with evenkeel.Client(cls.server.address) as client:
            cls.planned = client.plan_job(JOB)
        cls.settings = {"plan": cls.planned, "warmup_steps": 2, "forward_every": 1}
        folder = tempfile.TemporaryDirectory(prefix="evenkeel-trainers-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name

    def check(self, begun, steps):
        report = begun.reporter.report
        self.assertEqual(report.steps, steps)
        self.assertEqual(report.windows, 1)
        self.assertGreater(report.step_ratio, 0)
        self.assertGreater(report.drift.stages[0].forward_ratio, 0)
        self.assertIn("measured", report.fault)  # refused: far from the prediction

    def test_hugging_face(self):
        from transformers import Trainer, TrainingArguments
        callback = reporting.hf_callback(self.server.address, **self.settings)
        arguments = TrainingArguments(
            output_dir=os.path.join(self.folder, "hf"), max_steps=STEPS, per_device_train_batch_size=4,
            gradient_accumulation_steps=2, report_to=[], use_cpu=True, save_strategy="no", eval_strategy="steps",
            eval_steps=6, disable_tqdm=True)
        few = torch.utils.data.Subset(Rows(), range(8))
        Trainer(model=Toy(), args=arguments, train_dataset=Rows(), eval_dataset=few, callbacks=[callback]).train()
        self.check(callback.begun, STEPS - 2 - 1)  # two to warm up, one after the evaluation

    def test_lightning(self):
        from lightning import pytorch as pl

        class Module(pl.LightningModule):
            def __init__(self):
                super().__init__()
                self.toy = Toy()

            def forward(self, x, labels):
                return self.toy(x, labels)["loss"]

            def training_step(self, batch, index):
                return self(batch["x"], batch["labels"])

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), lr=.1)

        callback = reporting.lightning_callback(self.server.address, **self.settings)
        logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
        trainer = pl.Trainer(max_steps=STEPS, accumulate_grad_batches=2, accelerator="cpu", logger=False,
                             enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
                             callbacks=[callback])
        trainer.fit(Module(), torch.utils.data.DataLoader(Rows(), batch_size=4))
        self.check(callback.begun, STEPS - 2)

    def test_torchtitan_has_what_the_hook_takes(self):
        try:
            trainer = importlib.import_module("torchtitan.trainer").Trainer
        except ImportError as error:
            self.skipTest(f"torchtitan needs more than is here: {error}")
        source = inspect.getsource(trainer)
        self.assertIn("self.train_step(data_iterator)", source)
        self.assertIn("self.validator.validate(", source)
        self.assertIn("self.model_parts", source)
        self.assertTrue(callable(trainer.train_step) and callable(trainer.close))

    def test_megatron_core_has_what_the_hook_takes(self):
        try:
            state = importlib.import_module("megatron.core.parallel_state")
        except ImportError as error:
            self.skipTest(f"megatron-core needs more than is here: {error}")
        self.assertFalse(state.model_parallel_is_initialized())
        self.assertEqual(reporting._megatron_stage(), 0)  # pylint: disable=protected-access
        self.assertTrue(callable(state.get_pipeline_model_parallel_rank))


if __name__ == "__main__":
    unittest.main()
