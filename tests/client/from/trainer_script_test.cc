// Tests what is read of commands that run Hugging Face's Trainer, of YAML and of accelerate's file.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "client/cli/base/command_error.h"
#include "client/cli/from/read/merge_files.h"
#include "client/cli/from/read/read_config.h"
#include "client/cli/from/run/run_of.h"
#include "client/cli/from/run/user_run.h"
#include "tests/client/trainer_runs.h"

namespace evenkeel::cli {
namespace {

// A folder with a script and the files that it names.
class TrainerScriptTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = testing::TempDir() + "/evenkeel_" + name;
    std::ofstream(path) << text;
    return path;
  }

  UserConfig Read(const std::string& text) {
    return ReadConfigText(text, testing::TempDir() + "/run.sh");
  }

  UserRun Run(const UserConfig& config) {
    JobFlags flags;
    flags.gpu = "h100-sxm-80gb";
    flags.model = "llama3-8b";
    return RunOf(config, flags);
  }
};

constexpr char kArguments[] =
    " --per_device_train_batch_size 2 --gradient-accumulation-steps=3 --bf16 True "
    "--model_max_length 512 --gradient_checkpointing --output_dir out\n";

TEST_F(TrainerScriptTest, LaunchersSayHowManyGpus) {
  const std::string launchers[] = {
      "torchrun --nnodes 2 --nproc_per_node=4 train.py",
      "deepspeed --num_nodes=2 --num_gpus=4 train.py",
      "python -m torch.distributed.run --nnodes 2 --nproc_per_node 4 t.py",
      "accelerate launch --num_machines 2 --num_processes 8 -m train",
      "accelerate launch --num_machines 2 --num_processes 8 train.py"};
  for (const std::string& launcher : launchers) {
    const UserRun run = Run(Read(launcher + " --fsdp \"full_shard auto_wrap\"" + kArguments));
    EXPECT_EQ(run.job.cluster().pools(0).gpu_count(), 8) << launcher;
    EXPECT_EQ(run.job.cluster().pools(0).gpus_per_node(), 4) << launcher;
    EXPECT_EQ(run.micro_batch, 2);
    EXPECT_EQ(run.job.training().global_batch_samples(), 48);
    EXPECT_EQ(run.recompute.kind, Recompute::Kind::kEvery);
    EXPECT_EQ(run.job.training().zero_stage(), v1::ZERO_STAGE_3);
    EXPECT_EQ(run.seq_length, 512);
  }
}

TEST_F(TrainerScriptTest, FilesAreReadBesideTheScript) {
  Write("zero.json", "{\"zero_optimization\": {\"stage\": 2}, \"bf16\": {\"enabled\": \"auto\"}}");
  const UserRun run = Run(Read("deepspeed --num_gpus 8 train.py --deepspeed evenkeel_zero.json" +
                               std::string(kArguments)));
  EXPECT_EQ(run.job.training().zero_stage(), v1::ZERO_STAGE_2);
  // The command line comes before the file of TRL's --config.
  Write("sft.yaml",
        "max_length: 4096\nper_device_train_batch_size: 16\ngradient_checkpointing: "
        "false\nbf16: true\n");
  const UserRun trl =
      Run(Read("accelerate launch --num_processes 8 sft.py --config "
               "evenkeel_sft.yaml --per_device_train_batch_size=4\n"));
  EXPECT_EQ(trl.micro_batch, 4);
  EXPECT_EQ(trl.seq_length, 4096);
  EXPECT_EQ(trl.recompute.kind, Recompute::Kind::kNone);
  EXPECT_THROW(Read("deepspeed train.py --deepspeed no-such.json" + std::string(kArguments)),
               CommandError);
}

TEST_F(TrainerScriptTest, DictionariesMayBeWords) {
  const UserConfig config = Read(
      "torchrun --nproc_per_node 8 train.py --fsdp true --fsdp_config "
      "'{\"reshard_after_forward\": false, \"version\": 2}' --gradient_checkpointing_kwargs "
      "'{\"use_reentrant\": false}'" +
      std::string(kArguments));
  EXPECT_EQ(Run(config).job.training().zero_stage(), v1::ZERO_STAGE_2);
  EXPECT_TRUE(config.unknown.empty());
}

