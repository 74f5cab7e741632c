// Compares step orders with golden files, which the twins in other languages must also match
// (tests/integration/test_step_order.py). The order of (seed, epoch) is part of the contract, since
// a job that resumes must find it again. EVENKEEL_UPDATE_GOLDEN=1 rewrites the files;
// docs/PACK_ORDER.md must then describe the new way.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "planner/base/random.h"
#include "planner/packing/deal.h"

namespace evenkeel::planner {
namespace {

struct Case {
  const char* name;
  size_t packs;
  DealRule rule;
  std::function<PackWork(Random&)> work;
};

int32_t Below(Random& random, uint64_t bound) { return static_cast<int32_t>(random.Below(bound)); }

PackWork Same(Random&) { return {9, 4000}; }
PackWork Levels(Random& r) { return {100 * (5 + Below(r, 5)), 3000 + Below(r, 1000)}; }
PackWork Correlated(Random& r) {
  const int32_t v = 5 + Below(r, 5);
  return {v * 100, v * 280 + Below(r, 50)};
}
PackWork MostlyFull(Random& r) {
  return {Below(r, 10) > 0 ? 900 : 100 * Below(r, 9), 3800 + Below(r, 300)};
}
PackWork Spread(Random& r) { return {Below(r, 1 << 30), Below(r, 1 << 30)}; }
PackWork Tail(Random& r) { return {1 << Below(r, 31), 1 << Below(r, 31)}; }
PackWork TextAlone(Random& r) { return {0, 1 + Below(r, 100000)}; }
PackWork ByLanguage(Random& r) { return {1000000 + Below(r, 1000000), 1000 * (1 + Below(r, 3))}; }

const std::vector<Case> kCases = {
    {"none", 0, {.ranks = 4}, Same},
    {"one_pack", 1, {.ranks = 4, .window = 0, .seed = 3}, Same},
    {"random_order", 30, {.ranks = 4, .seed = 1}, Spread},
    {"later_epoch", 30, {.ranks = 4, .seed = 1, .epoch = 7}, Spread},
    {"large_seed", 30, {.ranks = 4, .seed = 0xfedcba9876543210u, .epoch = 1}, Spread},
    {"equal_packs", 50, {.ranks = 4, .packs_per_rank = 3, .window = 0}, Same},
    {"levels_all", 150, {.ranks = 8, .window = 0, .seed = 4}, Levels},
    {"levels_windows", 150, {.ranks = 4, .window = 6, .seed = 4}, Levels},
    {"mostly_full", 203, {.ranks = 8, .window = 16, .seed = 5, .epoch = 2}, MostlyFull},
    {"spread_all", 330, {.ranks = 4, .window = 0, .seed = 6}, Spread},
    {"tail_all", 140, {.ranks = 4, .window = 0, .seed = 7}, Tail},
    {"text_windows", 100, {.ranks = 4, .window = 4, .seed = 8}, TextAlone},
    {"by_language", 160, {.ranks = 5, .window = 0, .seed = 9}, ByLanguage},
    {"micro_batches", 150, {.ranks = 4, .packs_per_rank = 4, .seed = 10}, Spread},
    {"micro_batches_all", 150, {.ranks = 4, .packs_per_rank = 4, .window = 0, .seed = 11}, Levels},
    {"many_micro_batches", 400, {.ranks = 20, .packs_per_rank = 20, .seed = 12}, Correlated},
    {"far_apart", 300, {.ranks = 12, .packs_per_rank = 12, .seed = 16}, Tail},
    {"holed", 67, {.ranks = 8, .packs_per_rank = 4, .window = 0, .seed = 13}, Spread},
    {"groups", 150, {.ranks = 4, .packs_per_rank = 4, .group = 2, .seed = 14}, Spread},
    {"whole_groups",
     90,
     {.ranks = 4, .packs_per_rank = 4, .window = 3, .group = 4, .seed = 15},
     Levels},
};

template <typename T>
std::string List(const std::vector<T>& values) {
  std::string text = "[";
  for (const T& value : values) text += (text.size() > 1 ? ", " : "") + std::to_string(value);
  return text + "]";
}

std::string TextOf(const Case& c) {
  Random random(c.rule.seed + 1000);
  std::vector<PackWork> work;
  std::vector<int32_t> vision, language;
  for (size_t i = 0; i < c.packs; ++i) {
    work.push_back(c.work(random));
    vision.push_back(work.back().vision);
    language.push_back(work.back().language);
  }
  std::ostringstream text;
  text << "{\n\"ranks\": " << c.rule.ranks << ",\n\"packs_per_rank\": " << c.rule.packs_per_rank
       << ",\n\"window\": " << c.rule.window << ",\n\"group\": " << c.rule.group
       << ",\n\"seed\": " << c.rule.seed << ",\n\"epoch\": " << c.rule.epoch
       << ",\n\"vision\": " << List(vision) << ",\n\"language\": " << List(language)
       << ",\n\"order\": " << List(Deal(work, c.rule)) << "\n}\n";
  return text.str();
}

class StepOrderGolden : public testing::TestWithParam<Case> {};

TEST_P(StepOrderGolden, IsUnchanged) {
  const std::string path =
      std::string(EVENKEEL_SOURCE_DIR) + "/tests/golden/step_order/" + GetParam().name + ".json";
  const std::string text = TextOf(GetParam());
  if (std::getenv("EVENKEEL_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(text, golden.str());
}

INSTANTIATE_TEST_SUITE_P(Cases, StepOrderGolden, testing::ValuesIn(kCases),
                         [](const auto& c) { return std::string(c.param.name); });

}  // namespace
}  // namespace evenkeel::planner
