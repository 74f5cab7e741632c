// Tests what is read of `accelerate launch`: its options, its file, and both.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/client/trainer_folder.h"
#include "tests/client/trainer_runs.h"

namespace evenkeel::cli {
namespace {

constexpr char kTrainArguments[] =
    " train.py --per_device_train_batch_size 2 --bf16 --model_max_length 512\n";

std::string Launched(const std::string& options) {
  return "accelerate launch --num_processes 8 " + options + kTrainArguments;
}

v1::Training TrainingOf(const UserRun& run) { return run.job.training(); }

TEST(AccelerateTest, EveryOptionCounts) {
  const TrainerFolder folder;
  EXPECT_NE(folder
                .Refusal(Launched("--use_fsdp --use_parallelism_config true "
                                  "--parallelism_config_tp_size 4"))
                .find("ParallelismConfig"),
            std::string::npos);
  EXPECT_EQ(folder.Refusal(Launched("--use_fsdp --use_parallelism_config true "
                                    "--parallelism_config_tp_size 1 "
                                    "--parallelism_config_cp_backend torch")),
            "");
  EXPECT_NE(folder.Refusal(Launched("--use_megatron_lm --megatron_lm_tp_degree 2"))
                .find("use_megatron_lm true: not yet: Megatron-LM under accelerate"),
            std::string::npos);
  EXPECT_NE(folder.Refusal(Launched("--cpu")).find("training without GPUs"), std::string::npos);
  const auto unpredicted = [&](const std::string& options) {
    return folder.Script(Launched(options)).not_predicted.size();
  };
  EXPECT_EQ(unpredicted("--dynamo_backend inductor"), 1u);
  EXPECT_EQ(unpredicted("--dynamo_backend no"), 0u);
  EXPECT_EQ(unpredicted("--fp8_backend te"), 1u);
  EXPECT_EQ(unpredicted("--main_process_port 29500 --multi_gpu --same_network"), 0u);
  EXPECT_EQ(folder.Script(Launched("--option_of_tomorrow 3")).unknown.size(), 1u);
  EXPECT_TRUE(folder.Script(Launched("--main_process_port 29500 --quiet")).unknown.empty());
}

TEST(AccelerateTest, ItIsTheLauncherByWhateverName) {
  const TrainerFolder folder;
  for (const char* const launcher :
       {"python -m accelerate.commands.launch", "accelerate-launch", "/opt/bin/accelerate launch",
        "NCCL_DEBUG=INFO accelerate launch"}) {
    const UserRun run =
        folder.RunScript(std::string(launcher) +
                         " --num_processes 4 --use_deepspeed --zero_stage 3" + kTrainArguments);
    EXPECT_EQ(run.job.cluster().pools(0).gpu_count(), 4) << launcher;
    EXPECT_EQ(TrainingOf(run).zero_stage(), v1::ZERO_STAGE_3) << launcher;
  }
  const UserRun module = folder.RunScript(
      "python -m accelerate.commands.launch --num_processes 4 -m train "
      "--per_device_train_batch_size 2 --bf16 --model_max_length 512\n");
  EXPECT_EQ(module.job.cluster().pools(0).gpu_count(), 4);
  // A program may have the word among its arguments.
  const UserRun other = folder.RunScript(
      "torchrun --nproc_per_node 4 train.py --tags accelerate --per_device_train_batch_size 2 "
      "--bf16 --model_max_length 512\n");
  EXPECT_EQ(other.job.cluster().pools(0).gpu_count(), 4);
}

// ACCELERATE_DEEPSPEED_ZERO_STAGE is 2 by default; DeepSpeed's own stage is 0.
TEST(AccelerateTest, TheDefaultStageIsTwo) {
  const TrainerFolder folder;
  const UserRun run = folder.RunScript(Launched("--use_deepspeed"));
  EXPECT_EQ(TrainingOf(run).zero_stage(), v1::ZERO_STAGE_2);
  EXPECT_TRUE(Assumes(run, "stage 2, accelerate's default"));
  folder.Write("ds.json", "{\"bf16\": {\"enabled\": true}}");
  EXPECT_EQ(
      TrainingOf(folder.RunScript(Launched("--use_deepspeed --deepspeed_config_file ds.json")))
          .zero_stage(),
      v1::ZERO_STAGE_0);
  EXPECT_EQ(TrainingOf(folder.RunScript("accelerate launch --num_processes 8 --use_deepspeed "
                                        "train.py --per_device_train_batch_size 2 --bf16 "
                                        "--model_max_length 512 --deepspeed ds.json\n"))
                .zero_stage(),
            v1::ZERO_STAGE_0);
}

TEST(AccelerateTest, SettingsOfAnEngineThatIsOffHaveNoEffect) {
  const TrainerFolder folder;
  folder.Write("args.json",
               "{\"per_device_train_batch_size\": 2, \"bf16\": true, \"model_max_length\": 512}");
  folder.Write("launch.yaml",
               "distributed_type: MULTI_GPU\ndeepspeed_config:\n  zero_stage: 3\nfsdp_config:\n"
               "  fsdp_offload_params: true\nnum_processes: 8\n");
  const UserRun run = folder.Run({"args.json", "launch.yaml"});
  EXPECT_EQ(TrainingOf(run).zero_stage(), v1::ZERO_STAGE_0);
  EXPECT_FALSE(TrainingOf(run).offload().weights());
  const UserConfig config =
      folder.Read("launch.yaml",
                  "distributed_type: NO\ndeepspeed_config:\n  zero_stage: 3\nnum_processes: 8\n");
  ASSERT_EQ(config.notes.size(), 1u);
  EXPECT_NE(config.notes[0].find("does not run DeepSpeed"), std::string::npos);
}

// One value may be written in several ways.
TEST(AccelerateTest, ValuesAreCompared) {
  const TrainerFolder folder;
  folder.Write("ds.json",
               "{\"bf16\": {\"enabled\": true}, \"optimizer\": {\"type\": \"AdamW\"}, "
               "\"gradient_accumulation_steps\": 4.0, \"zero_optimization\": {\"stage\": 2}}");
  folder.Write("launch.yaml",
               "distributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: ds.json\n"
               "num_processes: 8\n");
  folder.Write(
      "args.json",
      "{\"per_device_train_batch_size\": 2, \"bf16\": \"True\", \"model_max_length\": 512, "
      "\"optim\": \"adamw_torch\", \"gradient_accumulation_steps\": 4}");
  for (const auto& files : {std::vector<std::string>{"args.json", "launch.yaml"},
                            std::vector<std::string>{"launch.yaml", "args.json"}}) {
    const UserRun run = folder.Run(files);
    EXPECT_EQ(TrainingOf(run).optimizer(), v1::OPTIMIZER_ADAM);
    EXPECT_EQ(TrainingOf(run).global_batch_samples(), 64);
  }
  folder.Write("auto.yaml",
               "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 1\n"
               "  gradient_accumulation_steps: auto\nnum_processes: 8\n");
  EXPECT_EQ(TrainingOf(folder.Run({"args.json", "auto.yaml"})).global_batch_samples(), 64);
  folder.Write("three.yaml",
               "distributed_type: DEEPSPEED\ndeepspeed_config:\n"
               "  gradient_accumulation_steps: 3\nnum_processes: 8\n");
  EXPECT_NE(folder.RefusalOfFiles({"args.json", "three.yaml"}).find("differs from"),
            std::string::npos);
}

// The messages say what the file says.
TEST(AccelerateTest, FsdpIsSaidInOnePlace) {
  const TrainerFolder folder;
  folder.Write("args.json",
               "{\"per_device_train_batch_size\": 2, \"bf16\": true, "
               "\"model_max_length\": 512, \"fsdp\": \"full_shard\"}");
  folder.Write("launch.yaml", "distributed_type: FSDP\nnum_processes: 8\n");
  EXPECT_NE(folder.RefusalOfFiles({"args.json", "launch.yaml"})
                .find("launch.yaml:1: distributed_type FSDP: together with args.json:1: fsdp "
                      "full_shard: give "
                      "FSDP in one place"),
            std::string::npos);
}

TEST(AccelerateTest, ADifferenceIsShownAsItIsWritten) {
  const TrainerFolder folder;
  folder.Write("args.json",
               "{\"per_device_train_batch_size\": 2, \"bf16\": true, \"model_max_length\": 512, "
               "\"gradient_accumulation_steps\": 4}");
  folder.Write("launch.yaml",
               "distributed_type: DEEPSPEED\ndeepspeed_config:\n  gradient_accumulation_steps: 2\n"
               "num_processes: 8\n");
  EXPECT_NE(folder.RefusalOfFiles({"args.json", "launch.yaml"})
                .find("launch.yaml:3: deepspeed_config.gradient_accumulation_steps 2: differs from "
                      "args.json:1: gradient_accumulation_steps 4"),
            std::string::npos);
}

// The Trainer compares numbers of DeepSpeed's part with its own defaults, wherever that part is.
TEST(AccelerateTest, NumbersThatTheTrainerRefusesAreNoted) {
  const TrainerFolder folder;
  folder.Write("ds.json", "{\"gradient_accumulation_steps\": 4}");
  const auto notes = [&](const std::string& script) { return folder.Script(script).notes; };
  const std::string four = " --per_device_train_batch_size 2 --gradient_accumulation_steps 4\n";
  for (const std::string launcher :
       {"accelerate launch --use_deepspeed --gradient_accumulation_steps 4 train.py",
        "accelerate launch --use_deepspeed --deepspeed_config_file ds.json train.py",
        "deepspeed train.py --deepspeed ds.json"}) {
    EXPECT_EQ(notes(launcher + " --per_device_train_batch_size 2\n").size(), 1u) << launcher;
    EXPECT_EQ(notes(launcher + four).size(), 0u) << launcher;
  }
}

// The file is that of `accelerate config`, or one that a variable names.
TEST(AccelerateTest, ACommandIsReadWithItsLaunchFile) {
  const TrainerFolder folder;
  folder.Write("run.sh", std::string("accelerate launch --num_processes 4") + kTrainArguments);
  folder.Write("launch.yaml",
               "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\nnum_processes: 8\n"
               "mixed_precision: bf16\n");
  for (const auto& files : {std::vector<std::string>{"run.sh", "launch.yaml"},
                            std::vector<std::string>{"launch.yaml", "run.sh"}}) {
    const UserRun run = folder.Run(files);
    EXPECT_EQ(TrainingOf(run).zero_stage(), v1::ZERO_STAGE_3);
    EXPECT_EQ(run.job.cluster().pools(0).gpu_count(), 4) << "the option";
  }
  const std::string variable = "accelerate launch --config_file $CONFIG --num_processes 4";
  folder.Write("run.sh", variable + kTrainArguments);
  EXPECT_EQ(TrainingOf(folder.Run({"run.sh", "launch.yaml"})).zero_stage(), v1::ZERO_STAGE_3);
  const UserConfig alone = folder.Script(variable + kTrainArguments);
  ASSERT_EQ(alone.notes.size(), 2u);
  EXPECT_NE(alone.notes[0].find("does not set: CONFIG"), std::string::npos);
  EXPECT_NE(alone.notes[1].find("give it by another --from"), std::string::npos);
  folder.Write("adapter.json", AdapterWith(", \"target_modules\": \"all-linear\""));
  const UserRun tuned = folder.Run({"run.sh", "adapter.json", "launch.yaml"});
  EXPECT_EQ(tuned.job.model().lora().rank(), 32);
  EXPECT_EQ(TrainingOf(tuned).zero_stage(), v1::ZERO_STAGE_3);
  // Options of an engine that the file turns on.
  folder.Write("run.sh",
               std::string("accelerate launch --offload_optimizer_device cpu") + kTrainArguments);
  EXPECT_EQ(TrainingOf(folder.Run({"run.sh", "launch.yaml"})).offload().optimizer_ratio(), 1);
  // In older releases the file comes before options.
  folder.Write("run.sh", std::string("accelerate launch --zero_stage 2") + kTrainArguments);
  EXPECT_EQ(TrainingOf(folder.Run({"run.sh", "launch.yaml"})).zero_stage(), v1::ZERO_STAGE_2);
  const UserConfig differs = folder.Script(Launched("--config_file launch.yaml --zero_stage 2"));
  ASSERT_EQ(differs.notes.size(), 1u);
  EXPECT_NE(differs.notes[0].find("zero_stage 2: comes before launch.yaml:3"), std::string::npos);
  folder.Write("run.sh",
               std::string("accelerate launch --config_file launch.yaml") + kTrainArguments);
  EXPECT_NE(folder.RefusalOfFiles({"run.sh", "launch.yaml"}).find("settings of accelerate of"),
            std::string::npos);
}

TEST(AccelerateTest, ItsFileNamesFilesBesideIt) {
  const TrainerFolder folder;
  std::filesystem::create_directories(folder.Path("configs"));
  folder.Write("configs/ds.json", "{\"zero_optimization\": {\"stage\": 3}}");
  folder.Write(
      "configs/launch.yaml",
      "distributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: ds.json\n");
  EXPECT_EQ(
      TrainingOf(folder.RunScript(Launched("--config_file configs/launch.yaml"))).zero_stage(),
      v1::ZERO_STAGE_3);
}

TEST(AccelerateTest, WithoutAPolicyLayersAreAssumed) {
  const TrainerFolder folder;
  const std::string said = "without fsdp_auto_wrap_policy";
  EXPECT_TRUE(Assumes(folder.RunScript(Launched("--use_fsdp")), said));
  EXPECT_TRUE(Assumes(folder.RunScript(Launched("--use_fsdp --fsdp_version 2")), said));
  EXPECT_FALSE(Assumes(folder.RunScript(Launched("--use_fsdp --fsdp_auto_wrap_policy "
                                                 "TRANSFORMER_BASED_WRAP")),
                       said));
}

TEST(AccelerateTest, Fp8IsReadAsSixteenBits) {
  const TrainerFolder folder;
  const UserRun run = folder.RunScript(
      "accelerate launch --num_processes 8 --mixed_precision fp8 train.py "
      "--per_device_train_batch_size 2 --model_max_length 512\n");
  EXPECT_EQ(TrainingOf(run).precision(), v1::PRECISION_BF16);
  EXPECT_TRUE(Assumes(run, "--precision fp8"));
}

}  // namespace
}  // namespace evenkeel::cli
