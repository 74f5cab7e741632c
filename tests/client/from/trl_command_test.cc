// Tests what is read of TRL's command and its files.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "client/cli/from/advise/changes.h"
#include "tests/client/trainer_folder.h"
#include "tests/client/trainer_runs.h"

namespace evenkeel::cli {
namespace {

constexpr char kBare[] =
    "trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name stanfordnlp/imdb";

// Recipes of alignment-handbook hold templates, which begin as a dictionary does.
TEST(TrlCommandTest, AChatTemplateIsNoDictionary) {
  const TrainerFolder folder;
  for (const char* const text : {"{% for message in messages %}{{ message }}{% endfor %}",
                                 "{# a comment #}{{ bos_token }}", "{{ bos_token }}"}) {
    const UserConfig config = folder.Read(
        "sft.yaml", std::string("per_device_train_batch_size: 2\nchat_template: \"") + text +
                        "\"\ngradient_checkpointing_kwargs:\n"
                        "  use_reentrant: false\n");
    EXPECT_EQ(config.format, ConfigFormat::kHuggingFace) << text;
    EXPECT_TRUE(config.unknown.empty()) << text;
  }
}

TEST(TrlCommandTest, TheFrameworkThatIsGivenDecides) {
  const TrainerFolder folder;
  const std::string script = "python train.py --learning_rate 1e-4 --bf16 --max_steps 10\n";
  EXPECT_EQ(folder.Script(script, "huggingface").format, ConfigFormat::kHuggingFace);
  EXPECT_NE(folder.Refusal(script).find("--framework names"), std::string::npos);
  const std::string yaml = "bf16: true\nmax_steps: 10\ngradient_accumulation_steps: 2\n";
  const UserConfig config = folder.Read("train.yaml", yaml, "huggingface");
  EXPECT_EQ(config.format, ConfigFormat::kHuggingFace);
  EXPECT_TRUE(config.Has(Field::kAccumulation));
  EXPECT_EQ(folder.Read("a.json", "{\"bf16\": true}", "huggingface").format,
            ConfigFormat::kHuggingFace);
  EXPECT_NE(folder.Refusal("python train.py --other 3\n", "huggingface")
                .find("arguments of Hugging Face Trainer"),
            std::string::npos);
}

// Batches have a default, so that no argument need say them.
TEST(TrlCommandTest, ArgumentsWithoutABatchAreKnown) {
  const TrainerFolder folder;
  EXPECT_EQ(folder.Read("sft.yaml", "model_name_or_path: x\ndataset_name: y\n").format,
            ConfigFormat::kHuggingFace);
  EXPECT_EQ(folder.Script("python t.py --model_name_or_path x --num_train_epochs 1\n").format,
            ConfigFormat::kHuggingFace);
  EXPECT_EQ(folder.Script(kBare).format, ConfigFormat::kHuggingFace);
}

TEST(TrlCommandTest, SftHasTrlsDefaults) {
  const TrainerFolder folder;
  const UserRun run =
      folder.RunScript("trl sft --bf16 --per_device_train_batch_size 2 --num_processes 4\n");
  EXPECT_EQ(run.seq_length, 1024);
  const UserRun bare = folder.RunScript("trl sft --num_processes 4 --max_steps 5\n");
  EXPECT_EQ(bare.job.training().precision(), v1::PRECISION_BF16);
  EXPECT_TRUE(Assumes(bare, "precision: bf16, TRL's default"));
  EXPECT_EQ(run.recompute.kind, Recompute::Kind::kEvery);
  EXPECT_EQ(run.job.cluster().pools(0).gpu_count(), 4);
  EXPECT_TRUE(folder.Read("sft.yaml", "per_device_train_batch_size: 2\nuse_peft: true\n").trl);
  EXPECT_FALSE(folder.Script("python t.py --per_device_train_batch_size 2 --bf16\n").trl);
  EXPECT_FALSE(folder.Script("trl sft --max_seq_length 512 --per_device_train_batch_size 2\n").trl)
      << "releases before 0.20";
}

TEST(TrlCommandTest, OtherMethodsAreRefused) {
  const TrainerFolder folder;
  for (const char* const command :
       {"trl dpo", "trl grpo", "trl kto", "trl reward", "accelerate launch scripts/dpo.py",
        "python scripts/run_orpo.py", "accelerate launch examples/scripts/dpo_vlm.py",
        "python grpo_agent.py", "python gspo_vlm.py", "torchrun -m trl.scripts.grpo"}) {
    const std::string refusal =
        folder.Refusal(std::string(command) + " --per_device_train_batch_size 2 --bf16\n");
    EXPECT_NE(refusal.find("run.sh:1: "), std::string::npos) << command;
    EXPECT_NE(refusal.find("a loss with a reference"), std::string::npos) << command;
  }
}

// Programs of TRL have its defaults under every launcher.
TEST(TrlCommandTest, ProgramsAreKnownByTheirNames) {
  const TrainerFolder folder;
  const std::string arguments = " --model_name_or_path x --output_dir o --num_train_epochs 1\n";
  for (const char* const program : {"trl/scripts/sft.py", "examples/scripts/sft_vlm.py",
                                    "scripts/run_sft.py", "-m trl.scripts.sft"}) {
    const UserRun run =
        folder.RunScript(std::string("torchrun --nproc_per_node 8 ") + program + arguments);
    EXPECT_EQ(run.seq_length, 1024) << program;
    EXPECT_EQ(run.recompute.kind, Recompute::Kind::kEvery) << program;
    EXPECT_EQ(run.job.training().precision(), v1::PRECISION_BF16) << program;
  }
  EXPECT_FALSE(folder.Script("torchrun train.py" + arguments).trl);
  EXPECT_FALSE(folder
                   .Script("torchrun swift/cli/sft.py --per_device_train_batch_size 2 --bf16 "
                           "--model x\n")
                   .trl)
      << "another project's";
}

TEST(TrlCommandTest, SwitchesMayBeNegated) {
  const TrainerFolder folder;
  for (const char* const off : {"--no_gradient_checkpointing", "--no-gradient-checkpointing"}) {
    const UserConfig config =
        folder.Script(std::string("trl sft --num_processes 8 --bf16 ") + off + "\n");
    EXPECT_FALSE(config.On(Field::kRecompute, true)) << off;
    EXPECT_TRUE(config.unknown.empty()) << off;
  }
  EXPECT_EQ(folder.Script("trl sft --bf16 --no_such_thing\n").unknown.size(), 1u);
}

// HfArgumentParser takes a JSON, alignment-handbook's parser a YAML, without --config.
TEST(TrlCommandTest, TheFileOfArgumentsMayStandAlone) {
  const TrainerFolder folder;
  const std::string launcher = "accelerate launch --num_processes 8 scripts/run_sft.py ";
  EXPECT_NE(folder.Refusal(launcher + "recipes/full.yaml --load_in_4bit=true\n")
                .find("run.sh:1: config recipes/full.yaml: there is no file recipes/full.yaml in"),
            std::string::npos);
  folder.Write("full.yaml",
               "model_name_or_path: x\nper_device_train_batch_size: 3\nmax_length: 512\n");
  const UserRun yaml = folder.RunScript(launcher + "full.yaml --bf16\n");
  EXPECT_EQ(yaml.micro_batch, 3);
  EXPECT_EQ(yaml.seq_length, 512);
  folder.Write("args.json",
               "{\"model_name_or_path\": \"x\", \"per_device_train_batch_size\": 5, "
               "\"bf16\": true, \"block_size\": 512}");
  EXPECT_EQ(folder.RunScript("torchrun --nproc_per_node 8 run_clm.py args.json\n").micro_batch, 5);
  EXPECT_EQ(folder.RunScript("torchrun --nproc_per_node 8 -m run_clm args.json\n").micro_batch, 5);
}

TEST(TrlCommandTest, OneOfSeveralCommandsIsNoted) {
  const TrainerFolder folder;
  const std::string train =
      "deepspeed --num_gpus 8 t.py --model_name_or_path x --bf16 --output_dir o ";
  EXPECT_TRUE(folder.Script(train + "\n").notes.empty());
  const UserConfig two = folder.Script(train + "\n" + train + "--max_steps 5\n");
  ASSERT_EQ(two.notes.size(), 1u);
  EXPECT_NE(two.notes[0].find("Of 2 commands that train, the one in line 2"), std::string::npos);
  const UserConfig shown = folder.Script("CMD='" + train + "'\necho $CMD\necho --x\neval $CMD\n");
  EXPECT_TRUE(shown.notes.empty()) << "that a command is printed is no command";
  const std::string megatron = "torchrun p.py --num-layers 4 --hidden-size 8 ";
  const UserConfig both = folder.Script(megatron + "--bf16\n" + megatron + "\n");
  ASSERT_EQ(both.notes.size(), 1u);
  EXPECT_NE(both.notes[0].find("Of 2 commands that train, the one in line 1"), std::string::npos);
  const std::string arguments =
      "--num-layers 4 --hidden-size 8\n--bf16 --seq-length 8\n--micro-batch-size 1 "
      "--global-batch-size 8\n";
  EXPECT_TRUE(folder.Script(arguments).notes.empty()) << "lines of a file of arguments are one";
  const UserConfig mixed = folder.Script(arguments + megatron + "--bf16\n");
  ASSERT_EQ(mixed.notes.size(), 1u);
  EXPECT_NE(mixed.notes[0].find("Of 2 commands that train, the one in line 1"), std::string::npos);
}

TEST(TrlCommandTest, AdviceIsWrittenAsTheArgumentsAre) {
  const TrainerFolder folder;
  const std::string advice =
      "\"per_device_train_batch_size\": 4, \"gradient_accumulation_steps\": 2";
  const auto written = [&](const UserConfig& config) { return InSyntax(config.syntax, advice); };
  EXPECT_EQ(written(folder.Read("a.json", "{\"per_device_train_batch_size\": 2}")), advice);
  EXPECT_EQ(written(folder.Read("a.yaml", "per_device_train_batch_size: 2\n")),
            "per_device_train_batch_size: 4\ngradient_accumulation_steps: 2");
  EXPECT_EQ(written(folder.Script("trl sft --per_device_train_batch_size 2\n")),
            "--per_device_train_batch_size 4 --gradient_accumulation_steps 2");
  EXPECT_EQ(InSyntax(Syntax::kScript, "\"gradient_checkpointing\": false, and no other"),
            "--gradient_checkpointing false and no other");
  EXPECT_EQ(InSyntax(Syntax::kScript, "in \"fsdp_config\", \"activation_checkpointing\": true"),
            "in \"fsdp_config\", \"activation_checkpointing\": true")
      << "of a file";
}

TEST(TrlCommandTest, ProfilesOfAccelerate) {
  const TrainerFolder folder;
  const auto run = [&](const std::string& options) {
    return folder.RunScript(kBare + (" " + options + "\n"));
  };
  const auto stage = [&](const std::string& profile) {
    return run("--accelerate_config " + profile + " --num_processes 4").job.training().zero_stage();
  };
  EXPECT_EQ(stage("zero1"), v1::ZERO_STAGE_1);
  EXPECT_EQ(stage("zero2"), v1::ZERO_STAGE_2);
  EXPECT_EQ(stage("zero3"), v1::ZERO_STAGE_3);
  EXPECT_EQ(stage("multi_gpu"), v1::ZERO_STAGE_0);
  EXPECT_EQ(run("--accelerate_config=fsdp1").job.training().trainer().name(), "pytorch-fsdp");
  EXPECT_EQ(run("--accelerate_config fsdp2").job.training().trainer().name(), "pytorch-fsdp");
  EXPECT_EQ(run("--accelerate_config zero3").job.cluster().pools(0).gpu_count(), 8);
  EXPECT_EQ(run("--accelerate_config zero3 --num_processes 4").job.cluster().pools(0).gpu_count(),
            4);
  EXPECT_EQ(run("--accelerate_config multi_gpu").job.cluster().pools(0).gpu_count(), 8);
  EXPECT_EQ(run("--accelerate_config single_gpu").job.cluster().pools(0).gpu_count(), 1);
  EXPECT_NE(folder.Refusal(kBare + std::string(" --accelerate_config zero9\n"))
                .find("there is no file zero9"),
            std::string::npos);
  // A file comes before a profile.
  folder.Write("own.yaml",
               "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 1\n"
               "num_processes: 2\n");
  EXPECT_EQ(run("--accelerate_config own.yaml").job.cluster().pools(0).gpu_count(), 2);
  folder.Write("none.yaml",
               "model_name_or_path: x\nuse_peft: false\naccelerate_config: []\nnum_processes: 2\n");
  EXPECT_EQ(folder.Run({"none.yaml"}).job.training().zero_stage(), v1::ZERO_STAGE_0) << "no engine";
  EXPECT_FALSE(folder
                   .Read("none.yaml",
                         "model_name_or_path: x\ndataset_name: y\n"
                         "accelerate_config: []\nnum_processes: 2\n")
                   .uses_deepspeed);
  // The file of arguments may name it, too.
  folder.Write("sft.yaml",
               "model_name_or_path: x\ndataset_name: y\naccelerate_config: zero1\n"
               "num_processes: 2\nmax_length: null\nmodel_max_length: 4096\n");
  for (const UserRun& both :
       {folder.Run({"sft.yaml"}), folder.RunScript("trl sft --config sft.yaml\n")}) {
    EXPECT_EQ(both.job.training().zero_stage(), v1::ZERO_STAGE_1);
    EXPECT_EQ(both.job.cluster().pools(0).gpu_count(), 2);
    EXPECT_EQ(both.seq_length, 4096) << "max_length is null";
  }
  EXPECT_TRUE(folder.Script("trl sft --config sft.yaml\n").unknown.empty());
}

// Scripts in subfolders name files as seen from the folder of the project.
TEST(TrlCommandTest, NamedFilesMayBeInAFolderAbove) {
  const TrainerFolder folder;
  std::filesystem::create_directories(folder.Path("scripts/v1_5"));
  folder.Write("scripts/zero3.json", "{\"zero_optimization\": {\"stage\": 3}}");
  const std::string arguments = " --per_device_train_batch_size 2 --bf16 --model_max_length 512\n";
  folder.Write("scripts/v1_5/finetune.sh",
               "deepspeed --num_gpus 8 train.py --deepspeed ./scripts/zero3.json" + arguments);
  EXPECT_EQ(folder.Run({"scripts/v1_5/finetune.sh"}).job.training().zero_stage(), v1::ZERO_STAGE_3);
  const std::string refusal =
      folder.Refusal("deepspeed --num_gpus 8 train.py --deepspeed zero9.json" + arguments);
  EXPECT_NE(refusal.find("there is no file zero9.json in "), std::string::npos);
  EXPECT_NE(refusal.find(std::filesystem::current_path().string()), std::string::npos);
  EXPECT_NE(folder.Refusal("deepspeed --num_gpus 8 train.py --deepspeed" + arguments)
                .find("deepspeed true: names no file"),
            std::string::npos);
}

TEST(TrlCommandTest, AMissingFileOfArgumentsIsNamed) {
  const TrainerFolder folder;
  for (const char* const command : {"trl sft", "accelerate launch sft.py", "python sft.py"})
    EXPECT_NE(folder.Refusal(std::string(command) + " --config none.yaml\n")
                  .find("run.sh:1: config none.yaml: there is no file"),
              std::string::npos)
        << command;
}

TEST(TrlCommandTest, ArgumentsOfTheScriptAreNoValues) {
  const TrainerFolder folder;
  for (const char* const rest : {"\"$@\"", "$@", "$*", "\"${@:2}\""})
    EXPECT_EQ(folder
                  .RunScript("torchrun --nproc_per_node 8 t.py --per_device_train_batch_size 2 "
                             "--bf16 --model_max_length 512 --gradient_checkpointing " +
                             std::string(rest) + "\n")
                  .recompute.kind,
              Recompute::Kind::kEvery)
        << rest;
}

}  // namespace
}  // namespace evenkeel::cli
