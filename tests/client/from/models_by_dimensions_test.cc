// Tests which model of the catalogue is taken where a Megatron script gives dimensions alone.
#include <gtest/gtest.h>

#include <string>

#include "client/cli/from/read/read_config.h"
#include "client/cli/from/run/run_of.h"
#include "client/cli/from/run/user_run.h"

namespace evenkeel::cli {
namespace {

constexpr char kDense[] =
    "torchrun --nproc_per_node 8 pretrain_gpt.py --swiglu --normalization RMSNorm "
    "--untie-embeddings-and-output-weights --group-query-attention --num-query-groups 8 "
    "--seq-length 4096 --micro-batch-size 1 --global-batch-size 256 --bf16 "
    "--use-distributed-optimizer --disable-bias-linear --num-attention-heads 32 ";
constexpr char kEightB[] =  // of Llama 3, and of Mistral
    "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 ";

v1::Model ModelIn(const std::string& more) {
  JobFlags flags;
  flags.gpu = "h100-sxm-80gb";
  flags.gpus = {8};
  return RunOf(ReadConfigText(kDense + more, "run.sh"), flags).job.model();
}

TEST(ModelsByDimensionsTest, ModelsThatHuggingFacePublishesCountToo) {
  const v1::Model model = ModelIn(
      "--num-layers 36 --hidden-size 4096 --ffn-hidden-size 12288 --kv-channels 128 "
      "--qk-layernorm");
  EXPECT_EQ(model.language_model().catalog_name(), "qwen3-8b");
  EXPECT_EQ(model.name(), "qwen3-8b (as described)");
  EXPECT_EQ(model.language_model().vocabulary_size(), 0) << "its own";
}

TEST(ModelsByDimensionsTest, TheTokenizerTellsModelsOfEqualDimensionsApart) {
  const std::string either = ModelIn(kEightB).name();
  EXPECT_NE(either.find("--model says which"), std::string::npos) << either;
  EXPECT_NE(either.find("mistral"), std::string::npos) << either;
  for (const char* const tokenizer :
       {"mistralai/Mistral-7B-v0.3", "/models/Mistral-7B-v0.3", "mistral-7b-v0.3"}) {
    const v1::Model model = ModelIn(std::string(kEightB) + "--tokenizer-model " + tokenizer);
    EXPECT_EQ(model.name(), "mistral-7b-v0.3 (as described)") << tokenizer;
  }
  EXPECT_EQ(ModelIn(std::string(kEightB) + "--tokenizer-model meta-llama/Meta-Llama-3-8B").name(),
            "llama3-8b (as described)");
}

TEST(ModelsByDimensionsTest, TheTokenizerOfAnotherModelGivesItsVocabulary) {
  const std::string tokenizer = "--tokenizer-model Qwen/Qwen3-8B";
  const v1::Model known = ModelIn(kEightB + tokenizer);
  EXPECT_EQ(known.language_model().vocabulary_size(), 151936);
  const v1::Model own =
      ModelIn("--num-layers 12 --hidden-size 4096 --ffn-hidden-size 14336 " + tokenizer);
  EXPECT_EQ(own.name(), "the described model");
  EXPECT_EQ(own.language_model().vocabulary_size(), 151936);
}

TEST(ModelsByDimensionsTest, ThePathOfAnUnknownTokenizerSaysNothing) {
  const std::string name = ModelIn(std::string(kEightB) + "--tokenizer-model /data/tok").name();
  EXPECT_NE(name.find("--model says which"), std::string::npos) << name;
}

}  // namespace
}  // namespace evenkeel::cli
