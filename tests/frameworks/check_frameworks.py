"""Launch settings against the trainers' own code: Megatron-Core's layout parser and TransformerConfig, DeepSpeed's
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
# Arguments of pretrain_gpt.py that are no field of a configuration class: megatron/training/arguments.py.
SCRIPT_ARGUMENTS = {
    "micro-batch-size", "global-batch-size", "seq-length", "max-position-embeddings", "bf16", "fp16", "swiglu",
    "group-query-attention", "untie-embeddings-and-output-weights", "position-embedding-type", "disable-bias-linear",
    "use-distributed-optimizer", "use-megatron-fsdp", "data-parallel-sharding-strategy", "overlap-grad-reduce",
    "overlap-param-gather", "transformer-impl", "attention-backend", "cross-entropy-loss-fusion",
    "cross-entropy-fusion-impl", "no-gradient-accumulation-fusion", "calculate-per-token-loss", "grad-reduce-in-bf16",
    "recompute-vision", "multi-latent-attention", "qk-layernorm", "num-experts", "norm-epsilon", "normalization",
    "tp-comm-overlap", "add-qkv-bias", "sequence-parallel"}


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
                   "torch._functorch", "torch._higher_order_ops", "torch.distributed.tensor")
    configs = importlib.import_module("torchtitan.config.configs")
    configurable = importlib.import_module("torchtitan.config.configurable")
    sys.modules["torchtitan.distributed"].ParallelDims = object
    checkpoint = importlib.import_module("torch.utils.checkpoint")
    for name in ("CheckpointPolicy", "create_selective_checkpoint_contexts"):
        if not hasattr(checkpoint, name):  # of newer torch, for policies that are not used here
            setattr(checkpoint, name, type(name, (), {"MUST_SAVE": 0}))
    config = sys.modules["torchtitan.config"]
    for name in ("ParallelismConfig", "TrainingConfig", "CompileConfig"):
        setattr(config, name, getattr(configs, name))
    config.Configurable = configurable.Configurable
    return configs


PLANS = list(cases.all_plans())


def load_text(name, text):
    """Python text as a module."""
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
        seen = set()
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
                    add_bias_linear="--disable-bias-linear" not in words)
                self.assertEqual(made.recompute_granularity, granularity)
        self.assertIn((None, None), seen)
        self.assertTrue({("full", "block"), ("full", "uniform")} & seen, seen)
        self.assertIn(("selective", None), seen)

    def test_a_wrong_module_is_refused(self):
        with self.assertRaises(AssertionError):
            self.configs.TransformerConfig(num_layers=2, hidden_size=64, num_attention_heads=2,
                                           recompute_granularity="selective", recompute_modules=["activation"])

    def test_every_argument_is_known(self):
        known = set(SCRIPT_ARGUMENTS)
        for config in (self.configs.TransformerConfig, self.configs.MLATransformerConfig):
            known |= {field.name.replace("_", "-") for field in dataclasses.fields(config)}
        known |= {"num-query-groups", "kv-channels", "mtp-num-layers"}
        for name, _, launch in self.settings():
            own = {"recompute-num-layers-per-stage-micro-batch"} if name.startswith("flagscale") else set()
            for word in launch["arguments"]:
                if word.startswith("--"):
                    self.assertIn(word[2:], known | own, name)


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
               "stop": made._local_stop, "parts": made.parts, "recomputed": wrapped}, file)
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
                wanted, at = [], 0
                for group in (g for chunk in cases.chunks_of(stages, 1) for g in chunk):
                    wanted += range(at, at + group.get("recomputed_count", 0))
                    at += group["layer_count"]
                self.assertEqual(sorted(i for r in ranks for i in r["recomputed"]), wanted)
                built += 1
        self.assertEqual(built, 3)

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
            if plan is None:
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
                for s in range(degree):  # the trainer's own rule: which parts are on which rank
                    indices = pipeline._get_pp_rank_to_stage_indices_mapping(s, degree, p.pipeline_parallel_schedule,
                                                                             len(parts))
                    counts = [sum(m.startswith("layers.") for m in parts[i]) for i in indices]
                    self.assertEqual(counts, layers[s])
                names = [m for part in parts for m in part if m.startswith("layers.")]
                self.assertEqual(names, [f"layers.{i}" for i in range(sum(map(sum, layers)))])
                self.assertEqual(parts[-1][-2:], ["norm", "lm_head"])
                self.assertIn("tok_embeddings", parts[0])
                self.assertEqual(module.LANGUAGE_RECOMPUTED, cases.recomputed_of(stages, parallelism["virtual_stages"]))
                seen += 1
                virtual += parallelism["virtual_stages"] > 1
        self.assertGreaterEqual(seen, 20)
        self.assertGreaterEqual(virtual, 1)

    def test_an_unknown_field_is_refused(self):
        with self.assertRaises(AttributeError):
            self.configs.ParallelismConfig().pipeline_parallel_degrees = 2

    def test_only_the_planned_layers_are_wrapped(self):
        checkpoint = importlib.import_module("torchtitan.distributed.activation_checkpoint")
        wrapped = []
        checkpoint.ptd_checkpoint_wrapper = lambda module, **kwargs: wrapped.append(module) or module
        for name, plan in PLANS:
            if plan is None:
                continue
            launch = cases.launch_of(plan, "torchtitan")
            if not launch.get("files") or "PlannedAC" not in launch["files"][0]["content"]:
                continue
            module = load_text("evenkeel_torchtitan", launch["files"][0]["content"])
            policy = module.PlannedAC(module.PlannedAC.Config())
            wrapped.clear()
            for i in range(200):
                policy._wrap_block(i, base_fqn=f"layers.{i}")
            self.assertEqual(wrapped, module.LANGUAGE_RECOMPUTED, name)
            return
        self.fail("no plan recomputes some layers")


if __name__ == "__main__":
    unittest.main(verbosity=2)
