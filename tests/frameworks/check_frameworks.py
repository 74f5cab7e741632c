"""Checks launch settings with the trainers' own code: Megatron-Core's layout parser and TransformerConfig, DeepSpeed's
PipelineModule, torchtitan's configuration classes. run.sh installs them and starts this."""
import dataclasses
import importlib
import json
import os
import site
import socket
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

import cases
import stubs

HERE = os.path.dirname(os.path.abspath(__file__))


def installed(package):
    return next(path for path in site.getsitepackages() if os.path.isdir(os.path.join(path, package)))


def megatron():
    root = os.path.join(installed("megatron"), "megatron")
    for name in ("megatron", "megatron.core", "megatron.core.transformer"):
        stubs.package(name, os.path.join(os.path.dirname(root), *name.split(".")))
    stubs.stand_in("megatron.core.parallel_state", "megatron.core.fusions", "megatron.core.quantization",
                   "megatron.core.utils", "megatron.core.fp8_utils")
    return (importlib.import_module("megatron.core.transformer.pipeline_parallel_layer_layout"),
            importlib.import_module("megatron.core.transformer.transformer_config"))


def torchtitan_config():
    root = os.path.join(installed("torchtitan"), "torchtitan")
    for name in ("torchtitan", "torchtitan.config", "torchtitan.distributed"):
        stubs.package(name, os.path.join(os.path.dirname(root), *name.split(".")))
    stubs.stand_in("torch.distributed.pipelining", "torch.distributed._mesh_layout", "torch.distributed.device_mesh",
                   "torchtitan.components", "torchtitan.observability", "torchtitan.protocols", "torchtitan.tools",
                   "torch._functorch", "torch._higher_order_ops", "torch.distributed.tensor", "spmd_types",
                   "torch.distributed.checkpoint", "torchtitan.config.override", "torchtitan.models",
                   *("torchtitan.distributed." + name for name in ("full_dtensor", "utils", "context_parallel",
                                                                   "cudagraph", "spmd_types")))
    configs = importlib.import_module("torchtitan.config.configs")
    configurable = importlib.import_module("torchtitan.config.configurable")
    sys.modules["torchtitan.distributed"].ParallelDims = object
    checkpoint = importlib.import_module("torch.utils.checkpoint")
    for name in ("CheckpointPolicy", "create_selective_checkpoint_contexts"):
        if not hasattr(checkpoint, name):  # names in newer torch, for policies that are not used here
            setattr(checkpoint, name, type(name, (), {"MUST_SAVE": 0}))
    config = sys.modules["torchtitan.config"]
    for name in ("ParallelismConfig", "TrainingConfig", "CompileConfig"):
        setattr(config, name, getattr(configs, name))
    config.Configurable, config.TORCH_DTYPE_MAP = configurable.Configurable, {}
    return configs


PLANS = list(cases.all_plans())


def load_text(name, text):
    """Runs Python text as a module."""
    module = types.ModuleType(name)
    exec(compile(text, name, "exec"), module.__dict__)  # pylint: disable=exec-used
    return module


