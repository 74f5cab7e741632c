"""Tests `evenkeelctl --local`: modules in host memory from plan to settings and back, without virtual stages and with
them, tables with adapters, sorted micro-batches, and a reader that has seen enough."""
import copy
import json
import os
import signal
import subprocess
import tempfile
import unittest

import harness

MODEL = ["--model", "mixtral-8x7b", "--gpu", "gb200-186gb", "--gpus", "8", "--gpus-per-node", "4"]
# Samples of one length: settings of a trainer say no more of lengths.
JOB = {
    "model": {"name": "mixtral-8x7b"},
    "dataset": {"histogram": {"llm_tokens": [32768], "sample_count": [4096]}},
    "cluster": {"pools": [{"gpu_type": "gb200-186gb", "gpu_count": 8, "gpus_per_node": 4}]},
    "training": {"token_cap": 32768, "global_batch_samples": 32, "group_selection": "GROUP_SELECTION_ONE",
                 "offload": {"choose_activation_modules": True}},
    "constraints": {"pipeline_parallel": {"min": 4, "max": 4}, "virtual_stages": {"min": 1, "max": 1}},
}


def local(command, *arguments):
    return harness.run([harness.CTL, command, "--local", *arguments])


class LocalChoicesTest(unittest.TestCase):
    def test_modules_come_back_from_the_settings_of_their_plan(self):
        with tempfile.TemporaryDirectory() as folder:
            job = os.path.join(folder, "job.json")
            with open(job, "w", encoding="utf-8") as file:
                json.dump(JOB, file)
            done = local("plan", "--job", job, "--output", "json")
            self.assertEqual(done.returncode, 0, done.stderr)
            plan = json.loads(done.stdout)["plan"]
            modules = plan["offload"]["activation_modules"]
            self.assertIn("OFFLOAD_MODULE_MOE_ACTIVATION", modules)
            self.assertGreater(plan["offload"]["step_without_seconds"], plan["offload"]["step_seconds"])
            done = local("launch", "--job", job, "--framework", "megatron", "--output-dir", os.path.join(folder, "out"))
            self.assertEqual(done.returncode, 0, done.stderr)
            script = os.path.join(folder, "out", "launch.sh")
            with open(script, encoding="utf-8") as file:
                text = file.read()
            self.assertIn("--fine-grained-activation-offloading", text)
            self.assertIn("NVTE_CPU_OFFLOAD_V1=1", text)
            done = local("launch", "--job", job, "--framework", "deepspeed")
            notes = " ".join(done.stdout.replace("\n#", "").split())
            self.assertIn("moe_act in host memory, which these settings", notes)
            self.assertNotIn("NVTE_CPU_OFFLOAD_V1", done.stdout)
            done = local("evaluate", "--from", script, *MODEL, "--output", "json")
            self.assertEqual(done.returncode, 0, done.stderr)
            evaluated = json.loads(done.stdout)["response"]["evaluated"]
        self.assertEqual(evaluated["offload"]["activation_modules"], modules)
        ours, theirs = (p["predictions"]["step"]["total_seconds"] for p in (plan, evaluated))
        self.assertAlmostEqual(theirs / ours, 1, places=3)

    def test_modules_of_virtual_stages_come_back_with_the_bytes_of_their_host(self):
        job = copy.deepcopy(JOB)
        job["constraints"]["virtual_stages"] = {"min": 2, "max": 4}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "job.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(job, file)
            done = local("plan", "--job", path, "--output", "json")
            self.assertEqual(done.returncode, 0, done.stderr)
            plan = json.loads(done.stdout)["plan"]
            self.assertGreater(plan["parallelism"]["virtual_stages"], 1)
            self.assertGreater(int(plan["offload"]["activation_bytes"]), 1 << 30)
            out = os.path.join(folder, "out")
            done = local("launch", "--job", path, "--framework", "megatron", "--output-dir", out)
            self.assertEqual(done.returncode, 0, done.stderr)
            script = os.path.join(out, "launch.sh")
            with open(script, encoding="utf-8") as file:
                text = file.read()
            chunks = plan["parallelism"]["pipeline"] * plan["parallelism"]["virtual_stages"]
            self.assertEqual(text.count("|") + 1, chunks)
            self.assertIn("--fine-grained-activation-offloading", text)
            done = local("evaluate", "--from", script, *MODEL, "--output", "json")
            self.assertEqual(done.returncode, 0, done.stderr)
            evaluated = json.loads(done.stdout)["response"]["evaluated"]
        for figure in ("activation_modules", "activation_bytes", "activation_host_bytes"):
            self.assertEqual(evaluated["offload"][figure], plan["offload"][figure])
        ours, theirs = (p["predictions"]["step"]["total_seconds"] for p in (plan, evaluated))
        self.assertAlmostEqual(theirs / ours, 1, places=6)

    def test_tables_and_sorted_micro_batches_are_planned(self):
        job = ["--model", "llama3-8b", "--gpu", "a100-sxm-80gb", "--gpus", "8", "--trainer", "huggingface-trainer",
               "--lora", "llm", "--global-batch", "64", "--micro-batch-samples", "2"]
        steps = {}
        for more in ([], ["--lora-train", "embedding,head"]):
            done = local("plan", *job, *more, "--group-by-length", "--output", "json")
            self.assertEqual(done.returncode, 0, done.stderr)
            plan = json.loads(done.stdout)["plan"]
            self.assertTrue(plan["subject"]["group_by_length"])
            steps[len(more)] = plan["predictions"]["step"]["total_seconds"]
        self.assertGreater(steps[2], steps[0])

    def test_a_reader_that_has_seen_enough_ends_us_quietly(self):
        with subprocess.Popen([harness.CTL, "models", "--local"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            process.stdout.close()
            self.assertEqual(process.wait(timeout=harness.TIMEOUT_SECONDS), -signal.SIGPIPE)
            self.assertEqual(process.stderr.read(), b"")


if __name__ == "__main__":
    unittest.main()
