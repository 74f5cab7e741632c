"""Runs overlays/training-job: the sidecar, the init containers, and the trainer's own command with real processes."""
import json
import os
import re
import shutil
import socket
import time
import unittest

import harness
import manifests
import numpy as np
from pod import Pod

# These stand in for an image with PyTorch 2.6 and the package: this machine's Python, and the package where `image` is
# mounted. PyTorch 1.13 writes options with underscores.
TORCHRUN = ('#!/bin/bash\noptions=("${@:1:$#-1}")\n'
            'exec python3 -m torch.distributed.run --redirects 1 --tee 1 "${options[@]//proc-per-node/proc_per_node}" '
            '/opt/image/training_stand_in.py "${@: -1}"\n')
RANKS, SAMPLES = 2, 240


def small(job):
    """Returns a job of the same form, small enough for two slow cores to train."""
    job["model"]["language_model"].update(layers=2, hidden_size=64, attention_heads=4, ffn_size=128,
                                          vocabulary_size=256)
    job["cluster"]["pools"][0].update(gpu_count=RANKS, gpus_per_node=RANKS)
    job["training"].update(global_batch_samples=24, token_cap=512)
    return job


def command_line(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read()


class ExampleTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        found = manifests.objects("training-job")
        objects = {("ConfigMap", item["metadata"]["name"]): dict(item["data"])
                   for item in found if item["kind"] == "ConfigMap"}
        (files,) = objects.values()
        files["job.json"] = json.dumps(small(json.loads(files["job.json"])))
        template = manifests.named(found, "Job", "train")["spec"]["template"]
        trainer = template["spec"]["containers"][0]
        trainer["volumeMounts"].append({"name": "image", "mountPath": "/opt/image", "readOnly": True})
        path = next(entry for entry in trainer["env"] if entry["name"] == "PYTHONPATH")
        path["value"] += ":/opt/image"
        trainer["env"].append({"name": "PATH", "value": "/opt/image:/usr/bin:/bin"})
        cls.pod = Pod(template, objects, [socket.gethostname()])
        cls.addClassCleanup(cls.pod.__exit__)
        image = cls.pod.volume("image")
        for name in ("evenkeel", "google"):
            shutil.copytree(os.path.join(harness.PROTOS.name, name), os.path.join(image, name))
        shutil.copy(os.path.join(os.path.dirname(__file__), "training_stand_in.py"), image)
        with open(os.path.join(image, "torchrun"), "w", encoding="utf-8") as file:
            file.write(TORCHRUN)
        os.chmod(file.name, 0o755)
        chance = np.random.RandomState(1)
        cls.lengths = chance.randint(2, 200, SAMPLES)
        np.save(os.path.join(cls.pod.volume("data"), "lengths.npy"), cls.lengths)
        # The next token is almost certain, so that a model learns something in a few steps.
        np.save(os.path.join(cls.pod.volume("data"), "tokens.npy"),
                (np.arange(cls.lengths.sum()) % 7).astype(np.uint16))
        cls.pod.start("evenkeel").wait_until("startupProbe")

    def run_to_the_end(self, name, seconds):
        done = self.pod.start(name)
        self.assertEqual(done.process.wait(seconds), 0, done.log())
        return done.log()

    def test_it_trains_by_the_plan(self):
        for again in range(2):  # init containers may run again
            for name in ("plan", "launch"):
                said = self.run_to_the_end(name, 60)
                self.assertTrue(name != "launch" or "launch.sh" in said, (again, said))
        with open(os.path.join(self.pod.volume("plan"), "plan.json"), encoding="utf-8") as file:
            plan = json.load(file)["plan"]
        self.assertEqual(plan["subject"]["gpu_count"], RANKS)
        self.assertEqual(int(plan["batch_rule"]["token_cap"]), 512)
        trainer = self.pod.start("trainer")
        # A kubelet signals torchrun itself.
        while b"torch.distributed.run" not in command_line(trainer.process.pid):
            self.assertIsNone(trainer.process.poll(), trainer.log())
            time.sleep(0.05)
        self.assertEqual(trainer.process.wait(300), 0, trainer.log())
        said = trainer.log()
        seen = {int(rank): int(count) for rank, count in re.findall(rf"rank (\d+) saw (\d+) of {SAMPLES}", said)}
        self.assertEqual(len(seen), RANKS, said)
        self.assertEqual(sum(seen.values()), SAMPLES)  # each sample once
        steps = re.findall(r"step (\d+) of (\d+): loss ([\d.]+)", said)
        self.assertEqual([int(at) for at, _, _ in steps], list(range(1, int(steps[0][1]) + 1)))
        self.assertGreater(len(steps), 3)
        self.assertLess(float(steps[-1][2]), 0.8 * float(steps[0][2]), said)
        self.assertIn("PackDataset", self.pod.containers["evenkeel"].log())

    def test_a_job_that_can_not_fit_ends_in_plan(self):
        name = next(at for kind, at in self.pod.objects if kind == "ConfigMap")
        job = json.loads(self.pod.objects["ConfigMap", name]["job.json"])
        job["model"] = {"name": "llama3-70b"}
        with Pod({"spec": self.pod.spec}, {("ConfigMap", name): {"job.json": json.dumps(job)}}) as pod:
            pod.volumes["data"] = self.pod.volume("data")
            pod.start("evenkeel").wait_until("startupProbe")
            done = pod.start("plan")
            self.assertEqual(done.process.wait(60), 1, done.log())
            self.assertIn("GPUs instead of", done.log())


if __name__ == "__main__":
    unittest.main()
