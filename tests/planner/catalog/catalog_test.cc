#include "planner/catalog/catalog.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/base/name_search.h"
#include "planner/hardware/gpus.h"
#include "planner/model/model_spec.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

// Returns up to `limit` slugs of models of every kind most like `name`.
std::vector<std::string> SimilarModels(std::string_view name, int limit) {
  NameSearch search(name);
  search.AddAll(LanguageModels());
  search.AddAll(Encoders());
  search.AddAll(VisionLanguageModels());
  return std::move(search).Nearest(limit);
}

struct ExpectedCount {
  std::string_view slug;
  int64_t computed;            // counted from the same dimensions by another program
  int64_t left_out_there = 0;  // weights that the model has and that the count lacks
};

// The counts leave out the norms of Qwen3's q and k heads (with them, the published totals match to
// the unit), and Megatron's biases (9 x hidden per layer, which the papers' formula includes).
constexpr ExpectedCount kLanguageModels[] = {
    {"llama2-7b", 6738415616},
    {"llama2-13b", 13015864320},
    {"llama2-70b", 68976648192},
    {"llama3-8b", 8030261248},
    {"llama3-70b", 70553706496},
    {"llama3.1-405b", 405853388800},
    {"llama3.2-3b", 3212749824},
    {"llama1-65b", 65285660672},
    {"vicuna-7b-v1.5", 6738415616},
    {"vicuna-13b-v1.5", 13015864320},
    {"internlm2-7b", 7737708544},
    {"internlm2-20b", 19861149696},
    {"yi-34b", 34388917248},
    {"qwen1.5-110b", 111209914368},
    {"qwen2-0.5b", 494032768},
    {"qwen2-1.5b", 1543714304},
    {"qwen2.5-3b", 3085938688},
    {"qwen2-7b", 7615616512},
    {"qwen2.5-14b", 14770033664},
    {"qwen2.5-32b", 32763876352},
    {"qwen2-72b", 72706203648},
    {"qwen1-7b", 7721324544},
    {"qwen1-14b", 14167290880},
    {"mixtral-8x7b", 46702792704},
    {"mixtral-8x22b", 140630071296},
    {"qwen3-30b-a3b", 30532110336, 48 * 2 * 128},
    {"qwen3-235b-a22b", 235093610496, 94 * 2 * 128},
    {"deepseek-v2-236b", 235741434880},
    {"deepseek-v3-671b", 671026419200},
    {"gpt3-175b", 174580064256, 96 * 9 * 12288},
    {"megatron-22b", 22059036672, 48 * 9 * 6144},
    {"megatron-530b", 529539522560, 105 * 9 * 20480},
    {"megatron-1t", 1007956838400, 128 * 9 * 25600},
    {"mpt-125m", 123655680},
    {"mpt-350m", 353667072},
    {"mpt-760m", 756993024},
    {"mpt-1b", 1311313920},
    {"mpt-3b", 2645857280},
    {"mpt-7b", 6649290752},
    {"mpt-13b", 12841625600},
    {"mpt-30b", 29957437440},
    {"mpt-70b", 64839761920},
};

constexpr ExpectedCount kActive[] = {
    {"mixtral-8x7b", 12879925248},
    {"mixtral-8x22b", 39161468928},
    {"qwen3-30b-a3b", 3353020416, 48 * 2 * 128},
    {"qwen3-235b-a22b", 22190739456, 94 * 2 * 128},
    {"deepseek-v2-236b", 21375800320},
    {"deepseek-v3-671b", 37552297472},
};

constexpr ExpectedCount kEncoders[] = {
    {"internvit-6b-448px-v1.5", 5536496000},
    {"internvit-6b-224px", 5902793600},
    {"internvit-300m-448px", 304012288},
    {"clip-vit-l-14-336", 303503360},
    {"siglip-so400m-384", 412984944},
    {"qwen2-vl-vit", 631183360},
    {"qwen2.5-vl-vit", 631975680},
    {"eva-clip-1b", 1011199616},
    {"eva-clip-4b", 4348832000},
    {"eva-clip-8b", 7520841728},
    {"eva-clip-18b", 17622625280},
};

struct ExpectedGpu {
  std::string_view slug;
  double tflops;
  double best_tflops;
  int64_t memory_gib;
  double hbm_gb_s;
  double scaleup_gb_s;
  double pcie_gb_s;
};

