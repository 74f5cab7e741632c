"""Tests `evenkeelctl evaluate --from`: trainers' configurations, and what `launch` writes, read back."""
import json
import os
import tempfile
import unittest

import harness
from harness import Server

# The shape of examples/llama/train_llama3_8b_h100_fp8.sh of Megatron-LM: arrays, sums, a branch, quoted options.
MEGATRON = """#!/bin/bash
GPUS_PER_NODE=8
NUM_NODES=1
WORLD_SIZE=$(($GPUS_PER_NODE*$NUM_NODES))
TP=${TP:-2}
DTYPE="fp8"
DISTRIBUTED_ARGS=(
    --nproc_per_node $GPUS_PER_NODE
    --nnodes $NUM_NODES
)
MODEL_ARGS=(
    --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336
    --num-attention-heads 32 --group-query-attention --num-query-groups 8 --kv-channels 128
    --seq-length 8192 --swiglu --normalization RMSNorm --disable-bias-linear
    --untie-embeddings-and-output-weights --attention-dropout 0.0 --hidden-dropout 0.0
)
TRAINING_ARGS=(--micro-batch-size 1 --global-batch-size 128 --bf16 --lr 0.00015 --train-samples 1953125)
if [[ "$DTYPE" == "fp8" ]]; then
    TRAINING_ARGS+=("--fp8-format hybrid" "--fp8-amax-history-len 1024")
fi
torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py \\
    ${MODEL_ARGS[@]} \\
    ${TRAINING_ARGS[@]} --tensor-model-parallel-size $TP --sequence-parallel \\
    --use-distributed-optimizer --recompute-granularity full --recompute-method uniform --recompute-num-layers 1 \\
    --vocab-size 128256 --save /checkpoints --flag-of-tomorrow 3
"""

# The sections of FlagScale's examples/deepseek_v3/conf/train/16b_a3b.yaml, with 8 layers as there.
FLAGSCALE = """system:
  tensor_model_parallel_size: 1
  pipeline_model_parallel_size: 4
  expert_model_parallel_size: 2
  use_distributed_optimizer: true
  precision:
    bf16: true
  logging:
    log_interval: 1
model:
  num_layers: 8
  hidden_size: 2048
  num_attention_heads: 16
  num_query_groups: 16
  seq_length: 4096
  swiglu: true
  normalization: RMSNorm
  attention_dropout: 0.0
  hidden_dropout: 0.0
  untie_embeddings_and_output_weights: true
  multi_latent_attention: true
  kv_lora_rank: 512
  qk_head_dim: 128
  qk_pos_emb_head_dim: 64
  v_head_dim: 128
  ffn_hidden_size: 11264
  moe_ffn_hidden_size: 1408
  moe_grouped_gemm: true
  moe_shared_expert_intermediate_size: 2816
  num_experts: 64
  moe_layer_freq: "[0]+[1]*7"
  moe_router_topk: 6
  micro_batch_size: 1
  global_batch_size: 256
data:
  tokenizer:
    vocab_size: 151851
    make_vocab_size_divisible_by: 64
"""

# Sections and keys of torchtitan's train_configs (0.2).
TORCHTITAN = """[model]
name = "llama3"
flavor = "8B"
[training]
local_batch_size = 1
seq_len = 8192
steps = 1000
[parallelism]
data_parallel_shard_degree = -1
tensor_parallel_degree = 2
[activation_checkpoint]
mode = "full"
[metrics]
log_freq = 10
"""

DEEPSPEED = {"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4, "bf16": {"enabled": True},
             "zero_optimization": {"stage": 3, "overlap_comm": True}, "steps_per_print": 10}

# As Hugging Face's TrainingArguments.to_json_string() and PEFT's save_pretrained() write them, shortened.
ARGUMENTS = {"output_dir": "out", "per_device_train_batch_size": 4, "gradient_accumulation_steps": 2, "bf16": True,
             "gradient_checkpointing": True, "optim": "adamw_torch_fused", "learning_rate": 2e-4, "label_names": None,
             "num_train_epochs": 3.0, "max_steps": -1, "torch_compile": True, "new_thing": 5,
             "deepspeed": {"zero_optimization": {"stage": 3, "overlap_comm": True}, "bf16": {"enabled": "auto"},
                           "train_micro_batch_size_per_gpu": "auto"}}
