"""Tests launch settings: the output of `evenkeelctl launch` means what the plan says, and runs when it is pasted."""
import glob
import json
import os
import stat
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

import yaml

import harness
from harness import Server

sys.path.insert(0, os.path.join(harness.ROOT, "tests", "frameworks"))
import cases  # noqa: E402  pylint: disable=wrong-import-position
import layout_twin  # noqa: E402  pylint: disable=wrong-import-position

GOLDEN = os.path.join(harness.ROOT, "tests", "golden", "launch")
TEXT_JOB = os.path.join(harness.EXAMPLES, "llama3-8b-text.json")
FLAGS = ["--model", "llama3-8b", "--gpu", "a100-sxm-80gb", "--gpus", "8", "--pp", "4"]
# These cases are quick; tests/frameworks/run.sh has them all.
NAMES = {"dense-pp1", "dense-pp2", "dense-pp8-virtual", "dense-pp16", "dense-uneven", "dense-zero-bubble", "experts",
         "latent-experts", "predicted-tokens", "vision-pp1", "vision-frozen", "zero2", "llama3-8b-long"}


def launch(*arguments, backend=("--local",)):
    return harness.run([harness.CTL, "launch", *backend, *arguments])


class LayoutTwin(unittest.TestCase):
    """Tests the twin itself: what Megatron documents, and what it refuses."""

    def test_it_reads_the_documented_examples(self):
        self.assertEqual(layout_twin.expand("Ettt|(tt|)*29,m|L"), "Ettt|" + "tt|" * 29 + "m|L")
        self.assertEqual(layout_twin.expand("xy(ab|cd|ef)*2,pq"), "xyab|cd|efab|cd|efpq")
        self.assertEqual(layout_twin.parse("Et*5|t*3|t|t*2L", 2, 11), [[5, 1], [3, 2]])

    def test_it_refuses_what_megatron_refuses(self):
        for text, pipeline, layers in (("t*4L", 1, 4), ("Et*4", 1, 4), ("Et*4L", 1, 5), ("Et|t|tL", 2, 3),
                                       ("Ex|tL", 2, 2), ("Et*|tL", 2, 2), ("E(t|tL", 2, 2), ("EtE|tL", 2, 2)):
            with self.subTest(text), self.assertRaises(layout_twin.LayoutError):
                layout_twin.parse(text, pipeline, layers)
        with self.assertRaises(layout_twin.LayoutError):
            layout_twin.parse("Etm|tL", 2, 2, predicted=1)