class Megatron(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.layouts, cls.configs = megatron()

    def settings(self):
        for framework in ("megatron", "flagscale"):
            for name, plan in PLANS:
                if plan is None:
                    continue
                launch = cases.launch_of(plan, framework)
                if launch["match"] != "LAUNCH_MATCH_NONE":
                    yield f"{framework} {name}", plan, launch

    def test_every_layout_is_accepted_and_means_the_stages(self):
        seen = 0
        for name, plan, launch in self.settings():
            with self.subTest(name):
                words = launch["arguments"]
                parallelism, stages = cases.run_of(plan, launch)
                layout = cases.option(words, "--pipeline-model-parallel-layout")
                if parallelism["pipeline"] == 1:
                    self.assertIsNone(layout)
                    continue
                layers = int(cases.option(words, "--num-layers")[0])
                predicted = cases.option(words, "--mtp-num-layers")
                parsed = self.layouts.PipelineParallelLayerLayout(layout[0], parallelism["pipeline"])
                parsed.validate_layer_layout(layers, int(predicted[0]) if predicted else None)
                counts = [[sum(x.name == "decoder" for x in chunk) for chunk in row] for row in parsed.layout]
                self.assertEqual(counts, cases.layers_of(stages, parallelism["virtual_stages"]))
                seen += 1
        self.assertGreaterEqual(seen, 25)

    def test_a_wrong_layout_is_refused(self):
        with self.assertRaises(AssertionError):
            self.layouts.PipelineParallelLayerLayout("Et*5|t*9L", 2).validate_layer_layout(15, None)

    def test_recompute_and_degrees_pass_the_configuration_class(self):
        import torch
        seen, modules = set(), set()
        for name, plan, launch in self.settings():
            with self.subTest(name):
                words = launch["arguments"]
                value = lambda key, default=None, words=words: (cases.option(words, key) or [default])[0]
                granularity = value("--recompute-granularity")
                seen.add((granularity, value("--recompute-method")))
                experts = value("--num-experts")
                layers = value("--recompute-num-layers")
                config = self.configs.TransformerConfig if value("--kv-lora-rank") is None else \
                    self.configs.MLATransformerConfig
                pipeline = int(value("--pipeline-model-parallel-size"))
                made = config(
                    num_layers=int(value("--num-layers")), hidden_size=int(value("--hidden-size")),
                    num_attention_heads=int(value("--num-attention-heads")),
                    num_query_groups=int(value("--num-query-groups", value("--num-attention-heads"))),
                    recompute_granularity=granularity, recompute_method=value("--recompute-method"),
                    recompute_num_layers=int(layers) if layers else None,
                    recompute_modules=cases.option(words, "--recompute-modules"),
                    num_moe_experts=int(experts) if experts else None,
                    moe_grouped_gemm="--moe-grouped-gemm" in words,
                    tensor_model_parallel_size=int(value("--tensor-model-parallel-size")),
                    context_parallel_size=int(value("--context-parallel-size")),
                    expert_model_parallel_size=int(value("--expert-model-parallel-size", 1)),
                    sequence_parallel="--sequence-parallel" in words,
                    pipeline_model_parallel_size=pipeline, pipeline_dtype=torch.bfloat16,
                    pipeline_model_parallel_layout=value("--pipeline-model-parallel-layout"),
                    mtp_num_layers=int(value("--mtp-num-layers")) if value("--mtp-num-layers") else None,
                    add_bias_linear="--disable-bias-linear" not in words,
                    fine_grained_activation_offloading="--fine-grained-activation-offloading" in words,
                    offload_modules=cases.option(words, "--offload-modules"))
                self.assertEqual(made.recompute_granularity, granularity)
                modules |= set(made.offload_modules or [])
        self.assertEqual(modules, {"qkv_linear", "core_attn", "attn_proj", "expert_fc1", "moe_act"})
        self.assertIn((None, None), seen)
        self.assertTrue({("full", "block"), ("full", "uniform")} & seen, seen)
        self.assertIn(("selective", None), seen)

    def test_a_wrong_module_is_refused(self):
        with self.assertRaises(AssertionError):
            self.configs.TransformerConfig(num_layers=2, hidden_size=64, num_attention_heads=2,
                                           recompute_granularity="selective", recompute_modules=["activation"])

    def test_the_parser_and_the_checks_of_arguments_take_every_command(self):
        """Uses Megatron-LM as FlagScale contains it, and FlagScale's own part: megatron_command.py."""
        given, inputs = [], []
        for name, plan, launch in self.settings():
            if "--offload-modules" in launch["arguments"]:
                continue  # arguments of Megatron-Core 0.16, which FlagScale 0.8 does not contain yet
            vision = any(g["kind"] == "LAYER_KIND_ENCODER" for stage in plan["stages"] for g in stage["layers"])
            given.append((name, plan, launch))
            inputs.append({"words": launch["arguments"], "vision": vision,
                           "world": plan["placement"]["node_count"] * plan["placement"]["gpus_per_node"],
                           "environment": {v["name"]: v["value"] for v in launch["environment"]}})
        refused = {**inputs[0], "words": inputs[0]["words"] + ["--no-such-flag"]}
        unchecked = {**inputs[0], "words": inputs[0]["words"] + ["--max-position-embeddings", "1"]}
        run = subprocess.run([sys.executable, os.path.join(HERE, "megatron_command.py"),
                              os.path.join(installed("flag_scale"), "flag_scale")], check=True, stdout=subprocess.PIPE,
                             input=json.dumps(inputs + [refused, unchecked]), text=True, stderr=subprocess.DEVNULL)
        *results, no_flag, too_short = json.loads(run.stdout)
        self.assertTrue(no_flag["fault"])
        self.assertIn("max_position_embeddings", too_short["fault"])
        per_stage = 0
        for (name, plan, launch), result in zip(given, results):
            with self.subTest(name):
                self.assertIsNone(result["fault"], result["fault"])
                parallelism, stages = cases.run_of(plan, launch)
                self.assertEqual((result["data"], result["virtual"] or 1),
                                 (parallelism["data"], parallelism["virtual_stages"]))
                if "--recompute-num-layers-per-stage-micro-batch" not in launch["arguments"]:
                    continue
                # These are looked up like in FlagScale's transformer block: by chunk and stage, then by micro-batch.
                self.assertFalse(result["hetero"])
                chunks = cases.chunks_of(stages, parallelism["virtual_stages"])
                self.assertEqual(len(result["per_stage"]), len(chunks))
                for chunk, values in zip(chunks, result["per_stage"]):
                    groups = [g for g in chunk if g["kind"] in cases.LANGUAGE]
                    self.assertEqual(sum(g["recomputed_count"] for g in groups),
                                     min(values[0], sum(g["layer_count"] for g in groups)))
                    self.assertEqual(len(set(values)), 1)
                per_stage += 1
        self.assertGreaterEqual(per_stage, 1)


class DeepSpeed(unittest.TestCase):
    PROGRAM = """
import json, os, sys
import torch, deepspeed
import deepspeed.comm.torch
from deepspeed.pipe import LayerSpec
sys.modules["deepspeed.comm.torch"].build_shm_op = lambda: None  # it would be compiled
deepspeed.init_distributed(dist_backend="gloo", auto_mpi_discovery=False, verbose=False)
sys.path.insert(0, sys.argv[1])
from evenkeel_pipeline import PARTS, PlannedPipeline
made = PlannedPipeline([LayerSpec(torch.nn.Linear, 2, 2) for _ in range(PARTS[-1])], loss_fn=torch.nn.MSELoss())
made._precompute_checkpointable_values()
wrapped = [made._local_start + i for i, yes in enumerate(made.is_checkpointable_results) if yes]
out = made(torch.zeros(1, 2))
with open(f"{sys.argv[1]}/rank{os.environ['RANK']}.json", "w") as file:
    json.dump({"stage": made._topo.get_coord(made.global_rank).pipe, "start": made._local_start,
               "stop": made._local_stop, "parts": made.parts, "recomputed": wrapped,
               "dynamic_shape": made.dynamic_shape}, file)
"""

    def start(self, folder, stages):
        program = os.path.join(folder, "program.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write(self.PROGRAM)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        started = []
        for rank in range(stages):
            environment = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": stages, "MASTER_ADDR": "127.0.0.1",
                           "MASTER_PORT": port, "OMP_NUM_THREADS": 1, "DS_ACCELERATOR": "cpu"}
            started.append(subprocess.Popen(
                [sys.executable, program, folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                env={**os.environ, **{name: str(value) for name, value in environment.items()}}))
        for process in started:
            output = process.communicate(timeout=900)[0]
            self.assertEqual(process.returncode, 0, output[-3000:])
        ranks = []
        for rank in range(stages):
            with open(os.path.join(folder, f"rank{rank}.json"), encoding="utf-8") as file:
                ranks.append(json.load(file))
        return sorted(ranks, key=lambda r: r["stage"])

    def test_the_module_builds_the_stages_of_the_plan(self):
        built = 0
        for name, plan in PLANS:
            if name not in ("dense-uneven", "vision-pp2", "omnibal-t9-2"):
                continue
            launch = cases.launch_of(plan, "deepspeed")
            parallelism, stages = cases.run_of(plan, launch)
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                for file in launch["files"]:
                    with open(os.path.join(folder, file["name"]), "w", encoding="utf-8") as out:
                        out.write(file["content"])
                ranks = self.start(folder, parallelism["pipeline"])
                sizes = [sum(g["layer_count"] for g in stage["layers"]) for stage in stages]
                self.assertEqual([r["stop"] - r["start"] for r in ranks], sizes)
                self.assertTrue(all(r["dynamic_shape"] for r in ranks))  # packs differ in length
                wanted, at = [], 0
                for group in (g for chunk in cases.chunks_of(stages, 1) for g in chunk):
                    wanted += range(at, at + group.get("recomputed_count", 0))
                    at += group["layer_count"]
                self.assertEqual(sorted(i for r in ranks for i in r["recomputed"]), wanted)
                built += 1
        self.assertEqual(built, 3)

    @staticmethod
    def optimizer_of(config, pipeline):
        """Returns the optimizer that the engine takes for these types of weights and gradients. Raises if it has
        none."""
        import deepspeed.runtime.engine as engine
        patch = unittest.mock.patch.object(engine, "is_zero_supported_optimizer", lambda _: True)
        with patch:
            made = object.__new__(engine.DeepSpeedEngine)
            made.__dict__.update(_config=config, pipeline_parallelism=pipeline, _modules={}, module=None)
            chosen = made._do_optimizer_sanity_check(None)
        return next(name for name in dir(engine) if name.isupper() and getattr(engine, name) is chosen)

    def test_the_configuration_is_accepted(self):
        import deepspeed.runtime.config
        from deepspeed.runtime.config import DeepSpeedConfig
        patch = unittest.mock.patch.object(deepspeed.runtime.config.dist, "get_rank", lambda: 0)
        patch.start()
        self.addCleanup(patch.stop)
        for name, plan in PLANS:
            if plan is None:
                continue
            launch = cases.launch_of(plan, "deepspeed")
            if launch["match"] == "LAUNCH_MATCH_NONE":
                continue
            with self.subTest(name):
                parallelism, _ = cases.run_of(plan, launch)
                text = json.loads(next(f["content"] for f in launch["files"] if f["name"] == "ds_config.json"))
                config = DeepSpeedConfig(text, mpu=types.SimpleNamespace(
                    get_data_parallel_world_size=lambda p=parallelism: p["data"]))
                self.assertEqual(config.train_batch_size, parallelism["data"] * config.gradient_accumulation_steps)
                self.assertIn(self.optimizer_of(config, parallelism["pipeline"] > 1),
                              ("BFLOAT16", "ZERO_OPTIMIZATION", "DDP_BFLOAT16", "FP16"))
                if parallelism["pipeline"] > 1:
                    self.assertLessEqual(text["zero_optimization"]["stage"], 1)


class Torchtitan(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.configs = torchtitan_config()

    def test_every_split_is_accepted_and_means_the_stages(self):
        pipeline = importlib.import_module("torchtitan.distributed.pipeline_parallel")
        pipeline.get_schedule_class = lambda name: name
        seen, virtual = 0, 0
        for name, plan in PLANS:
            # torchtitan has no setting for the parts that Megatron recomputes with modules.
            if plan is None or plan.get("offload", {}).get("activation_modules"):
                continue
            launch = cases.launch_of(plan, "torchtitan")
            if launch["match"] == "LAUNCH_MATCH_NONE":
                continue
            with self.subTest(name):
                config = types.SimpleNamespace(parallelism=self.configs.ParallelismConfig(),
                                               training=self.configs.TrainingConfig(), activation_checkpoint="default")
                module = load_text("evenkeel_torchtitan", launch["files"][0]["content"])
                module.apply(config)
                parallelism, stages = cases.run_of(plan, launch)
                p = config.parallelism
                self.assertEqual((p.tensor_parallel_degree, p.pipeline_parallel_degree, p.context_parallel_degree,
                                  p.expert_parallel_degree),
                                 tuple(parallelism[k] for k in ("tensor", "pipeline", "context", "expert")))
                self.assertEqual(p.data_parallel_shard_degree * p.data_parallel_replicate_degree, parallelism["data"])
                layers = cases.layers_of(stages, parallelism["virtual_stages"])
                parts = module.MODULES
                degree = parallelism["pipeline"]
                for s in range(degree):  # the trainer's own rule for which parts are on which rank
                    indices = pipeline._get_pp_rank_to_stage_indices_mapping(s, degree, p.pipeline_parallel_schedule,
                                                                             len(parts))
                    counts = [sum(m.startswith("layers.") for m in parts[i]) for i in indices]
                    self.assertEqual(counts, layers[s])
                names = [m for part in parts for m in part if m.startswith("layers.")]
                self.assertEqual(names, [f"layers.{i}" for i in range(sum(map(sum, layers)))])
                self.assertEqual(parts[-1][-2:], ["norm", "lm_head"])
                self.assertIn("tok_embeddings", parts[0])
                self.assertEqual(module.LANGUAGE_RECOMPUTED, cases.recomputed_of(stages, parallelism["virtual_stages"]))
                self.assertEqual(module.LANGUAGE_ALTERNATE,
                                 cases.recomputed_of(stages, parallelism["virtual_stages"], part=cases.ALTERNATE))
                seen += 1
                virtual += parallelism["virtual_stages"] > 1
        self.assertGreaterEqual(seen, 20)
        self.assertGreaterEqual(virtual, 1)

    def apply(self, launch):
        config = types.SimpleNamespace(parallelism=self.configs.ParallelismConfig(),
                                       training=self.configs.TrainingConfig(), activation_checkpoint="default")
        module = load_text("evenkeel_torchtitan", launch["files"][0]["content"])
        return module, module.apply(config)

    def test_the_trainer_takes_every_configuration(self):
        """Trainer.Config checks itself when the command line is parsed, and again afterwards."""
        trainer = importlib.import_module("torchtitan.trainer").Trainer
        checks = trainer.Config.__post_init__
        refused = types.SimpleNamespace(parallelism=self.configs.ParallelismConfig(pipeline_parallel_degree=2),
                                        training=self.configs.TrainingConfig())
        refused._validate_cuda_graphs = lambda: trainer.Config._validate_cuda_graphs(refused)
        refused.debug = types.SimpleNamespace(batch_invariant=False, spmd_typechecking=False)
        with self.assertRaises(ValueError):
            checks(refused)
        for name, plan in PLANS:
            launch = plan and cases.launch_of(plan, "torchtitan")
            if not launch or launch["match"] == "LAUNCH_MATCH_NONE":
                continue
            with self.subTest(name):
                _, config = self.apply(launch)
                config.debug = refused.debug
                config.model_spec, config.compile = None, None
                config._validate_cuda_graphs = lambda config=config: trainer.Config._validate_cuda_graphs(config)
                checks(config)
                p, t = config.parallelism, config.training
                # Trainer.__init__ defines what divides a sequence and a batch.
                split = (p.tensor_parallel_degree if p.enable_sequence_parallel else 1) * (
                    2 * p.context_parallel_degree if p.context_parallel_degree > 1 else 1)
                self.assertEqual(t.seq_len % split, 0)
                degree = p.data_parallel_shard_degree * p.data_parallel_replicate_degree
                self.assertEqual(t.global_batch_size % (t.local_batch_size * degree), 0)
                self.assertEqual(p.data_parallel_shard_degree * p.context_parallel_degree * p.tensor_parallel_degree
                                 % p.expert_parallel_degree, 0)
                if p.pipeline_parallel_schedule == "Interleaved1F1B" and p.pipeline_parallel_degree > 1:
                    rounds = max(1, t.local_batch_size // p.pipeline_parallel_degree)
                    self.assertEqual(t.local_batch_size % rounds, 0)  # torch's ScheduleInterleaved1F1B

    def test_bases_are_configurations_of_its_own(self):
        names = set()
        for _, plan in PLANS:
            launch = plan and cases.launch_of(plan, "torchtitan")
            if launch and launch["match"] != "LAUNCH_MATCH_NONE":
                names.add(self.apply(launch)[0].BASE)
        for name in names - {""}:
            module, _, function = name.partition(":")
            path = os.path.join(installed("torchtitan"), *module.split(".")) + ".py"
            with open(path, encoding="utf-8") as file:
                self.assertIn(f"\ndef {function}() -> Trainer.Config:", file.read())
        self.assertGreaterEqual(len(names), 3)

    def test_the_command_line_keeps_the_policy(self):
        """The configuration goes through tyro, as in ConfigManager.parse_args."""
        import tyro
        checkpoint = importlib.import_module("torchtitan.distributed.activation_checkpoint")
        trainer_config = dataclasses.make_dataclass("Config", [
            ("parallelism", self.configs.ParallelismConfig), ("training", self.configs.TrainingConfig),
            ("activation_checkpoint", checkpoint.ActivationCheckpointingConfig)], kw_only=True)
        seen = set()
        for _, plan in PLANS:
            launch = plan and cases.launch_of(plan, "torchtitan")
            if not launch or launch["match"] == "LAUNCH_MATCH_NONE":
                continue
            _, config = self.apply(launch)
            made = tyro.cli(trainer_config, args=["--training.steps", "7"], default=trainer_config(
                parallelism=config.parallelism, training=config.training,
                activation_checkpoint=config.activation_checkpoint))
            self.assertEqual(made.training.steps, 7)
            self.assertEqual(made.parallelism, config.parallelism)
            self.assertIs(type(made.activation_checkpoint), type(config.activation_checkpoint))
            seen.add(type(config.activation_checkpoint).__qualname__)
        self.assertEqual(seen, {"PlannedAC.Config", "FullAC.Config", "SelectiveAC.Config", "NoneType"})

    def test_an_unknown_field_is_refused(self):
        with self.assertRaises(AttributeError):
            self.configs.ParallelismConfig().pipeline_parallel_degrees = 2

    def test_only_the_planned_layers_are_wrapped(self):
        checkpoint = importlib.import_module("torchtitan.distributed.activation_checkpoint")
        checkpoint._get_default_save_ops = set
        whole, alternate, seen = [], [], False

        def wrap(module, context_fn=None, **_):
            (whole if context_fn is None else alternate).append(module.layer)
            return module

        checkpoint.ptd_checkpoint_wrapper = wrap
        for name, plan in PLANS:
            if plan is None:
                continue
            launch = cases.launch_of(plan, "torchtitan")
            if not launch.get("files") or "PlannedAC" not in launch["files"][0]["content"]:
                continue
            module = load_text("evenkeel_torchtitan", launch["files"][0]["content"])
            policy = module.PlannedAC(module.PlannedAC.Config())
            whole.clear()
            alternate.clear()
            for i in range(200):
                policy._wrap_block(types.SimpleNamespace(layer=i, named_modules=list), base_fqn=f"layers.{i}")
            self.assertEqual((whole, alternate), (module.LANGUAGE_RECOMPUTED, module.LANGUAGE_ALTERNATE), name)
            seen = True
        self.assertTrue(seen, "no plan recomputes some layers")


if __name__ == "__main__":
    unittest.main(verbosity=2)
