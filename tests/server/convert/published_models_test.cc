#include "server/convert/config/published_models.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>

#include "planner/catalog/catalog.h"
#include "planner/model/parameters.h"
#include "server/convert/model/model_name.h"

namespace evenkeel::server {
namespace {

// Counts of the weights, as the ids publish them; without the layers for multi-token prediction,
// and a tied head once.
const std::map<std::string, int64_t>& Published() {
  static const std::map<std::string, int64_t> counts = {
      {"llama3.2-1b", 1'235'814'400},
      {"mistral-7b", 7'241'732'096},
      {"mistral-7b-v0.3", 7'248'023'552},
      {"gemma-2-9b", 9'241'705'984},
      {"gemma-2-27b", 27'227'128'320},
      {"gemma-3-1b", 999'885'952},
      {"gemma-3-4b", 4'300'079'472},
      {"gemma-3-12b", 12'187'325'040},
      {"gemma-3-27b", 27'432'406'640},
      {"phi-4", 14'659'507'200},
      {"smollm3-3b", 3'075'098'624},
      {"olmo-2-7b", 7'298'617'344},
      {"qwen3-8b", 8'190'735'360},
      {"qwen3-14b", 14'768'307'200},
      {"qwen3-32b", 32'762'123'264},
      {"qwen3-coder-480b-a35b", 480'154'875'392},
      {"qwen2.5-vl-3b", 3'754'622'976},
      {"qwen2.5-vl-7b", 8'292'166'656},
      {"qwen2.5-vl-72b", 73'410'777'344},
      {"qwen3-vl-235b-a22b", 235'670'022'896},
      {"qwen3-vl-8b", 8'767'123'696},
      {"qwen2-vl-2b", 2'208'985'600},
      {"qwen2-vl-7b", 8'291'375'616},
      {"qwen2-vl-72b", 73'405'560'320},
      {"qwen2.5-vl-32b", 33'452'718'336},
      {"mistral-nemo-12b", 12'247'782'400},
      {"mistral-small-24b", 23'572'403'200},
      {"phi-3-mini", 3'821'079'552},
      {"phi-4-mini", 3'836'021'760},
      {"deepseek-v2-lite", 15'706'484'224},
      {"gemma-2b", 2'506'172'416},
      {"gemma-7b", 8'537'680'896},
      {"gemma-2-2b", 2'614'341'888},
      {"internvl3-8b", 7'944'373'760},
      {"internvl3.5-8b", 8'528'318'464},
      {"qwen3-next-80b-a3b", 79'674'391'296},
      {"llama3.2-11b-vision", 10'670'220'835},
      {"gpt-oss-120b", 116'829'156'672},
      {"nemotron-3-nano-30b-a3b", 31'577'937'344}};
  return counts;
}

TEST(PublishedModelsTest, AllAreReadUnderNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const PublishedModel& model : PublishedModels()) {
    EXPECT_TRUE(names.insert(model.name).second) << model.name;
    EXPECT_TRUE(names.insert(model.id).second) << model.id;
    EXPECT_EQ(planner::FindLanguageModel(model.name), nullptr) << model.name;
    EXPECT_GT(planner::CountParameters(model.spec), 500'000'000) << model.name;
    EXPECT_EQ(FindPublishedModel(model.id), &model);
  }
  for (const auto& [name, count] : Published()) {
    const PublishedModel* model = FindPublishedModel(name);
    ASSERT_NE(model, nullptr) << name;
    EXPECT_EQ(planner::CountParameters(model->spec), count) << name;
  }
}

TEST(PublishedModelsTest, NamesInAnyCaseAndNearOnes) {
  ViolationSink sink(10);
  planner::ModelSpec model;
  std::string source;
  EXPECT_TRUE(ModelByName("Qwen/Qwen3-8B", FieldPath("name"), sink, &model, &source));
  EXPECT_EQ(model.name, "qwen3-8b");
  EXPECT_EQ(source, "config.json of huggingface.co/qwen/qwen3-8b");
  EXPECT_TRUE(IsCatalogModelName("qwen3-vl-4b"));
  EXPECT_TRUE(ModelByName("Qwen/Qwen3-VL-4B-Thinking", FieldPath("name"), sink, &model, &source));
  EXPECT_FALSE(IsCatalogModelName("Qwen/Qwen3-VL-4B-Thinking")) << "a label of a described model";
  const std::pair<const char*, const char*> variants[] = {
      {"meta-llama/Llama-3.1-8B-Instruct", "llama3-8b"},
      {"Qwen/Qwen2.5-7B-Instruct", "qwen2-7b"},
      {"Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3-30b-a3b"},
      {"mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3"},
      {"google/gemma-3-27b-it", "gemma-3-27b"},
      {"gemma-3-27b", "gemma-3-27b"},
      {"deepseek-ai/DeepSeek-V3-Base", "deepseek-v3-671b"},
      {"Qwen/Qwen2.5-VL-7B-Instruct", "qwen2.5-vl-7b"},
      {"NousResearch/Meta-Llama-3-8B", "llama3-8b"},  // mirrors, and a local copy
      {"NousResearch/Llama-2-7b-hf", "llama2-7b"},
      {"unsloth/llama-3-8b-Instruct", "llama3-8b"},
      {"/models/Qwen3-8B/", "qwen3-8b"},
      {"unsloth/gpt-oss-20b-BF16", "gpt-oss-20b"},
      {"deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "llama3-8b"},  // trained from another one
      {"mistralai/Devstral-Small-2507", "mistral-small-24b"},
      {"Qwen/Qwen2.5-Coder-32B-Instruct", "qwen2.5-32b"}};
  for (const auto& [variant, base] : variants) {
    EXPECT_TRUE(ModelByName(variant, FieldPath("name"), sink, &model, &source)) << variant;
    EXPECT_EQ(model.name, base);
  }
  ViolationSink other(10);
  EXPECT_FALSE(
      ModelByName("Qwen/Qwen2.5-Omni-9B-Instruct", FieldPath("name"), other, &model, &source));
  for (const char* name : {"/", "NousResearch/", "NousResearch/Hermes-2-Pro-Llama-3-8B",
                           "mistralai/Magistral-Small-2509"})
    EXPECT_FALSE(ModelByName(name, FieldPath("name"), other, &model, &source)) << name;
  EXPECT_TRUE(LanguageModelByName("llama-3.1-8b-instruct", FieldPath("name"), sink));
  EXPECT_FALSE(ModelByName("qwen3-9b", FieldPath("name"), sink, &model, &source));
  const std::vector<Violation> violations = sink.Take();
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_NE(violations[0].description.find("qwen3-8b"), std::string::npos)
      << violations[0].description;
}

}  // namespace
}  // namespace evenkeel::server