class Settings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plans = [(name, plan) for name, plan in cases.all_plans(NAMES) if plan is not None]

    def each(self, framework):
        for name, plan in self.plans:
            settings = cases.launch_of(plan, framework)
            if settings["match"] != "LAUNCH_MATCH_NONE":
                with self.subTest(f"{framework} {name}"):
                    yield plan, settings, *cases.run_of(plan, settings)

    def test_layouts_mean_the_stages(self):
        seen = 0
        for framework in ("megatron", "flagscale"):
            for _, settings, parallelism, stages in self.each(framework):
                words = settings["arguments"]
                layout = cases.option(words, "--pipeline-model-parallel-layout")
                if layout is None:
                    self.assertEqual(parallelism["pipeline"], 1)
                    continue
                predicted = cases.option(words, "--mtp-num-layers")
                counts = layout_twin.parse(layout[0], parallelism["pipeline"],
                                           int(cases.option(words, "--num-layers")[0]), int((predicted or [0])[0]))
                self.assertEqual(counts, cases.layers_of(stages, parallelism["virtual_stages"]))
                seen += 1
        self.assertGreaterEqual(seen, 14)

    def test_degrees_and_batch_are_those_that_run(self):
        options = {"--tensor-model-parallel-size": "tensor", "--pipeline-model-parallel-size": "pipeline",
                   "--context-parallel-size": "context"}
        for plan, settings, parallelism, _ in self.each("megatron"):
            for name, key in options.items():
                self.assertEqual(cases.option(settings["arguments"], name), [str(parallelism[key])])
            words = settings["arguments"]
            self.assertEqual(int(cases.option(words, "--global-batch-size")[0]) % parallelism["data"], 0)
            vision = any(g["kind"] == "LAYER_KIND_ENCODER" for stage in plan["stages"] for g in stage["layers"])
            length = int(cases.option(words, "--decoder-seq-length" if vision else "--seq-length")[0])
            step = parallelism["tensor"] * 2 * parallelism["context"]
            longest = int(plan["batch_rule"]["token_cap"])
            self.assertTrue(longest <= length < longest + step)
            self.assertGreaterEqual(int(cases.option(words, "--max-position-embeddings")[0]), length)

    def test_everything_that_runs_fits_and_says_what_it_costs(self):
        for framework in cases.FRAMEWORKS:
            for plan, settings, _, stages in self.each(framework):
                self.assertTrue(all(int(stage["free_bytes"]) >= 0 for stage in stages))
                if settings["match"] == "LAUNCH_MATCH_EXACT":
                    self.assertEqual(settings["slower_by_ratio"], 0)
                elif not plan["packing_groups"]:
                    self.assertTrue(any(note["topic"] in ("trainer", "stages", "schedule", "recompute", "memory")
                                        for note in settings["notes"]), settings["notes"])

    def test_one_recompute_setting_is_what_its_stages_run(self):
        for _, settings, parallelism, stages in self.each("megatron"):
            words = settings["arguments"]
            method = cases.option(words, "--recompute-method")
            if method is None:
                continue
            limit = int(cases.option(words, "--recompute-num-layers")[0]) if method == ["block"] else 1 << 30
            wanted, at = [], 0
            for chunk in cases.chunks_of(stages, parallelism["virtual_stages"]):
                layers = sum(g["layer_count"] for g in chunk if g["kind"] in cases.LANGUAGE)
                wanted += range(at, at + min(limit, layers))
                at += layers
            self.assertEqual(cases.recomputed_of(stages, parallelism["virtual_stages"]), wanted)

    def test_python_files_compile_and_hold_the_plan(self):
        for framework in ("deepspeed", "torchtitan", "fsdp", "xtuner"):
            for _, settings, parallelism, stages in self.each(framework):
                for file in settings["files"]:
                    if file["name"].endswith(".py"):
                        compile(file["content"], file["name"], "exec")
                    elif file["name"].endswith(".json"):
                        config = json.loads(file["content"])
                        self.assertEqual(config["train_batch_size"],
                                         config["gradient_accumulation_steps"] * parallelism["data"])
                if framework == "deepspeed" and parallelism["pipeline"] > 1:
                    text = next(f["content"] for f in settings["files"] if f["name"] == "evenkeel_pipeline.py")
                    parts = json.loads(text.split("PARTS = ")[1].split("\n")[0])
                    sizes = [sum(g["layer_count"] for g in stage["layers"]) for stage in stages]
                    self.assertEqual([b - a for a, b in zip(parts, parts[1:])], sizes)

    def test_a_job_is_planned_for_the_trainer_unless_it_lacks_what_is_asked_for(self):
        def planned_for(framework, *flags):
            done = harness.run([harness.CTL, "plan", "--local", "--launch", framework, "--model", "llama3-8b", "--gpu",
                                "h100-sxm-80gb", "--gpus", "16", "--output", "json", *flags])
            return json.loads(done.stdout)["plan"]["subject"]["trainer"]["name"]

        self.assertEqual(planned_for("torchtitan", "--zero", "3", "--pp", "1", "--tp", "2"), "torchtitan")
        self.assertEqual(planned_for("fsdp"), "pytorch-fsdp")
        for framework, *flags in (("torchtitan", "--pp", "2"), ("torchtitan", "--zero", "1"), ("fsdp", "--tp", "2"),
                                  ("deepspeed", "--virtual-stages", "2"), ("xtuner", "--schedule", "1f1b")):
            self.assertEqual(planned_for(framework, *flags), "megatron-core", flags)

    def test_xtuner_is_told_to_pad_short_packs(self):
        """Uses a stand-in with the defaults of xtuner/v1/datasets/preset_pack.py, as no registry has v1."""
        class PresetPackDataset:
            def __init__(self, datasets, pack_config_path, pack_max_length, short_pack_strategy="error"):
                self.strategy = short_pack_strategy

        settings = list(self.each("xtuner"))[0][1]
        module = types.ModuleType("evenkeel_xtuner")
        exec(settings["files"][0]["content"], module.__dict__)  # pylint: disable=exec-used
        reader = types.ModuleType("xtuner.v1.datasets.preset_pack")
        reader.PresetPackDataset = PresetPackDataset
        with unittest.mock.patch.dict(sys.modules, {reader.__name__: reader}):
            self.assertEqual(PresetPackDataset([], "packs", 9).strategy, "error")
            module.pad_short_packs()
            self.assertEqual(PresetPackDataset([], "packs", 9).strategy, "padding")
            self.assertEqual(PresetPackDataset([], "packs", 9, short_pack_strategy="error").strategy, "error")

    def test_flagscale_has_a_value_for_every_chunk(self):
        for _, settings, parallelism, _ in self.each("flagscale"):
            values = cases.option(settings["arguments"], "--recompute-num-layers-per-stage-micro-batch")
            if values is None:
                continue
            self.assertEqual(len(values), parallelism["pipeline"] * parallelism["virtual_stages"])
            config = yaml.safe_load(settings["files"][0]["content"])["system"]
            self.assertEqual(config["recompute_num_layers_per_stage_micro_batch"], values)
            for name in ("hetero-process-meshes", "hetero-device-types"):  # without these, the values are not read
                self.assertEqual(config[name.replace("-", "_")], cases.option(settings["arguments"], "--" + name))