ADAPTER = {"peft_type": "LORA", "r": 16, "lora_alpha": 32, "lora_dropout": 0.05, "bias": "none", "rank_pattern": {},
           "target_modules": ["q_proj", "v_proj"], "modules_to_save": ["lm_head"], "target_parameters": None,
           "base_model_name_or_path": "Qwen/Qwen3-8B", "task_type": "CAUSAL_LM", "use_dora": False}

FRAMEWORKS = ("megatron", "flagscale", "deepspeed", "torchtitan")
EXAMPLES = ("llama3-8b-text", "internvl-6b-20b", "internvl3.5-38b", "qwen3-vl-30b-a3b", "omnibal-t9-1",
            "gpt-oss-120b", "omni-8b", "qwen3.5-35b-a3b")


class FromTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="evenkeel-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def evaluate(self, path, *arguments, where=("--local",)):
        return harness.run([harness.CTL, "evaluate", *where, "--from", path, *arguments])

    def answer(self, path, *arguments, code=0):
        done = self.evaluate(path, *arguments, "--output", "json")
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout)

    def degrees(self, answer):
        p = answer["response"]["evaluated"]["parallelism"]
        return [p[name] for name in ("tensor", "pipeline", "data", "context", "expert", "virtual_stages")]

    def test_a_script_of_megatron(self):
        path = self.write("run.sh", MEGATRON)
        answer = self.answer(path, "--gpu", "h100-sxm-80gb")
        self.assertEqual(self.degrees(answer), [2, 1, 4, 1, 1, 1])
        job = answer["request"]["job"]
        self.assertEqual(job["training"]["precision"], "PRECISION_FP8_DELAYED")
        self.assertEqual(int(job["dataset"]["histogram"]["sample_count"][0]), 1953125)
        self.assertEqual([s["key"] for s in answer["not_understood"]], ["--flag-of-tomorrow"])
        self.assertEqual(answer["response"]["evaluated"]["predictions"]["micro_batches"], 32)
        # Every gain is that of an evaluation with one thing changed.
        now = answer["response"]["evaluated"]["predictions"]
        per_sample = now["step"]["total_seconds"] / now["samples_per_step"]
        self.assertTrue(answer["changes"])
        for change in answer["changes"]:
            then = change["evaluated"]["predictions"]
            ratio = 1 - then["step"]["total_seconds"] / then["samples_per_step"] / per_sample
            self.assertAlmostEqual(ratio, change["less_time_ratio"], places=9)
            self.assertGreater(ratio, 0)
        self.assertTrue(any("recompute" in change["text"] for change in answer["changes"]))
        text = self.evaluate(path, "--gpu", "h100-sxm-80gb").stdout
        for section in ("What was read", "Not understood", "Assumed", "What it will do", "Change first",
                        "Your plan and ours"):
            self.assertIn(section, text)
        self.assertIn("1 setting was not understood.", " ".join(text.split()), "next to the verdict")

    def test_a_change_that_is_made_gives_what_was_said(self):
        first = self.answer(self.write("run.sh", MEGATRON), "--gpu", "h100-sxm-80gb")
        change = next(c for c in first["changes"] if c["argument"].startswith("--recompute"))
        text = MEGATRON.replace("--recompute-granularity full --recompute-method uniform --recompute-num-layers 1",
                                change["argument"])
        again = self.answer(self.write("again.sh", text), "--gpu", "h100-sxm-80gb")
        self.assertAlmostEqual(again["response"]["evaluated"]["predictions"]["step"]["total_seconds"],
                               change["evaluated"]["predictions"]["step"]["total_seconds"], places=2)

    def test_what_is_offloaded_may_come_back(self):
        kept = MEGATRON.replace("--recompute-granularity full --recompute-method uniform --recompute-num-layers 1", "")
        text = kept.replace("--save /checkpoints", "--optimizer-cpu-offload --save /checkpoints")
        path = self.write("offload.sh", text)
        changes = {change["text"]: change for change in self.answer(path, "--gpu", "h100-sxm-80gb")["changes"]}
        change = changes["nothing in host memory"]
        self.assertIn("without --optimizer-cpu-offload", change["argument"])
        without = self.answer(self.write("run.sh", kept), "--gpu", "h100-sxm-80gb")
        self.assertEqual(without["response"]["evaluated"]["predictions"]["step"]["total_seconds"],
                         change["evaluated"]["predictions"]["step"]["total_seconds"])
        shown = " ".join(self.evaluate(path, "--gpu", "h100-sxm-80gb").stdout.split())
        self.assertNotIn("no plan was found", shown)
        self.assertIn("in host memory", shown)

    def test_another_batch_is_told(self):
        path = self.write("job.toml", TORCHTITAN.replace('"full"', '"none"'))
        flags = ("--gpu", "h100-sxm-80gb", "--gpus", "16")
        asked = self.answer(path, *flags)["response"]["evaluated"]["predictions"]["samples_per_step"]
        for change in self.answer(path, *flags)["changes"]:
            samples = change["evaluated"]["predictions"]["samples_per_step"]
            told = f"({samples:.0f} samples in a step instead of {asked:.0f})"
            self.assertEqual(told in change["text"], samples != asked, change["text"])
            if change["text"].startswith("tensor parallelism 1"):
                self.assertEqual(samples, 2 * asked)  # of twice as many data-parallel ranks
                applied = self.write("tp1.toml", open(path, encoding="utf-8").read().replace(
                    "tensor_parallel_degree = 2", "tensor_parallel_degree = 1"))
                then = self.answer(applied, *flags)["response"]["evaluated"]["predictions"]
                said = change["evaluated"]["predictions"]
                self.assertEqual(then["step"]["total_seconds"], said["step"]["total_seconds"])
                break
        else:
            self.fail("no advice to halve tensor parallelism")

    def test_what_context_ranks_exchange(self):
        def exchange(path, *arguments):
            return self.answer(path, "--gpu", "h100-sxm-80gb", *arguments)["request"]["job"]["training"]["execution"][
                "context_exchange"]

        for name, expected in (("p2p", "RING"), ("a2a", "ULYSSES"), ("all_gather", "ALL_GATHER"),
                               ("a2a+p2p", "HIERARCHICAL")):
            text = MEGATRON.replace("--flag-of-tomorrow 3", f"--context-parallel-size 4 --cp-comm-type {name}")
            self.assertEqual(exchange(self.write("run.sh", text)), "CONTEXT_EXCHANGE_" + expected)
        for line, expected in (("", "ALL_GATHER"), ('context_parallel_rotate_method = "alltoall"', "RING")):
            text = TORCHTITAN.replace("[parallelism]", f"[parallelism]\ncontext_parallel_degree = 2\n{line}")
            self.assertEqual(exchange(self.write("job.toml", text), "--gpus", "16"), "CONTEXT_EXCHANGE_" + expected)

    def test_flagscale_torchtitan_and_deepspeed(self):
        answer = self.answer(self.write("train.yaml", FLAGSCALE), "--gpu", "h100-sxm-80gb", "--gpus", "16")
        self.assertEqual((answer["framework"], self.degrees(answer)), ("FlagScale", [1, 4, 4, 1, 2, 1]))
        self.assertEqual(answer["request"]["job"]["model"]["language_model"]["vocabulary_size"], 151872)
        answer = self.answer(self.write("job.toml", TORCHTITAN), "--gpu", "h100-sxm-80gb", "--gpus", "8")
        self.assertEqual((answer["framework"], self.degrees(answer)), ("torchtitan", [2, 1, 4, 1, 1, 1]))
        self.assertEqual(answer["not_understood"], [])
        self.assertTrue(any('selective_ac_option = "op"' in change["argument"] for change in answer["changes"]))
        text = TORCHTITAN.replace('mode = "full"', 'mode = "selective"\nselective_ac_option = "op"')
        answer = self.answer(self.write("job.toml", text), "--gpu", "h100-sxm-80gb", "--gpus", "8")
        self.assertIn("RECOMPUTE_PART_ALTERNATE_PRODUCTS", json.dumps(answer["request"]))
        self.assertFalse(any('"op"' in change["argument"] for change in answer["changes"]))
        answer = self.answer(self.write("ds.json", json.dumps(DEEPSPEED)), "--gpu", "h100-sxm-80gb", "--gpus", "8",
                             "--model", "llama3-8b", "--token-cap", "8192")
        self.assertEqual(answer["request"]["job"]["training"]["zero_stage"], "ZERO_STAGE_3")
        self.assertEqual(int(answer["request"]["job"]["training"]["global_batch_samples"]), 64)

    def test_hugging_face_trainer_with_an_adapter(self):
        path, adapter = self.write("args.json", json.dumps(ARGUMENTS)), self.write("a.json", json.dumps(ADAPTER))
        flags = ("--from", adapter, "--token-cap", "8192", "--gpu", "a100-sxm-80gb", "--gpus", "8")
        answer = self.answer(path, *flags)
        self.assertEqual((answer["framework"], self.degrees(answer)), ("Hugging Face Trainer", [1, 1, 8, 1, 1, 1]))
        self.assertEqual(len(answer["not_understood"]), 1)
        evaluated = answer["response"]["evaluated"]
        self.assertEqual(int(evaluated["subject"]["micro_batch_samples"]), 4)
        self.assertEqual(evaluated["predictions"]["micro_batches"], 2)
        job = answer["request"]["job"]
        self.assertEqual(job["model"]["lora"]["targets"], ["LORA_TARGET_QKV"])
        self.assertTrue(job["model"]["lora"]["train_head"])
        # Data of other lengths, packed by nobody.
        lengths = self.write("lengths.json", json.dumps([{"llm_tokens": n} for n in (300, 500, 700, 900)] * 500))
        spread = self.answer(path, *flags, "--dataset", lengths)
        self.assertEqual(spread["response"]["evaluated"]["predictions"]["micro_batches"], 2)
        self.assertLess(spread["response"]["evaluated"]["predictions"]["step"]["total_seconds"],
                        evaluated["predictions"]["step"]["total_seconds"])
        self.assertTrue(any("per_device_train_batch_size" in c["argument"] for c in answer["changes"]))
        refused = self.evaluate(path, "--from", self.write("ds.json", json.dumps(DEEPSPEED)), *flags[2:])
        self.assertEqual(refused.returncode, 2)
        self.assertIn("only a run of Hugging Face Trainer has several files", refused.stderr)
        twice = self.evaluate(path, "--from", self.write("more.json", json.dumps(ARGUMENTS)), *flags[2:])
        self.assertEqual(twice.returncode, 2)
        self.assertIn("more.json: args.json has the arguments of the run already", twice.stderr)

    def test_a_command_with_the_files_that_it_names_and_weights_in_four_bits(self):
        self.write("launch.yaml", "distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n"
                                  "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\nnum_processes: 8\n")
        self.write("sft.yaml", "model_name_or_path: llama3-8b\nuse_peft: true\nload_in_4bit: true\n"
                               "lora_target_modules: all-linear\nmax_length: 2048\nper_device_train_batch_size: 2\n")
        path = self.write("run.sh", "accelerate launch --config_file launch.yaml sft.py --config sft.yaml --bf16\n")
        answer = self.answer(path, "--gpu", "h100-sxm-80gb")
        self.assertEqual(self.degrees(answer), [1, 1, 8, 1, 1, 1])
        self.assertEqual(answer["request"]["job"]["model"]["lora"]["base_format"], "FROZEN_FORMAT_NF4")
        self.assertEqual(answer["request"]["job"]["training"]["trainer"]["name"], "pytorch-fsdp")
        self.assertEqual(answer["not_understood"], [])
        text = self.evaluate(path, "--gpu", "h100-sxm-80gb").stdout
        self.assertIn("launch.yaml:1", text)
        self.assertIn("sft.yaml:3", text)

    def test_fsdp_of_hugging_face_is_evaluated_and_advised_in_its_own_words(self):
        flags = ("--model", "llama3-8b", "--gpu", "h100-sxm-80gb", "--gpus", "16", "--token-cap", "4096")

        def answer(fsdp, code=0):
            arguments = {"per_device_train_batch_size": 1, "bf16": True, "fsdp": fsdp}
            return self.answer(self.write("args.json", json.dumps(arguments)), *flags, code=code)

        def advice(found):
            return {change["text"]: change["argument"] for change in found["changes"]}

        step = {}
        for fsdp, stage, group in (("full_shard", 3, 0), ("hybrid_shard", 3, 8), ("shard_grad_op", 2, 0),
                                   ("hybrid_shard_zero2", 2, 8)):
            with self.subTest(fsdp):
                found = answer(fsdp + " auto_wrap")
                training = found["request"]["job"]["training"]
                self.assertEqual(training["zero_stage"], f"ZERO_STAGE_{stage}")
                self.assertEqual(training.get("zero_group", 0), group)
                step[fsdp] = found["response"]["evaluated"]["predictions"]["step"]["total_seconds"]
                if fsdp == "full_shard":
                    self.assertEqual(advice(found)["shard_grad_op instead of full_shard"], '"shard_grad_op" in "fsdp"')
        self.assertLess(step["shard_grad_op"], step["full_shard"])
        # The whole model on each GPU does not fit, nor do activations of long micro-batches.
        self.assertGreater(int(answer("no_shard", code=1)["response"]["evaluated"]["misfit"]["short_bytes"]), 0)
        whole = ("--model", "llama3-8b", "--gpu", "h100-sxm-80gb", "--gpus", "8", "--token-cap", "16384")
        path = self.write("args.json", json.dumps({"per_device_train_batch_size": 1, "bf16": True, "fsdp": True}))
        long = self.answer(path, *whole, code=1)
        self.assertEqual(advice(long)["recompute of every layer"],
                         'in "fsdp_config", "activation_checkpointing": true')

    def test_advice_uses_the_words_of_the_users_files(self):
        flags = ("--model", "llama3-8b", "--gpu", "h100-sxm-80gb", "--token-cap", "4096")

        def advice(launch, *more, **arguments):
            arguments = {"per_device_train_batch_size": 1, "bf16": True, **arguments}
            files = (self.write("args.json", json.dumps(arguments)), "--from", self.write("launch.yaml", launch))
            done = self.evaluate(*files, *flags, *more, "--output", "json")
            self.assertIn(done.returncode, (0, 1), done.stderr)
            return {change["text"]: change["argument"] for change in json.loads(done.stdout)["changes"]}

        fsdp = "distributed_type: FSDP\nnum_processes: 16\nfsdp_config:\n  fsdp_auto_wrap_policy: SIZE_BASED_WRAP\n"
        keeps = "shard_grad_op instead of full_shard"
        self.assertEqual(advice(fsdp)[keeps], "fsdp_sharding_strategy: SHARD_GRAD_OP")
        self.assertEqual(advice(fsdp + "  fsdp_reshard_after_forward: FULL_SHARD\n")[keeps],
                         "fsdp_reshard_after_forward: SHARD_GRAD_OP")
        self.assertEqual(advice(fsdp + "  fsdp_version: 2\n")[keeps], "fsdp_reshard_after_forward: false")
        engine = "distributed_type: DEEPSPEED\nnum_processes: 16\ndeepspeed_config:\n  zero_stage: 1\n"
        self.assertEqual(advice(engine)["ZeRO-3 instead of ZeRO-1"], "deepspeed_config.zero_stage: 3")
        long = fsdp.replace("16", "8")
        self.assertEqual(advice(long, "--token-cap", "16384")["recompute of every layer"],
                         "fsdp_activation_checkpointing: true")

    def test_frozen_encoders_and_stages_of_torchtitan_are_valid_requests(self):
        llava = ("deepspeed --num_gpus 8 llava/train/train_mem.py --model_name_or_path lmsys/vicuna-7b-v1.5 "
                 "--vision_tower openai/clip-vit-large-patch14-336 --bf16 True --per_device_train_batch_size 4 "
                 "--model_max_length 2048 --gradient_checkpointing True\n")
        flags = ("--gpu", "h100-sxm-80gb", "--gpus", "8")
        refused = self.evaluate(self.write("llava.sh", llava), *flags)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("name the whole model by --model", refused.stderr)
        answer = self.answer(self.write("llava.sh", llava), *flags, "--model", "llava-1.5-7b", code=1)
        self.assertEqual(answer["request"]["job"]["model"]["encoder_train_mode"], "TRAIN_MODE_FROZEN")
        stages = ("[model]\nname = \"llama3\"\nflavor = \"8B\"\n[parallelism]\npipeline_parallel_degree = 4\n"
                  "pipeline_parallel_schedule = \"Interleaved1F1B\"\npipeline_parallel_layers_per_stage = 3\n")
        answer = self.answer(self.write("stages.toml", stages), *flags)
        self.assertEqual(int(answer["request"]["plan"]["parallelism"]["virtual_stages"]), 3)

    def test_deterministic_kernels_are_offered_to_be_turned_off(self):
        text = "kernels whose results may differ between runs"

        def offered(path, *flags):
            found = self.answer(path, "--gpu", "h100-sxm-80gb", "--gpus", "8", *flags)
            return {change["text"]: change["argument"] for change in found["changes"]}.get(text)

        path = self.write("job.toml", TORCHTITAN + "[debug]\ndeterministic = true\n")
        self.assertEqual(offered(path), "debug.deterministic = false")
        arguments = {"per_device_train_batch_size": 1, "bf16": True, "full_determinism": True}
        path = self.write("args.json", json.dumps({**arguments, "fsdp": True, "gradient_checkpointing": True}))
        self.assertEqual(offered(path, "--model", "llama3-8b", "--token-cap", "4096"), '"full_determinism": false')

    def test_a_command_of_trl_with_a_profile(self):
        path = self.write("run.sh", "trl sft --model_name_or_path llama3-8b --dataset_name x/y --use_peft \\\n"
                                    "  --lora_target_modules all-linear --accelerate_config zero2 --num_processes 4\n")
        answer = self.answer(path, "--gpu", "h100-sxm-80gb")
        self.assertEqual(self.degrees(answer), [1, 1, 4, 1, 1, 1])
        training = answer["request"]["job"]["training"]
        self.assertEqual(training["zero_stage"], "ZERO_STAGE_2")
        self.assertEqual(int(training["micro_batch_samples"]), 8)
        self.assertEqual(answer["not_understood"], [])
        self.assertIn("TRL's zero2.yaml:3", [s["where"] for s in answer["read"]])

    def test_single_things_and_none_read_well(self):
        path = self.write("job.toml", '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nlocal_batch_size = 1\n'
                                      "seq_len = 8192\nsteps = 10\n")
        shown = self.evaluate(path, "--gpu", "h100-sxm-80gb", "--gpus", "8").stdout
        self.assertIn("1 micro-batch on each of 8 data-parallel ranks", shown)
        self.assertNotIn("neither memory nor time", shown)

    def test_one_flag_may_give_several_variables(self):
        path = self.write("run.sh", MEGATRON.replace("TP=${TP:-2}", "").replace("GPUS_PER_NODE=8\n", "", 1))
        answer = self.answer(path, "--gpu", "h100-sxm-80gb", "--env", "TP=4", "GPUS_PER_NODE=8")
        self.assertEqual(self.degrees(answer)[:3], [4, 1, 2])
        refused = self.evaluate(path, "--gpu", "h100-sxm-80gb", "--env", "TP=4", "more")
        self.assertEqual(refused.returncode, 2)
        self.assertIn('--env: "more" is not NAME=VALUE', refused.stderr)

    def test_what_is_missing_is_named_by_its_flag(self):
        cases = ((("run.sh", MEGATRON), [], "--gpu"),
                 (("job.toml", TORCHTITAN), ["--gpu", "h100-sxm-80gb"], "--gpus"),
                 (("ds.json", json.dumps(DEEPSPEED)), ["--gpu", "h100-sxm-80gb", "--gpus", "8"], "--model"),
                 (("ds.json", json.dumps(DEEPSPEED)), ["--gpu", "h100-sxm-80gb", "--gpus", "8", "--model", "llama3-8b"],
                  "--token-cap"),
                 (("run.sh", MEGATRON.replace("TP=${TP:-2}", "TP=$(nproc)")), ["--gpu", "h100-sxm-80gb"],
                  "--tensor-model-parallel-size"),
                 (("run.sh", MEGATRON.replace("TP=${TP:-2}", "TP=3")), ["--gpu", "h100-sxm-80gb"], "does not divide"),
                 (("run.sh", MEGATRON.replace("--save", "--schedules-method dualpipev --save")),
                  ["--gpu", "h100-sxm-80gb"], "not yet: schedules other than 1F1B"),
                 (("job.toml", TORCHTITAN.replace("[training]", 'converters = ["mx"]\n[training]')),
                  ["--gpu", "h100-sxm-80gb", "--gpus", "8"], "job.toml:4: model.converters mx)"))
        for (name, text), flags, message in cases:
            with self.subTest(message):
                done = self.evaluate(self.write(name, text), *flags)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertIn(message, done.stderr)

    def test_a_refusal_lists_what_was_not_understood(self):
        misspelt = self.write("run.sh", MEGATRON.replace("--num-layers", "--num-layer"))
        refused = self.evaluate(misspelt, "--gpu", "h100-sxm-80gb")
        self.assertEqual(refused.returncode, 2)
        self.assertRegex(refused.stderr, r"not understood: run.sh:\d+: --num-layer 32")

    def test_a_refusal_of_overrides_says_that_they_are_no_whole_configuration(self):
        overrides = self.write("kimi.yaml", "model:\n  seq_length: 4096\n  tensor_model_parallel_size: 2\n"
                                            "  num_moe_experts: 128\n  expert_model_parallel_size: 8\n"
                                            "train:\n  micro_batch_size: 1\n"
                                            "ddp:\n  overlap_grad_reduce: true\n")
        refused = self.evaluate(overrides, "--gpu", "h100-sxm-80gb", "--gpus", "16", "--model", "qwen3-30b-a3b")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("needs sequence-parallel", refused.stderr)
        self.assertIn("The file changes a recipe of Megatron-Bridge, which it does not name", refused.stderr)

    def test_what_does_not_fit_says_by_how_much_and_what_would(self):
        text = MEGATRON.replace("--num-layers 32 --hidden-size 4096", "--num-layers 64 --hidden-size 8192")
        text = text.replace("--recompute-granularity full --recompute-method uniform --recompute-num-layers 1", "")
        answer = self.answer(self.write("big.sh", text), "--gpu", "h100-sxm-80gb", code=1)
        self.assertGreater(int(answer["response"]["evaluated"]["misfit"]["short_bytes"]), 0)
        for change in answer["changes"]:
            self.assertIsNone(change["evaluated"]["misfit"])

    def test_a_server_answers_as_this_process_does(self):
        path = self.write("run.sh", MEGATRON)
        with Server() as server:
            remote = self.evaluate(path, "--gpu", "h100-sxm-80gb", "--output", "json",
                                   where=("--server", server.address))
        self.assertEqual(json.loads(remote.stdout), self.answer(path, "--gpu", "h100-sxm-80gb"))

    def test_what_launch_writes_is_read_back(self):
        """Every second pair; all with EVENKEEL_EVERY_PAIR=1, which takes twice as long."""
        with Server() as server:  # it plans each job once, and keeps the plan for the next command
            for i, example in enumerate(EXAMPLES):
                job = os.path.join(harness.EXAMPLES, example + ".json")
                for framework in FRAMEWORKS if os.environ.get("EVENKEEL_EVERY_PAIR") else FRAMEWORKS[i % 2::2]:
                    with self.subTest(f"{example} {framework}"):
                        self.round_trip(server, example, job, framework)

    def round_trip(self, server, example, job, framework):
        base = [harness.CTL, "launch", "--server", server.address, "--framework", framework, "--job", job]
        launch = json.loads(harness.run([*base, "--output", "json"]).stdout)
        if launch["match"] == "LAUNCH_MATCH_NONE":
            return
        path = self.write(f"{example}.{framework}.sh", harness.run(base).stdout)
        flags = ["--job", job]
        batches = " ".join(note["text"] for note in launch["notes"] if note["topic"] == "batches")
        # No configuration says how many units a pack holds, and DeepSpeed's not how many tokens.
        if " units and " in batches:
            flags += ["--unit-cap", batches.split(" at most ")[-1].split()[0]]
        if framework == "deepspeed":
            flags += ["--token-cap", batches.split(" tokens (mean")[0].split()[-1]]
        if launch["match"] == "LAUNCH_MATCH_EXACT":  # it runs all of the plan, which says the degrees
            plan = json.loads(server.ctl("plan", "--job", job, "--output", "json").stdout)
            launch["parallelism"] = plan["plan"]["parallelism"]
        if framework == "deepspeed":  # whose layers run is not in the JSON, nor how experts are spread
            flags += ["--trainer", "megatron-deepspeed", "--ep", str(launch["parallelism"]["expert"])]
        done = self.evaluate(path, *flags, "--output", "json")
        self.assertIn(done.returncode, (0, 1), done.stderr)
        answer = json.loads(done.stdout)
        evaluated = answer["response"]["evaluated"]
        for name in ("tensor", "pipeline", "data", "context", "expert", "virtual_stages"):
            self.assertEqual(evaluated["parallelism"][name], launch["parallelism"][name], name)
        self.assertEqual(answer["not_understood"], [])
        self.assertLess(abs(evaluated["predictions"]["step"]["total_seconds"] / launch["step_seconds"] - 1), .01)


if __name__ == "__main__":
    unittest.main()