constexpr ExpectedGpu kGpus[] = {
    {"a100-sxm-80gb", 312, 271.2, 80, 2039, 300, 31.5},
    {"a100-sxm-40gb", 312, 0, 40, 1555, 300, 31.5},
    {"a100-pcie-80gb", 312, 252.9, 80, 1935, 300, 31.5},
    {"a100-pcie-40gb", 312, 252.9, 40, 1555, 300, 31.5},
    {"a800-sxm-80gb", 312, 0, 80, 2039, 200, 31.5},
    {"h100-sxm-80gb", 989, 794.5, 80, 3350, 450, 63},
    {"h100-pcie-80gb", 756, 0, 80, 2000, 300, 63},
    {"h100-nvl-94gb", 835, 0, 94, 3938, 300, 63},
    {"h20-sxm-96gb", 148, 0, 95, 4000, 450, 63},
    {"h100-sxm-96gb-hbm2e", 989, 0, 96, 2400, 450, 63},
    {"h200-sxm-141gb", 989, 794.5, 141, 4800, 450, 63},
    {"h800-sxm-80gb", 989, 0, 80, 3350, 200, 63},
    {"gh200-96gb", 989, 828.6, 96, 4000, 450, 63},
    {"gh200-141gb", 989, 828.6, 141, 4800, 450, 63},
    {"b200-sxm-180gb", 2250, 1745.0, 180, 8000, 900, 63},
    {"b300-sxm-288gb", 2250, 1769.0, 268, 8000, 900, 63},
    {"gb200-186gb", 2500, 1822.0, 186, 8000, 900, 63},
    {"gb300-288gb", 2500, 0, 277, 8000, 900, 63},
    {"rtx-pro-6000-96gb", 503.8, 0, 95, 1597, 0, 63},
    {"l40s-48gb", 362, 0, 48, 864, 0, 31.5},
    {"rtx-4090-24gb", 165.2, 0, 24, 1008, 0, 31.5},
    {"rtx-a6000-48gb", 154.8, 0, 48, 768, 56.25, 31.5},
    {"a10g-24gb", 70, 0, 24, 600, 0, 31.5},
    {"v100-sxm2-32gb", 125, 0, 32, 900, 150, 15.75},
    {"v100-sxm2-16gb", 125, 0, 16, 900, 150, 15.75},
    {"v100-pcie-32gb", 112, 0, 32, 900, 0, 15.75},
    {"mi300x-192gb", 1307, 668.4, 192, 5300, 448, 63},
    {"mi325x-256gb", 1300, 784.9, 256, 6000, 448, 63},
    {"mi350x-288gb", 2309.6, 0, 288, 8000, 538, 63},
    {"mi355x-288gb", 2516.6, 0, 288, 8000, 538, 63},
    {"mi250x-128gb", 383, 0, 128, 3280, 350, 31.5},
};

template <typename Entry>
void AddNames(const std::vector<Entry>& entries, std::vector<std::string>& slugs,
              std::vector<std::string>& aliases) {
  for (const Entry& entry : entries) {
    slugs.push_back(entry.spec.name);
    aliases.insert(aliases.end(), entry.aliases.begin(), entry.aliases.end());
  }
}

void ExpectWellFormed(const std::vector<std::string>& slugs,
                      const std::vector<std::string>& aliases) {
  constexpr std::string_view kSlug = "abcdefghijklmnopqrstuvwxyz0123456789.-";
  constexpr std::string_view kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::set<std::string> seen;
  for (const std::string& slug : slugs) {
    EXPECT_FALSE(slug.empty());
    EXPECT_EQ(slug.find_first_not_of(kSlug), std::string::npos) << slug;
    EXPECT_TRUE(seen.insert(slug).second) << slug;
  }
  for (const std::string& alias : aliases) {
    EXPECT_FALSE(alias.empty());
    EXPECT_LE(alias.size(), 64u) << alias;  // the longest name for which "did you mean" works
    EXPECT_EQ(alias.find_first_of(kUpper), std::string::npos) << alias;
    EXPECT_TRUE(seen.insert(alias).second) << alias;
  }
}

void ExpectWithin2Percent(int64_t counted, int64_t published, const std::string& name) {
  EXPECT_LE(std::abs(static_cast<double>(counted) / static_cast<double>(published) - 1.0), 0.02)
      << name;
}