class Command(unittest.TestCase):
    def test_the_output_runs_as_it_is_pasted(self):
        for framework in cases.FRAMEWORKS:
            with self.subTest(framework), tempfile.TemporaryDirectory() as folder:
                # For these trainers, flags without a file make a job of FSDP, which has no pipeline.
                flags = FLAGS[:-2] if framework in ("fsdp", "xtuner") else FLAGS
                done = launch("--framework", framework, *flags, "--output", "table")
                self.assertEqual(done.returncode, 0, done.stderr)
                stand_in = os.path.join(folder, "torchrun")
                with open(stand_in, "w", encoding="utf-8") as file:
                    file.write("#!/bin/sh\nfor word; do printf '%s\\n' \"$word\"; done\n")
                os.chmod(stand_in, stat.S_IRWXU)
                ran = subprocess.run(["sh", "-eu"], input=done.stdout, text=True, cwd=folder, stdout=subprocess.PIPE,
                                     env={**os.environ, "PATH": folder + ":" + os.environ["PATH"]}, check=True)
                settings = json.loads(launch("--framework", framework, *flags, "--output", "json").stdout)
                words = ran.stdout.splitlines()
                self.assertEqual(words[len(words) - len(settings["arguments"]):], settings["arguments"])
                for file in settings["files"]:
                    with open(os.path.join(folder, file["name"]), encoding="utf-8") as written:
                        self.assertEqual(written.read(), file["content"])

    def test_variables_reach_the_command_and_the_pods(self):
        flags = ("--framework", "torchtitan", *FLAGS, "--env", "EVENKEEL_BASE=my.module:base", "--env", "X=a b")
        self.assertIn("EVENKEEL_BASE=my.module:base X='a b' torchrun", launch(*flags).stdout)
        done = launch(*flags, "--manifest", "jobset", "--image", "x")
        job = list(yaml.safe_load_all(done.stdout))[-1]
        pod = job["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
        variables = {e["name"]: e.get("value") for e in pod["containers"][0]["env"]}
        self.assertEqual((variables["EVENKEEL_BASE"], variables["X"]), ("my.module:base", "a b"))
        for wrong in ("X", "=1", "1X=2", "A-B=c"):
            self.assertEqual(launch("--framework", "fsdp", *FLAGS[:-2], "--env", wrong).returncode, 2)

    def test_an_images_python_path_is_kept_where_there_is_nothing_to_import(self):
        for framework, wanted in (("flagscale", False), ("deepspeed", True)):
            done = launch("--framework", framework, *FLAGS, "--manifest", "pytorchjob", "--image", "x")
            self.assertEqual("PYTHONPATH" in done.stdout, wanted, done.stderr)

    def test_a_folder_gets_all_files_once(self):
        with tempfile.TemporaryDirectory() as folder:
            arguments = ("--framework", "deepspeed", *FLAGS, "--output-dir", os.path.join(folder, "run"),
                         "--manifest", "jobset", "--image", "x")
            self.assertEqual(launch(*arguments).returncode, 0)
            names = sorted(os.path.basename(path) for path in glob.glob(os.path.join(folder, "run", "*")))
            self.assertEqual(names, ["ds_config.json", "evenkeel_pipeline.py", "jobset.yaml", "launch.sh"])
            again = launch(*arguments)
            self.assertEqual(again.returncode, 2)
            self.assertIn("--force", again.stderr)
            self.assertEqual(launch(*arguments, "--force").returncode, 0)

    def test_what_can_not_be_is_refused_by_name(self):
        for arguments, message in ((("--framework", "keras", *FLAGS), "keras"),
                                   (FLAGS, "--framework"),
                                   (("--framework", "megatron"), "--model"),
                                   (("--framework", "megatron", *FLAGS, "--manifest", "jobset"), "--image"),
                                   (("--framework", "megatron", *FLAGS, "--manifest", "pod", "--image", "x"), "pod"),
                                   (("--framework", "megatron", *FLAGS, "--manifest", "jobset", "--image", "x",
                                     "--name", "Bad_Name"), "Bad_Name"),
                                   (("--framework", "megatron", "--plan-id", "plan-1", *FLAGS), "--plan-id")):
            done = launch(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(message, done.stderr)

    def test_a_job_that_does_not_fit_has_no_settings(self):
        done = launch("--framework", "megatron", "--job", os.path.join(harness.EXAMPLES, "misfit.json"))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("does not fit", done.stdout)

    def test_the_output_is_the_known_one(self):
        update = os.environ.get("EVENKEEL_UPDATE_GOLDEN")
        for job in ("llama3-8b-text", "internvl-6b-20b"):
            for framework in cases.FRAMEWORKS:
                with self.subTest(f"{job} {framework}"):
                    done = launch("--framework", framework, "--job", os.path.join(harness.EXAMPLES, job + ".json"))
                    self.assertEqual(done.returncode, 0, done.stderr)
                    path = os.path.join(GOLDEN, f"{job}.{framework}.txt")
                    if update:
                        with open(path, "w", encoding="utf-8") as file:
                            file.write(done.stdout)
                    with open(path, encoding="utf-8") as file:
                        self.assertEqual(done.stdout, file.read())


class OnAServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.__exit__)

    def test_settings_are_part_of_a_plan_and_of_its_id(self):
        client = self.server.client()
        plain = client.call("PlanJob", harness.job_request(TEXT_JOB))
        request = harness.job_request(TEXT_JOB)
        request.job.launch_frameworks.extend([2, 1])
        asked = client.call("PlanJob", request)
        self.assertNotEqual(asked.plan_id, plain.plan_id)
        self.assertEqual([x.framework for x in asked.plan.launch], [1, 2])
        request.job.launch_frameworks[:] = [1, 2]
        self.assertEqual(client.call("PlanJob", request).plan, asked.plan)
        other = type(asked.plan)()
        other.CopyFrom(asked.plan)
        other.ClearField("launch")
        other.plan_id = plain.plan_id
        self.assertEqual(other, plain.plan)

    def test_a_kept_plan_gives_the_same_settings(self):
        first = self.server.ctl("launch", "--framework", "megatron", "--job", TEXT_JOB)
        self.assertEqual(first.returncode, 0, first.stderr)
        plan_id = first.stdout.split("plan-")[1][:32]
        kept = self.server.ctl("launch", "--framework", "megatron", "--plan-id", "plan-" + plan_id)
        self.assertEqual(kept.stdout, first.stdout, kept.stderr)
        other = self.server.ctl("launch", "--framework", "torchtitan", "--plan-id", "plan-" + plan_id)
        self.assertEqual(other.returncode, 2)
        self.assertIn("it has: megatron", other.stderr)
        unknown = self.server.ctl("launch", "--framework", "fsdp", "--plan-id", "plan-" + "0" * 32)
        self.assertEqual(unknown.returncode, 4)

    def test_a_saved_plan_gives_the_same_settings(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.json")
            saved = self.server.ctl("plan", "--job", TEXT_JOB, "--launch", "megatron,fsdp", "--save", path)
            self.assertEqual(saved.returncode, 0, saved.stderr)
            for framework in ("megatron", "fsdp"):
                kept = self.server.ctl("launch", "--framework", framework, "--plan", path)
                direct = self.server.ctl("launch", "--framework", framework, "--job", TEXT_JOB)
                self.assertEqual((kept.returncode, direct.returncode), (0, 0), kept.stderr + direct.stderr)
                lines = [[line for line in done.stdout.splitlines() if "plan-" not in line] for done in (kept, direct)]
                self.assertEqual(lines[0], lines[1], kept.stderr)
            without = self.server.ctl("launch", "--framework", "torchtitan", "--plan", path)
            self.assertIn("it has: megatron, fsdp", without.stderr)
            self.assertIn("plan it with --launch torchtitan", without.stderr)
        # A single trainer that only flags name is planned for as by `launch`.
        flags = ("--model", "llama3-8b", "--gpu", "h100-sxm-80gb", "--gpus", "8")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.json")
            for framework in ("deepspeed", "torchtitan", "fsdp"):
                saved = self.server.ctl("plan", *flags, "--launch", framework, "--save", path, "--force")
                self.assertEqual(saved.returncode, 0, saved.stderr)
                kept = self.server.ctl("launch", "--framework", framework, "--plan", path)
                direct = self.server.ctl("launch", "--framework", framework, *flags)
                self.assertEqual((kept.returncode, direct.returncode), (0, 0), kept.stderr + direct.stderr)
                self.assertEqual(kept.stdout, direct.stdout)
            # A trainer that is named twice, or in the job too, is asked for once.
            twice = self.server.ctl("plan", *flags, "--launch", "megatron,megatron", "--save", path,
                                    "--force")
            self.assertEqual(twice.returncode, 0, twice.stderr)
            with open(TEXT_JOB, encoding="utf-8") as file:
                request = json.load(file)
            request.get("job", request)["launch_frameworks"] = ["LAUNCH_FRAMEWORK_MEGATRON"]
            with open(path, "w", encoding="utf-8") as file:
                json.dump(request, file)
            again = self.server.ctl("plan", "--job", path, "--launch", "megatron")
            self.assertEqual(again.returncode, 0, again.stderr)
        unknown = self.server.ctl("plan", "--job", TEXT_JOB, "--launch", "megatrom")
        self.assertEqual(unknown.returncode, 2)
        self.assertIn("--launch", unknown.stderr)

    def test_an_evaluated_plan_has_settings(self):
        client = self.server.client()
        request = harness.job_request(TEXT_JOB)
        request.job.launch_frameworks.append(1)
        plan = client.call("PlanJob", request).plan
        evaluate = harness.planner_service_pb2.EvaluatePlanRequest(job=request.job, plan=plan)
        evaluated = client.call("EvaluatePlan", evaluate).evaluated
        self.assertEqual(evaluated.launch[0].arguments, plan.launch[0].arguments)


if __name__ == "__main__":
    unittest.main()
