// Tests how Hugging Face's arguments change the data.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "client/cli/base/command_error.h"
#include "client/cli/from/run/request_of.h"
#include "client/cli/from/run/run_of.h"
#include "client/cli/from/run/user_run.h"
#include "tests/client/trainer_runs.h"

namespace evenkeel::cli {
namespace {

// Samples of 500, 1500 and 3000 tokens, with `more` in each.
JobFlags FlagsWithLengths(const std::string& more = "") {
  const std::string path = testing::TempDir() + "/evenkeel_lengths.json";
  std::ofstream file(path);
  file << "[";
  for (const char* const tokens : {"500", "1500", "3000"})
    file << (std::string(tokens) == "500" ? "" : ", ") << "{\"llm_tokens\": " << tokens << more
         << "}";
  file << "]";
  file.close();
  JobFlags flags;
  flags.datasets = {path};
  return flags;
}

int64_t Longest(const UserRun& run) {
  int64_t longest = 0;
  for (const int64_t tokens : run.job.dataset().histogram().llm_tokens())
    longest = std::max(longest, tokens);
  return longest;
}

TEST(HuggingFaceDataTest, LongerSamplesAreCut) {
  const auto longest = [](const std::string& more) {
    return Longest(TrainerRun({ArgumentsWith(more)}, FlagsWithLengths()));
  };
  EXPECT_EQ(longest(""), 3000);
  EXPECT_EQ(longest(", \"max_length\": 2000"), 2000);
  EXPECT_EQ(longest(", \"max_seq_length\": 1000"), 1000);
  EXPECT_EQ(longest(", \"model_max_length\": 700"), 700);
  EXPECT_EQ(longest(", \"max_length\": 2000, \"model_max_length\": 700"), 700);
  EXPECT_EQ(longest(", \"max_length\": 1000, \"max_seq_length\": 2000"), 2000);
  EXPECT_EQ(longest(", \"max_length\": 4096"), 3000);
  const UserRun run = TrainerRun({ArgumentsWith(", \"max_length\": 1000")}, FlagsWithLengths());
  EXPECT_TRUE(Assumes(run, "2 longer samples are cut to 1000 tokens"));
  EXPECT_EQ(run.job.dataset().histogram().llm_tokens(0), 500);
}

// As max_steps, -1 is the default of TrainingArguments. As a length it is none.
TEST(HuggingFaceDataTest, MinusOneIsNoLength) {
  for (const char* key : {"max_length", "max_seq_length", "model_max_length", "block_size",
                          "pad_to_multiple_of", "lora_r", "num_train_epochs"})
    EXPECT_EQ(RefusalOf({ArgumentsWith(std::string(", \"") + key + "\": -1")}),
              std::string("args.json:1: ") + key +
                  " -1: -1 does not stand for the default here: leave it out for that");
  EXPECT_EQ(RefusalOf({ArgumentsWith(", \"max_steps\": -1, \"local_rank\": -1, "
                                     "\"past_index\": -1, \"save_steps\": -1")}),
            "");
}

TEST(HuggingFaceDataTest, StepsOfTooManySamplesAreRefused) {
  const std::string refusal =
      RefusalOf({"{\"per_device_train_batch_size\": 1000000, "
                 "\"gradient_accumulation_steps\": 1000000, \"bf16\": true}"});
  EXPECT_NE(refusal.find("more than 10000000 samples"), std::string::npos) << refusal;
}

TEST(HuggingFaceDataTest, SamplesWithImagesAreNotCut) {
  const JobFlags flags = FlagsWithLengths(", \"units\": 1");
  EXPECT_NE(RefusalOf({ArgumentsWith(", \"max_length\": 1000")}, flags).find("max_length 1000"),
            std::string::npos);
  EXPECT_EQ(RefusalOf({ArgumentsWith(", \"max_length\": 3000")}, flags), "");
}

// TRL's arguments have other defaults than transformers'.
TEST(HuggingFaceDataTest, DefaultsOfTrl) {
  const std::string bare = "{\"per_device_train_batch_size\": 2, \"dataset_text_field\": \"text\"";
  const UserRun run = TrainerRun({bare + "}"}, FlagsWithLengths());
  EXPECT_EQ(Longest(run), 1024);
  EXPECT_TRUE(Assumes(run, "cut to 1024 tokens, TRL's default"));
  EXPECT_EQ(run.job.training().precision(), v1::PRECISION_BF16);
  EXPECT_EQ(run.recompute.kind, Recompute::Kind::kEvery);
  const UserRun said = TrainerRun({bare + ", \"max_length\": null, \"fp16\": true, "
                                          "\"gradient_checkpointing\": false}"},
                                  FlagsWithLengths());
  EXPECT_EQ(Longest(said), 3000);
  EXPECT_EQ(said.job.training().precision(), v1::PRECISION_FP16);
  EXPECT_EQ(said.recompute.kind, Recompute::Kind::kNone);
  // Releases with max_seq_length have the defaults of transformers.
  EXPECT_NE(RefusalOf({bare + ", \"max_seq_length\": 512}"}).find("fp32"), std::string::npos);
}

// A micro-batch is as many packs of max_length tokens as it would be samples.
TEST(HuggingFaceDataTest, PacksOfTrl) {
  JobFlags flags = FlagsWithLengths();
  flags.token_cap = 0;  // none
  const auto run = [&](const std::string& more) {
    return TrainerRun({ArgumentsWith(", \"packing\": true, \"max_length\": 1000" + more)}, flags);
  };
  const auto lengths = [](const UserRun& packed) {
    const auto& tokens = packed.job.dataset().histogram().llm_tokens();
    return std::vector<int64_t>(tokens.begin(), tokens.end());
  };
  const UserRun whole = run(", \"padding_free\": true");
  EXPECT_FALSE(whole.padded);
  EXPECT_EQ(whole.job.training().micro_batch_samples(), 0);
  EXPECT_EQ(whole.sequences, 64);
  EXPECT_EQ(lengths(whole), (std::vector<int64_t>{500, 1000, 1000}));
  const v1::EvaluatePlanRequest request =
      RequestOf(whole, ModelLayers(32, v1::LAYER_KIND_DENSE), /*evaluate_only=*/false);
  EXPECT_EQ(request.plan().batch_rule().token_cap(), 4000);
  EXPECT_FALSE(whole.fixed_lengths);
  // 500, 1000 + 500, 3 x 1000
  const UserRun split = run(", \"packing_strategy\": \"bfd_split\"");
  EXPECT_EQ(lengths(split), (std::vector<int64_t>{500, 1000}));
  EXPECT_EQ(split.job.dataset().histogram().sample_count(0), 2);
  EXPECT_EQ(split.job.dataset().histogram().sample_count(1), 4);
  const UserRun joined = run(", \"packing_strategy\": \"wrapped\"");
  EXPECT_EQ(lengths(joined), (std::vector<int64_t>{1000}));
  EXPECT_EQ(joined.job.dataset().histogram().sample_count(0), 5);
  EXPECT_TRUE(joined.fixed_lengths);
  EXPECT_TRUE(Assumes(joined, "does not keep apart"));
  // They stay the caller's for a model with encoders, too.
  UserRun seeing = joined;
  ModelLayers layers(4, v1::LAYER_KIND_ENCODER);
  layers.insert(layers.end(), 32, v1::LAYER_KIND_DENSE);
  AdaptToLayers(layers, &seeing);
  EXPECT_EQ(lengths(seeing), (std::vector<int64_t>{1000}));
  const std::string old = ArgumentsWith(", \"packing\": true, \"max_seq_length\": 1000");
  EXPECT_EQ(lengths(TrainerRun({old}, flags)), (std::vector<int64_t>{1000}));
  EXPECT_NE(RefusalOf({ArgumentsWith(", \"packing\": true, \"max_length\": null")}, flags)
                .find("packing true: needs max_length"),
            std::string::npos);
  EXPECT_NE(RefusalOf({ArgumentsWith(", \"packing\": true, \"packing_strategy\": \"new\"")}, flags)
                .find("not yet: bfd, ffd, bfd_split or wrapped"),
            std::string::npos);
}

// A job file may hold a histogram that no flag would make.
TEST(HuggingFaceDataTest, HistogramsThatCannotBeCutAreRefused) {
  const auto refusal = [](const std::string& histogram, const std::string& strategy) {
    JobFlags flags;
    flags.job_file = testing::TempDir() + "/evenkeel_job.json";
    std::ofstream(flags.job_file) << "{\"dataset\": {\"histogram\": {" << histogram << "}}}";
    return RefusalOf({ArgumentsWith(", \"packing\": true, \"max_length\": 1000, "
                                    "\"packing_strategy\": \"" +
                                    strategy + "\"")},
                     flags);
  };
  const std::string large = "\"llm_tokens\": [4000000000000], \"sample_count\": [8000000000]";
  for (const char* const strategy : {"wrapped", "bfd_split", "bfd"})
    EXPECT_NE(refusal("\"llm_tokens\": [500, 3000]", strategy).find("2 llm_tokens and 0"),
              std::string::npos)
        << strategy;
  for (const char* const strategy : {"wrapped", "bfd_split"})
    EXPECT_NE(refusal(large, strategy).find("too many tokens"), std::string::npos) << strategy;
  const std::string many =
      "\"llm_tokens\": [4000, 5000], \"sample_count\": [9000000000000000000, "
      "9000000000000000000]";
  EXPECT_NE(refusal(many, "bfd").find("too many tokens"), std::string::npos);
  for (const char* const strategy : {"wrapped", "bfd_split", "bfd"}) {
    EXPECT_NE(refusal("\"llm_tokens\": [-5], \"sample_count\": [1]", strategy).find("below 0"),
              std::string::npos)
        << strategy;
    EXPECT_NE(refusal("\"llm_tokens\": [5], \"sample_count\": [-1]", strategy).find("below 0"),
              std::string::npos)
        << strategy;
  }
}

TEST(HuggingFaceDataTest, PaddingIsAMultiple) {
  const auto multiple = [](const std::string& more) {
    return TrainerRun({ArgumentsWith(", \"max_length\": 2048" + more)})
        .job.training()
        .padding()
        .multiple();
  };
  EXPECT_EQ(multiple(", \"pad_to_multiple_of\": 8"), 8);
  EXPECT_EQ(multiple(", \"pad_to_multiple_of\": \"auto\""), 0);
  EXPECT_EQ(multiple(", \"pad_to_multiple_of\": null"), 0);
}

TEST(HuggingFaceDataTest, WithoutDataEverySampleIsTheLongest) {
  JobFlags flags;
  flags.token_cap = 0;  // none
  const UserRun run = TrainerRun({ArgumentsWith(", \"max_length\": 2048")}, flags);
  EXPECT_EQ(run.seq_length, 2048);
  EXPECT_TRUE(Assumes(run, "each of exactly 2048 tokens, which no sample exceeds"));
  EXPECT_NE(RefusalOf({ArgumentsWith("")}, flags).find("--token-cap"), std::string::npos);
  // Blocks are cut from one text, independently of its samples.
  EXPECT_EQ(TrainerRun({ArgumentsWith(", \"block_size\": 1024")}, flags).seq_length, 1024);
  EXPECT_NE(RefusalOf({ArgumentsWith(", \"block_size\": 1024")}, FlagsWithLengths()).find("block"),
            std::string::npos);
}

}  // namespace
}  // namespace evenkeel::cli