TEST(CatalogTest, ModelNamesAreUniqueSlugs) {
  std::vector<std::string> slugs;
  std::vector<std::string> aliases;
  AddNames(LanguageModels(), slugs, aliases);
  AddNames(Encoders(), slugs, aliases);
  AddNames(VisionLanguageModels(), slugs, aliases);
  ExpectWellFormed(slugs, aliases);
}

TEST(CatalogTest, GpuNamesAreUniqueSlugs) {
  std::vector<std::string> slugs;
  std::vector<std::string> aliases;
  AddNames(Gpus(), slugs, aliases);
  ExpectWellFormed(slugs, aliases);
}

TEST(CatalogTest, EveryEntryNamesItsSource) {
  const auto check = [](const auto& entries) {
    for (const auto& entry : entries) {
      EXPECT_FALSE(entry.source.empty()) << entry.spec.name;
      EXPECT_EQ(entry.source.find('\n'), std::string::npos) << entry.spec.name;
    }
  };
  check(LanguageModels());
  check(Encoders());
  check(VisionLanguageModels());
  check(Gpus());
}

TEST(CatalogTest, CountsLanguageModelsExactly) {
  ASSERT_EQ(LanguageModels().size(), std::size(kLanguageModels));
  for (const ExpectedCount& expected : kLanguageModels) {
    const LanguageModelEntry* entry = FindLanguageModel(expected.slug);
    ASSERT_NE(entry, nullptr) << expected.slug;
    EXPECT_EQ(CountParameters(entry->spec), expected.computed + expected.left_out_there)
        << expected.slug;
  }
}

TEST(CatalogTest, CountsActiveParametersExactly) {
  for (const ExpectedCount& expected : kActive) {
    const LanguageModelEntry* entry = FindLanguageModel(expected.slug);
    ASSERT_NE(entry, nullptr) << expected.slug;
    EXPECT_EQ(CountActiveParameters(entry->spec), expected.computed + expected.left_out_there)
        << expected.slug;
  }
  for (const LanguageModelEntry& entry : LanguageModels()) {
    if (entry.spec.moe) continue;
    EXPECT_EQ(CountActiveParameters(entry.spec), CountParameters(entry.spec)) << entry.spec.name;
  }
}

TEST(CatalogTest, CountsEncodersExactly) {
  ASSERT_EQ(Encoders().size(), std::size(kEncoders));
  for (const ExpectedCount& expected : kEncoders) {
    const EncoderEntry* entry = FindEncoder(expected.slug);
    ASSERT_NE(entry, nullptr) << expected.slug;
    EXPECT_EQ(CountParameters(entry->spec), expected.computed) << expected.slug;
  }
}

TEST(CatalogTest, CountsAgreeWithPublishedTotals) {
  for (const LanguageModelEntry& entry : LanguageModels()) {
    if (entry.published_parameters == 0) continue;
    ExpectWithin2Percent(CountParameters(entry.spec), entry.published_parameters, entry.spec.name);
  }
  for (const EncoderEntry& entry : Encoders()) {
    if (entry.published_parameters == 0) continue;
    int64_t counted = CountParameters(entry.spec);
    // Two published totals include more than the encoder: SigLIP's attention pool and last norm,
    // and the merger of the 7B Qwen2-VL.
    if (entry.spec.name == "siglip-so400m-384") counted += 15240656;
    if (entry.spec.name == "qwen2-vl-vit") {
      counted += CountParameters(Projector{.input_width = 5120, .hidden_width = 5120}, 3584);
    }
    ExpectWithin2Percent(counted, entry.published_parameters, entry.spec.name);
  }
}

TEST(CatalogTest, PublishedTotalsThatAreExactComeOutToTheUnit) {
  for (const std::string_view slug : {"llama3-8b", "qwen2.5-32b", "qwen3-30b-a3b",
                                      "qwen3-235b-a22b", "mixtral-8x7b", "deepseek-v2-236b"}) {
    const LanguageModelEntry* entry = FindLanguageModel(slug);
    ASSERT_NE(entry, nullptr) << slug;
    EXPECT_EQ(CountParameters(entry->spec), entry->published_parameters) << slug;
  }
}

TEST(CatalogTest, CountsOptionalParts) {
  LanguageModel model = FindLanguageModel("deepseek-v2-236b")->spec;
  const int64_t with_rank = CountParameters(model);
  model.mla->q_lora_rank = 0;  // queries projected directly, as in DeepSeek-V2-Lite
  const int64_t query_width = 128 * (128 + 64);
  EXPECT_EQ(CountParameters(model) - with_rank,
            60 * (5120 * query_width - 5120 * 1536 - 1536 * query_width - 1536));

  model = FindLanguageModel("mpt-1b")->spec;
  const int64_t without_positions = CountParameters(model);
  model.learned_positions = 2048;
  EXPECT_EQ(CountParameters(model) - without_positions, 2048 * 2048);
}