TEST_F(TrainerScriptTest, GpusOfOneNodeMayBeListed) {
  const UserRun run =
      Run(Read("deepspeed --include localhost:0,1,2,5 train.py" + std::string(kArguments)));
  EXPECT_EQ(run.job.cluster().pools(0).gpu_count(), 4);
  // Nodes without a list have all their GPUs, whose number is not known.
  for (const std::string nodes : {"worker-0@worker-1:0,1,2,3", "worker-0:0,1@worker-1:0,1,2"})
    EXPECT_THROW(Run(Read("deepspeed --include " + nodes + " train.py" + kArguments)), CommandError)
        << nodes;
}

// A script of Megatron-LM stays one with any other options of its program.
TEST_F(TrainerScriptTest, OtherProgramsAreOtherTrainers) {
  EXPECT_EQ(
      Read("torchrun pretrain.py --tensor-model-parallel-size 2 --micro-batch-size 1 --config "
           "no-such.yaml --output_dir out\n")
          .format,
      ConfigFormat::kMegatron);
}

constexpr char kFsdpFile[] =
    "distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n  fsdp_reshard_after_forward: false\n"
    "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_offload_params: false\n"
    "mixed_precision: bf16\nnum_machines: 2\nnum_processes: 16\nuse_cpu: false\n";

