// Sets of sample lengths to pack: the shipped set, files in OmniBal's format, and draws from them.
#ifndef EVENKEEL_TESTS_BENCH_LENGTH_SETS_H_
#define EVENKEEL_TESTS_BENCH_LENGTH_SETS_H_

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "planner/base/random.h"
#include "planner/catalog/default_dataset.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

struct LengthSet {
  std::string name;
  std::vector<int32_t> units, tokens;

  Lengths lengths() const { return {units, tokens}; }
};

// Returns the catalogue's default dataset, with samples spread evenly over the 32 lengths of their
// bin. So it has as many types as real lengths.
inline LengthSet ShippedSet() {
  constexpr int64_t kBin = 32;
  LengthSet set{"shipped", {}, {}};
  for (const LengthBin& bin : DefaultVisionLanguageDataset().bins) {
    for (int64_t i = 0; i < bin.count; ++i) {
      set.units.push_back(static_cast<int32_t>(bin.units[0]));
      set.tokens.push_back(static_cast<int32_t>(bin.llm_tokens / kBin * kBin + i % kBin));
    }
  }
  return set;
}

// Reads [{"vit_num": units, "token_num": tokens}, ...].
inline LengthSet ReadSet(const std::filesystem::path& file) {
  LengthSet set{file.stem().string(), {}, {}};
  std::ifstream in(file);
  for (const nlohmann::json& sample : nlohmann::json::parse(in)) {
    set.units.push_back(sample.at("vit_num").get<int32_t>());
    set.tokens.push_back(sample.at("token_num").get<int32_t>());
  }
  return set;
}

inline LengthSet Union(const std::vector<LengthSet>& sets) {
  LengthSet all{"union", {}, {}};
  for (const LengthSet& set : sets) {
    all.units.insert(all.units.end(), set.units.begin(), set.units.end());
    all.tokens.insert(all.tokens.end(), set.tokens.begin(), set.tokens.end());
  }
  return all;
}

// Draws samples with replacement.
inline LengthSet Draw(const LengthSet& from, size_t samples) {
  LengthSet set{from.name + " x " + std::to_string(samples), {}, {}};
  set.units.resize(samples);
  set.tokens.resize(samples);
  Random random(samples);
  for (size_t i = 0; i < samples; ++i) {
    const size_t k = static_cast<size_t>(random.Below(from.tokens.size()));
    set.units[i] = from.units[k];
    set.tokens[i] = from.tokens[k];
  }
  return set;
}

// Reads all files of a folder, or the shipped set if none is given.
inline std::vector<LengthSet> BaseSets(const std::string& folder) {
  if (folder.empty()) return {ShippedSet()};
  std::vector<LengthSet> sets;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".json") sets.push_back(ReadSet(entry.path()));
  std::sort(sets.begin(), sets.end(),
            [](const LengthSet& a, const LengthSet& b) { return a.name < b.name; });
  return sets;
}

}  // namespace evenkeel::planner

#endif  // EVENKEEL_TESTS_BENCH_LENGTH_SETS_H_