TEST(CatalogTest, EncoderTokensAreConsistent) {
  for (const EncoderEntry& entry : Encoders()) {
    const Encoder& spec = entry.spec;
    const int64_t patches = spec.tokens_per_unit - spec.class_tokens;
    EXPECT_GT(spec.llm_tokens_per_unit, 0) << spec.name;
    EXPECT_EQ(patches % spec.llm_tokens_per_unit, 0) << spec.name;
    EXPECT_EQ(spec.heads * spec.head_dim, spec.hidden) << spec.name;
  }
}

TEST(CatalogTest, VisionLanguageModelsAreComplete) {
  ASSERT_EQ(VisionLanguageModels().size(), 3u);
  for (const VisionLanguageEntry& entry : VisionLanguageModels()) {
    const EncoderEntry* encoder = FindEncoder(entry.encoder);
    const LanguageModelEntry* language_model = FindLanguageModel(entry.language_model);
    ASSERT_NE(encoder, nullptr) << entry.spec.name;
    ASSERT_NE(language_model, nullptr) << entry.spec.name;
    ASSERT_EQ(entry.spec.towers.size(), 1u);
    EXPECT_EQ(entry.spec.towers[0].encoder.name, encoder->spec.name);
    EXPECT_EQ(entry.spec.language_model.name, language_model->spec.name);
    EXPECT_EQ(CountParameters(entry.spec),
              CountParameters(encoder->spec) + CountParameters(language_model->spec) +
                  CountParameters(entry.spec.towers[0].projector, language_model->spec.hidden));
  }
}

TEST(CatalogTest, ProjectorsCountAsPublished) {
  const ModelSpec& internvl = FindVisionLanguageModel("internvl-chat-v1.5")->spec;
  EXPECT_EQ(CountParameters(internvl.towers[0].projector, 6144),
            2 * 12800 + 12800 * 6144 + 6144 + 6144 * 6144 + 6144);
  const ModelSpec& llava = FindVisionLanguageModel("llava-1.5-7b")->spec;
  EXPECT_EQ(CountParameters(llava.towers[0].projector, 4096),
            1024 * 4096 + 4096 + 4096 * 4096 + 4096);
}

TEST(CatalogTest, DefaultProjectorIsThePublishedOne) {
  for (const VisionLanguageEntry& entry : VisionLanguageModels()) {
    const EncoderTower& tower = entry.spec.towers[0];
    const Projector made = DefaultProjector(tower.encoder, entry.spec.language_model.hidden);
    EXPECT_EQ(made.input_width, tower.projector.input_width) << entry.spec.name;
    EXPECT_EQ(made.hidden_width, tower.projector.hidden_width) << entry.spec.name;
    EXPECT_EQ(made.norm, tower.projector.norm) << entry.spec.name;
  }
}

TEST(CatalogTest, DefaultProjectorToleratesOddTokenCounts) {
  const Encoder encoder{.name = "custom", .hidden = 1280, .tokens_per_unit = 1500};
  Encoder halved = encoder;
  halved.llm_tokens_per_unit = 750;  // 1499 / 750 is not an integer
  EXPECT_EQ(DefaultProjector(halved, 4096).input_width, 2 * 1280);
  Encoder grown = encoder;
  grown.llm_tokens_per_unit = 3000;
  EXPECT_EQ(DefaultProjector(grown, 4096).input_width, 1280);
  EXPECT_FALSE(DefaultProjector(grown, 4096).norm);
  EXPECT_EQ(DefaultProjector(Encoder{.name = "empty", .hidden = 64}, 128).input_width, 64);
}

TEST(CatalogTest, LanguageModelsAreSane) {
  for (const LanguageModelEntry& entry : LanguageModels()) {
    const LanguageModel& spec = entry.spec;
    EXPECT_GE(spec.layers, 12) << spec.name;
    EXPECT_LE(spec.layers, 128) << spec.name;
    EXPECT_EQ(spec.heads % spec.kv_heads, 0) << spec.name;
    EXPECT_GE(spec.vocab, 32000) << spec.name;
    EXPECT_GT(spec.ffn, spec.hidden) << spec.name;
  }
}