TEST_F(TrainerScriptTest, AccelerateSaysTheEngine) {
  const auto run = [&](const std::string& launch, const std::string& more = "") {
    UserConfig config = ReadConfigText(
        "{\"per_device_train_batch_size\": 2, \"model_max_length\": 512" + more + "}", "a.json");
    Merge(ReadConfigText(launch, "launch.yaml"), &config);
    return Run(config);
  };
  const UserRun fsdp = run(kFsdpFile);
  EXPECT_EQ(fsdp.job.training().zero_stage(), v1::ZERO_STAGE_2);
  EXPECT_EQ(fsdp.job.training().precision(), v1::PRECISION_BF16);
  EXPECT_EQ(fsdp.job.cluster().pools(0).gpu_count(), 16);
  EXPECT_EQ(fsdp.job.cluster().pools(0).gpus_per_node(), 8);
  const std::string old =
      "distributed_type: FSDP\nfsdp_config:\n  fsdp_sharding_strategy: 4\n  fsdp_offload_params: "
      "false\nmixed_precision: bf16\nnum_processes: 16\n";
  EXPECT_EQ(run(old).job.training().zero_stage(), v1::ZERO_STAGE_3);
  EXPECT_EQ(run(old).job.training().zero_group(), 8) << "hybrid_shard";
  const std::string deepspeed =
      "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\n  "
      "offload_optimizer_device: "
      "cpu\n  offload_param_device: none\n  gradient_accumulation_steps: 1\nnum_processes: 8\n"
      "mixed_precision: bf16\n";
  EXPECT_EQ(run(deepspeed).job.training().zero_stage(), v1::ZERO_STAGE_3);
  EXPECT_EQ(run(deepspeed).job.training().offload().optimizer_ratio(), 1);
  EXPECT_EQ(run(deepspeed).job.training().trainer().name(), "huggingface-trainer");
  // The arguments come before the environment that accelerate sets, and must not contradict it.
  EXPECT_EQ(run(kFsdpFile, ", \"fp16\": true").job.training().precision(), v1::PRECISION_FP16);
  EXPECT_THROW(run(deepspeed, ", \"gradient_accumulation_steps\": 4"), CommandError);
  EXPECT_THROW(run(kFsdpFile, ", \"fsdp\": \"full_shard\""), CommandError);
  const auto refusal = [&](const std::string& launch) {
    try {
      run(launch);
    } catch (const CommandError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(refusal("distributed_type: XLA\nnum_processes: 8\nmixed_precision: bf16\n")
                .find("distributed_type XLA: not yet: accepted are FSDP, DEEPSPEED"),
            std::string::npos);
  EXPECT_THROW(
      run(kFsdpFile + std::string("parallelism_config:\n  parallelism_config_cp_size: 2\n")),
      CommandError);
  // It says nothing of batches.
  EXPECT_THROW(ReadUserConfig({Write("launch.yaml", kFsdpFile)}), CommandError);
}

TEST_F(TrainerScriptTest, AdaptersOfTrl) {
  const std::string base =
      "per_device_train_batch_size: 2\nmax_length: 512\nbf16: true\nuse_peft: true\n"
      "lora_target_modules: [q_proj, o_proj]\nmodel_name_or_path: llama3-8b\n";
  const auto lora = [&](const std::string& more) {
    UserConfig config = ReadConfigText(base + more, "sft.yaml");
    JobFlags flags;
    flags.gpu = "h100-sxm-80gb";
    flags.gpus = {8};
    return RunOf(config, flags).job.model();
  };
  EXPECT_EQ(lora("").language_model_train_mode(), v1::TRAIN_MODE_LORA);
  EXPECT_EQ(lora("").lora().rank(), 16);
  EXPECT_EQ(lora("").lora().dropout_ratio(), .05);
  EXPECT_EQ(lora("").lora().targets_size(), 2);
  EXPECT_EQ(lora("").lora().base_format(), v1::FROZEN_FORMAT_UNSPECIFIED);
  EXPECT_EQ(lora("lora_r: 8\nlora_dropout: 0.0\n").lora().rank(), 8);
  EXPECT_EQ(lora("lora_r: 8\nlora_dropout: 0.0\n").lora().dropout_ratio(), 0);
  EXPECT_EQ(lora("load_in_4bit: true\n").lora().base_format(), v1::FROZEN_FORMAT_NF4);
  EXPECT_EQ(lora("load_in_4bit: true\nuse_bnb_nested_quant: true\n").lora().base_format(),
            v1::FROZEN_FORMAT_NF4_DOUBLE);
  EXPECT_EQ(lora("load_in_8bit: true\n").lora().base_format(), v1::FROZEN_FORMAT_INT8);
  EXPECT_EQ(lora("load_in_4bit: true\nbnb_4bit_quant_type: fp4\n").lora().base_format(),
            v1::FROZEN_FORMAT_NF4)
      << "as large";
  EXPECT_THROW(lora("load_in_4bit: true\nbnb_4bit_quant_type: new\n"), CommandError);
  EXPECT_NE(RefusalOf({ArgumentsWith(", \"model_init_kwargs\": {\"load_in_4bit\": true}")})
                .find("accepted: load_in_4bit in quantization_config"),
            std::string::npos);
  EXPECT_NE(RefusalOf({ArgumentsWith(", \"load_in_4bit\": true")}).find("only with adapters"),
            std::string::npos);
}

// As in DeepSpeed-Chat's scripts.
TEST_F(TrainerScriptTest, DeepSpeedAsASwitchIsNoneOfTheTrainer) {
  try {
    Read(std::string("deepspeed main.py --model_name_or_path a --zero_stage 3 --deepspeed") +
         kArguments);
    ADD_FAILURE();
  } catch (const CommandError& error) {
    EXPECT_NE(std::string(error.what())
                  .find("run.sh:1: deepspeed true: names no file; as a switch it is DeepSpeed's "
                        "own, of programs that are not Hugging Face's Trainer"),
              std::string::npos)
        << error.what();
  }
}

// As in InternVL's scripts.
TEST_F(TrainerScriptTest, OptionsOfSrunCountGpus) {
  const std::string python = std::string("python train.py --model_name_or_path a") + kArguments;
  const auto pool = [&](const std::string& script) {
    return Run(Read(script)).job.cluster().pools(0);
  };
  const std::string options =
      "GPUS=16\nsrun -p x --gres=gpu:8 --nodes=$((GPUS / 8)) --ntasks=${GPUS} "
      "--ntasks-per-node=8 --kill-on-bad-exit=1 ";
  EXPECT_EQ(pool(options + python).gpu_count(), 16);
  EXPECT_EQ(pool(options + python).gpus_per_node(), 8);
  EXPECT_EQ(pool("#SBATCH --nodes=8\n#SBATCH --gpus-per-node=8\nsrun -N 4 " + python).gpu_count(),
            32);
  EXPECT_EQ(pool("srun -N 4 --gres=gpu:8 torchrun --nnodes 2 --nproc_per_node 4 " +
                 python.substr(std::string("python ").size()))
                .gpu_count(),
            8)
      << "the launcher's come first";
}

}  // namespace
}  // namespace evenkeel::cli
