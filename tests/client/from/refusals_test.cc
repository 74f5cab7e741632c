// Tests what is refused as it is read, and that each refusal names the setting and what is
// accepted.
#include <gtest/gtest.h>

#include <string>

#include "client/cli/base/command_error.h"
#include "client/cli/from/read/read_config.h"
#include "client/cli/from/settings/setting.h"
#include "tests/client/trainer_runs.h"

namespace evenkeel::cli {
namespace {

// Returns why such a script of `launch` for DeepSpeed is refused.
std::string PartsRefusal(const std::string& parts) {
  return ReadingRefusal(
      "cat > ds_config.json <<'END'\n{\"train_micro_batch_size_per_gpu\": 1}\nEND\n"
      "cat > evenkeel_pipeline.py <<'END'\nPARTS = " +
          parts + "\nEND\ndeepspeed --num_gpus 8 train.py\n",
      "run.sh");
}

TEST(RefusalsTest, BoundsOfStages) {
  EXPECT_EQ(PartsRefusal("[0, 18, 34]"), "");
  EXPECT_EQ(PartsRefusal("[0, 34]"), "");
  const std::string accepted =
      ": must be two or more numbers that ascend from 0, such as [0, 18, 34]: where each stage "
      "begins in the list of all layers, and where the last one ends";
  EXPECT_EQ(PartsRefusal("[]"), "run.sh:5: PARTS" + accepted);
  EXPECT_EQ(PartsRefusal("[34]"), "run.sh:5: PARTS 34" + accepted);
  EXPECT_EQ(PartsRefusal("[0]"), "run.sh:5: PARTS 0" + accepted);
  EXPECT_EQ(PartsRefusal("[5, 18, 34]"), "run.sh:5: PARTS 5 18 34" + accepted);
  EXPECT_EQ(PartsRefusal("[0, 18, 18]"), "run.sh:5: PARTS 0 18 18" + accepted);
  EXPECT_EQ(PartsRefusal("[0, 34, 18]"), "run.sh:5: PARTS 0 34 18" + accepted);
}

TEST(RefusalsTest, AllVariablesThatAreNotSetAreNamedAtOnce) {
  const auto refusal = [](Field field, bool whole) -> std::string {
    const UserConfig config = ReadConfigText(
        "MODEL_ARGS:\n  --tensor-model-parallel-size: ${TP}\n  --save: ${OUTPUT}/checkpoints\n"
        "  --pipeline-model-parallel-size: ${PP}\n  --moe-grouped-gemm: ${GROUPED}\n"
        "  --micro-batch-size: ${TP}\n",
        "zoo.yaml");
    try {
      if (whole) {
        config.Int(field, 1, 1, 64);
      } else {
        config.On(field);
      }
    } catch (const CommandError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(Field::kTensor, true),
            "zoo.yaml:2: MODEL_ARGS.--tensor-model-parallel-size ${TP}: the file does not say what "
            "${TP} is, nor what ${PP}, ${GROUPED} are: write the numbers, or give the variables or "
            "arguments by --env NAME=VALUE; --env TP= says that it is empty");
  EXPECT_NE(refusal(Field::kGroupedExperts, false)
                .find("${GROUPED}: the file does not say what ${GROUPED} is, nor what ${TP}, ${PP} "
                      "are"),
            std::string::npos);
}

TEST(RefusalsTest, UnknownFilesAreToldWhatIsAccepted) {
  const std::string accepted =
      "; accepted are shell scripts, files of arguments, YAML, JSON and TOML of Megatron-LM, "
      "FlagScale, Megatron-Bridge, DeepSpeed, torchtitan or Hugging Face Trainer; --framework "
      "megatron|flagscale|megatron-bridge|deepspeed|torchtitan|huggingface says which, where the "
      "content does not";
  EXPECT_EQ(ReadingRefusal("args = TrainingArguments(output_dir=\"out\", bf16=True)\n", "ta.py"),
            "ta.py: of Python, only what `launch` wrote for torchtitan is read: give the arguments "
            "that the program passes to its trainer as JSON or YAML, or the command that runs it" +
                accepted);
  EXPECT_EQ(ReadingRefusal("[1,2]\n", "list.json"),
            "list.json: a configuration is an object of keys, not a list or a word" + accepted);
  EXPECT_EQ(ReadingRefusal(std::string("\x7f"
                                       "ELF\0: \"\\q\"",
                                       10),
                           "program"),
            "program is no text" + accepted);
  EXPECT_EQ(ReadingRefusal("hello: world\n", "h.yaml"),
            "h.yaml: nothing in it is a setting of a trainer that is read" + accepted);
  EXPECT_EQ(ReadingRefusal("Dear reader,\n", "letter.txt"),
            "letter.txt:1: a configuration is a map of keys, not a word" + accepted);
  EXPECT_EQ(ReadingRefusal("a: [\n", "a.yaml").find("accepted"), std::string::npos)
      << "the name says the format";
}

}  // namespace
}  // namespace evenkeel::cli