TEST(CatalogTest, GpuFiguresAreSane) {
  for (const GpuEntry& entry : Gpus()) {
    const GpuSpec& spec = entry.spec;
    EXPECT_GE(spec.dense_16bit_flops, 5e13) << spec.name;
    EXPECT_LE(spec.dense_16bit_flops, 1e16) << spec.name;
    EXPECT_GE(spec.best_measured_16bit_flops, 0) << spec.name;
    EXPECT_LT(spec.best_measured_16bit_flops, spec.dense_16bit_flops) << spec.name;
    EXPECT_GE(spec.memory_bytes, 8 * kGiB) << spec.name;
    EXPECT_LE(spec.memory_bytes, 512 * kGiB) << spec.name;
    EXPECT_GE(spec.hbm_bytes_per_second, 5e11) << spec.name;
    EXPECT_LE(spec.hbm_bytes_per_second, 1e13) << spec.name;
    EXPECT_GE(spec.scaleup_bytes_per_second, 0) << spec.name;
    EXPECT_LE(spec.scaleup_bytes_per_second, 1e12) << spec.name;
    EXPECT_GE(spec.pcie_bytes_per_second, 1e10) << spec.name;
    EXPECT_LE(spec.pcie_bytes_per_second, 1.3e11) << spec.name;
    EXPECT_TRUE(entry.vendor == "nvidia" || entry.vendor == "amd") << spec.name;
  }
}

TEST(CatalogTest, GpuFiguresAreThoseOfTheSources) {
  ASSERT_EQ(Gpus().size(), std::size(kGpus));
  for (const ExpectedGpu& expected : kGpus) {
    const GpuEntry* entry = FindGpu(expected.slug);
    ASSERT_NE(entry, nullptr) << expected.slug;
    const GpuSpec& spec = entry->spec;
    EXPECT_EQ(spec.name, expected.slug);
    EXPECT_DOUBLE_EQ(spec.dense_16bit_flops, expected.tflops * 1e12) << expected.slug;
    EXPECT_DOUBLE_EQ(spec.best_measured_16bit_flops, expected.best_tflops * 1e12) << expected.slug;
    EXPECT_EQ(spec.memory_bytes, expected.memory_gib * kGiB) << expected.slug;
    EXPECT_DOUBLE_EQ(spec.hbm_bytes_per_second, expected.hbm_gb_s * 1e9) << expected.slug;
    EXPECT_DOUBLE_EQ(spec.scaleup_bytes_per_second, expected.scaleup_gb_s * 1e9) << expected.slug;
    EXPECT_DOUBLE_EQ(spec.pcie_bytes_per_second, expected.pcie_gb_s * 1e9) << expected.slug;
  }
}

TEST(CatalogTest, FindsBySlugAndAliasInAnyCase) {
  ASSERT_NE(FindLanguageModel("Meta-Llama/Llama-3.1-8B"), nullptr);
  EXPECT_EQ(FindLanguageModel("Meta-Llama/Llama-3.1-8B")->spec.name, "llama3-8b");
  ASSERT_NE(FindEncoder("OpenGVLab/InternViT-6B-448px-V1-5"), nullptr);
  EXPECT_EQ(FindEncoder("InternViT-6B")->spec.name, "internvit-6b-448px-v1.5");
  ASSERT_NE(FindVisionLanguageModel("OpenGVLab/InternVL-Chat-V1-5"), nullptr);
  EXPECT_EQ(FindVisionLanguageModel("InternVL-1.5")->spec.name, "internvl-chat-v1.5");
  for (const std::string_view name :
       {"a100-80gb", "A100-SXM-80GB", "NVIDIA A100-SXM4-80GB", "NVIDIA-A100-SXM4-80GB"}) {
    ASSERT_NE(FindGpu(name), nullptr) << name;
    EXPECT_EQ(FindGpu(name)->spec.name, "a100-sxm-80gb") << name;
  }
  for (const std::string_view name : {"NVIDIA H100 80GB HBM3", "NVIDIA-H100-80GB-HBM3"}) {
    ASSERT_NE(FindGpu(name), nullptr) << name;
    EXPECT_EQ(FindGpu(name)->spec.name, "h100-sxm-80gb") << name;
  }
  for (const std::string_view name : {"l40s", "h200", "b200", "gb200", "mi300x"}) {
    EXPECT_NE(FindGpu(name), nullptr) << name;
  }
}

