#include "planner/catalog/default_dataset.h"

#include <cstdint>
#include <iterator>

#include "planner/job.h"

namespace evenkeel::planner {
namespace {

struct Row {
  int16_t units;
  int16_t llm_tokens;
  int32_t count;
};

// Lengths of ai2d (12,413 samples), chartqa (18,317) and docvqa (10,211) instruction tuning as
// ModelTC/OmniBal ships them (*_wh_token_lengths.json: vit_num, token_num; Apache-2.0), tokenised
// for InternVL 1.5 with 256 tokens per tile. One row per (vit_num, token_num / 32): units, mean
// tokens rounded half up, samples.
constexpr Row kInstructionTuningMix[] = {
    // clang-format off
    {1, 307, 4944}, {1, 328, 791}, {1, 367, 59}, {1, 402, 365}, {1, 427, 169}, {1, 460, 47},
    {1, 490, 7}, {1, 519, 3}, {1, 569, 1}, {1, 603, 1}, {3, 818, 3584}, {3, 843, 938},
    {3, 885, 194}, {3, 911, 612}, {3, 942, 296}, {3, 975, 220}, {3, 1007, 114}, {3, 1039, 129},
    {3, 1069, 103}, {3, 1105, 70}, {3, 1135, 73}, {3, 1168, 54}, {3, 1199, 53}, {3, 1231, 33},
    {3, 1261, 30}, {3, 1294, 21}, {3, 1329, 16}, {3, 1359, 18}, {3, 1393, 31}, {3, 1422, 14},
    {3, 1457, 22}, {3, 1488, 15}, {3, 1519, 20}, {3, 1550, 10}, {3, 1586, 8}, {3, 1609, 6},
    {3, 1646, 5}, {3, 1676, 3}, {3, 1712, 2}, {3, 1735, 3}, {3, 1822, 1}, {3, 1835, 2},
    {3, 1874, 1}, {4, 1075, 531}, {4, 1096, 73}, {4, 1137, 7}, {4, 1171, 16}, {4, 1199, 8},
    {4, 1237, 1}, {4, 1272, 2}, {4, 1305, 1}, {4, 1334, 4}, {4, 1359, 2}, {4, 1389, 1},
    {4, 1411, 1}, {4, 1561, 1}, {4, 1581, 1}, {4, 1638, 1}, {4, 1708, 1}, {4, 1830, 1},
    {5, 1325, 11085}, {5, 1360, 5102}, {5, 1393, 1367}, {5, 1423, 2133}, {5, 1454, 1239},
    {5, 1487, 1062}, {5, 1519, 823}, {5, 1551, 740}, {5, 1583, 615}, {5, 1614, 504}, {5, 1647, 380},
    {5, 1679, 293}, {5, 1712, 252}, {5, 1743, 224}, {5, 1776, 212}, {5, 1808, 164}, {5, 1839, 139},
    {5, 1869, 132}, {5, 1905, 140}, {5, 1935, 88}, {5, 1969, 103}, {5, 1997, 98}, {5, 2033, 60},
    {5, 2063, 70}, {5, 2094, 52}, {5, 2126, 35}, {5, 2159, 29}, {5, 2193, 21}, {5, 2227, 10},
    {5, 2255, 7}, {5, 2288, 10}, {5, 2322, 5}, {5, 2353, 2}, {5, 2392, 2}, {5, 2417, 1},
    {5, 2509, 1}, {5, 2538, 1},
    // clang-format on
};
constexpr int64_t kTokensPerTile = 256;

constexpr int64_t kTextSamples = 1'000'000;
constexpr int64_t kTranscriptTokens = 256;

}  // namespace

Dataset DefaultVisionLanguageDataset(int64_t llm_tokens_per_unit, bool native_resolution) {
  const int64_t units_per_tile = native_resolution ? kTokensPerTile : 1;
  Dataset dataset;
  dataset.is_default = true;
  dataset.bins.reserve(std::size(kInstructionTuningMix));
  for (const Row& row : kInstructionTuningMix) {
    const int64_t text_tokens = row.llm_tokens - row.units * kTokensPerTile;
    const int64_t units = row.units * units_per_tile;
    dataset.bins.push_back({.units = units,
                            .llm_tokens = text_tokens + units * llm_tokens_per_unit,
                            .count = row.count});
  }
  return dataset;
}

Dataset DefaultAudioDataset(int64_t llm_tokens_per_unit) {
  return {.bins = {{.units = 1,
                    .llm_tokens = llm_tokens_per_unit + kTranscriptTokens,
                    .count = kTextSamples}},
          .is_default = true};
}

Dataset DefaultTextDataset() {
  return {.bins = {{.units = 0, .llm_tokens = kDefaultTextTokens, .count = kTextSamples}},
          .is_default = true};
}

}  // namespace evenkeel::planner