TEST(CatalogTest, EverySlugAndAliasFindsItsEntry) {
  const auto check = [](const auto& entries, auto find) {
    for (const auto& entry : entries) {
      EXPECT_EQ(find(entry.spec.name), &entry) << entry.spec.name;
      for (const std::string& alias : entry.aliases) EXPECT_EQ(find(alias), &entry) << alias;
    }
  };
  check(LanguageModels(), FindLanguageModel);
  check(Encoders(), FindEncoder);
  check(VisionLanguageModels(), FindVisionLanguageModel);
  check(Gpus(), FindGpu);
}

TEST(CatalogTest, UnknownAndAmbiguousNamesFindNothing) {
  EXPECT_EQ(FindLanguageModel("llama9-8b"), nullptr);
  EXPECT_EQ(FindEncoder(""), nullptr);
  EXPECT_EQ(FindVisionLanguageModel("llava"), nullptr);
  // These exist in several sizes or form factors.
  for (const std::string_view name : {"h100-80gb", "v100", "gh200", "nvidia"}) {
    EXPECT_EQ(FindGpu(name), nullptr) << name;
  }
}

TEST(CatalogTest, SuggestsSimilarModels) {
  ASSERT_FALSE(SimilarModels("internvl-chat-v15", 3).empty());
  EXPECT_EQ(SimilarModels("internvl-chat-v15", 3).front(), "internvl-chat-v1.5");
  EXPECT_EQ(SimilarModels("Lama3-8B", 1), std::vector<std::string>{"llama3-8b"});
  EXPECT_EQ(SimilarModels("EVA-CLIP-19b", 1), std::vector<std::string>{"eva-clip-18b"});
  EXPECT_EQ(SimilarModels("qwen2.5-7", 1), std::vector<std::string>{"qwen2-7b"});
}

TEST(CatalogTest, SuggestsEveryVariantOfAnAmbiguousGpu) {
  EXPECT_EQ(SimilarGpus("H100", 3),
            (std::vector<std::string>{"h100-sxm-80gb", "h100-nvl-94gb", "h100-pcie-80gb"}));
  EXPECT_EQ(SimilarGpus("a100", 4), (std::vector<std::string>{"a100-sxm-80gb", "a100-sxm-40gb",
                                                              "a100-pcie-40gb", "a100-pcie-80gb"}));
}

// The board that people mean by a name without one.
TEST(CatalogTest, ShortNamesAreTheSxmBoards) {
  EXPECT_EQ(FindGpu("A100"), FindGpu("a100-sxm-80gb"));
  EXPECT_EQ(FindGpu("h100"), FindGpu("h100-sxm-80gb"));
  EXPECT_NE(FindGpu("h100"), nullptr);
  EXPECT_EQ(FindGpu("a800"), FindGpu("a800-sxm-80gb"));
  EXPECT_EQ(FindGpu("h800"), FindGpu("h800-sxm-80gb"));
  EXPECT_EQ(FindGpu("GB200-NVL72"), FindGpu("gb200-186gb"));
}

TEST(CatalogTest, SuggestsNothingFarFetched) {
  EXPECT_TRUE(SimilarGpus("z", 3).empty());
  EXPECT_TRUE(SimilarModels("my-own-model", 3).empty());
}

TEST(CatalogTest, VoltaHasNoBfloat16AndBridgesJoinPairs) {
  for (const GpuEntry& gpu : Gpus()) {
    const std::string& name = gpu.spec.name;
    EXPECT_EQ(gpu.spec.bfloat16, !name.starts_with("v100")) << name;
    const bool bridged = name.starts_with("a100-pcie") || name.starts_with("h100-pcie") ||
                         name.starts_with("h100-nvl") || name.starts_with("rtx-a6000");
    EXPECT_EQ(gpu.spec.scaleup_pairs_only, bridged) << name;
  }
}

TEST(CatalogTest, SuggestionsAreBounded) {
  EXPECT_TRUE(SimilarModels("llama", 0).empty());
  EXPECT_TRUE(SimilarGpus("h100", -1).empty());
  EXPECT_TRUE(SimilarGpus("", 2).empty());
  EXPECT_TRUE(SimilarGpus(std::string(1 << 20, 'x'), 5).empty());
  EXPECT_LT(SimilarGpus("h100", 1000).size(), Gpus().size());
  EXPECT_EQ(SimilarModels("vit", 5), SimilarModels("vit", 5));
}

}  // namespace
}  // namespace evenkeel::planner
