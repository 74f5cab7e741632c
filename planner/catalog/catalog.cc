#include "planner/catalog/catalog.h"

#include <absl/strings/ascii.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "planner/catalog/specs.h"

namespace evenkeel::planner {
namespace {

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  absl::AsciiStrToLower(&lower);
  return lower;
}

template <typename Entry>
const Entry* Find(const std::vector<Entry>& entries, std::string_view name) {
  const std::string key = LowerCase(name);
  for (const Entry& entry : entries) {
    if (entry.spec.name == key || std::count(entry.aliases.begin(), entry.aliases.end(), key) > 0) {
      return &entry;
    }
  }
  return nullptr;
}

// Levenshtein distance.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);  // distances from a's prefix to every prefix of b
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substitute = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substitute, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::set<std::string> Words(std::string_view name) {
  constexpr std::string_view kSeparators = " -_/";
  std::set<std::string> words;
  while (!name.empty()) {
    const size_t end = std::min(name.find_first_of(kSeparators), name.size());
    if (end > 0) words.emplace(name.substr(0, end));
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return words;
}

// The closer of two candidates sorts first; the slug breaks ties.
struct Candidate {
  bool lacks_words = true;  // neither the slug nor any one alias has all words of the query
  size_t distance = 0;
  std::string slug;

  bool operator<(const Candidate& other) const {
    return std::tie(lacks_words, distance, slug) <
           std::tie(other.lacks_words, other.distance, other.slug);
  }
};

// Whole words go first because a name such as "h100" belongs to several entries, so that it is not
// an alias of any, and the edit distance alone would answer "h200".
template <typename Entry>
void AddCandidates(const std::vector<Entry>& entries, std::string_view key,
                   std::vector<Candidate>& candidates) {
  const std::set<std::string> wanted = Words(key);
  const auto rate = [&](const std::string& name) {
    const std::set<std::string> words = Words(name);
    const bool has_all =
        !wanted.empty() && std::includes(words.begin(), words.end(), wanted.begin(), wanted.end());
    return std::pair(!has_all, EditDistance(key, name));
  };
  const size_t farthest = key.size() / 2;  // names further apart are unrelated
  for (const Entry& entry : entries) {
    auto best = rate(entry.spec.name);
    for (const std::string& alias : entry.aliases) best = std::min(best, rate(alias));
    if (best.first && best.second > farthest) continue;
    candidates.push_back({best.first, best.second, entry.spec.name});
  }
}

std::vector<std::string> Nearest(std::vector<Candidate> candidates, int limit) {
  std::sort(candidates.begin(), candidates.end());
  std::vector<std::string> slugs;
  for (const Candidate& candidate : candidates) {
    if (static_cast<int64_t>(slugs.size()) >= limit) break;
    slugs.push_back(candidate.slug);
  }
  return slugs;
}

// No catalogued name is as long. The cut limits the work that a hostile query can cause.
std::string QueryKey(std::string_view name) {
  constexpr size_t kLongest = 64;
  return LowerCase(name.substr(0, kLongest));
}

}  // namespace

const LanguageModelEntry* FindLanguageModel(std::string_view name) {
  return Find(LanguageModels(), name);
}

const EncoderEntry* FindEncoder(std::string_view name) { return Find(Encoders(), name); }

const VisionLanguageEntry* FindVisionLanguageModel(std::string_view name) {
  return Find(VisionLanguageModels(), name);
}

const GpuEntry* FindGpu(std::string_view name) { return Find(Gpus(), name); }

Projector DefaultProjector(const Encoder& encoder, int64_t llm_hidden) {
  const int64_t patches = encoder.tokens_per_unit - encoder.class_tokens;
  const int64_t merged = std::max<int64_t>(encoder.llm_tokens_per_unit, 1);
  // Rounds to nearest, so that one token more or less does not change how many are merged.
  const int64_t merge = std::max<int64_t>((patches + merged / 2) / merged, 1);
  return {.input_width = merge * encoder.hidden, .hidden_width = llm_hidden, .norm = merge > 1};
}

std::vector<std::string> SimilarModels(std::string_view name, int limit) {
  const std::string key = QueryKey(name);
  std::vector<Candidate> candidates;
  AddCandidates(LanguageModels(), key, candidates);
  AddCandidates(Encoders(), key, candidates);
  AddCandidates(VisionLanguageModels(), key, candidates);
  return Nearest(std::move(candidates), limit);
}

std::vector<std::string> SimilarGpus(std::string_view name, int limit) {
  const std::string key = QueryKey(name);
  std::vector<Candidate> candidates;
  AddCandidates(Gpus(), key, candidates);
  return Nearest(std::move(candidates), limit);
}

}  // namespace evenkeel::planner
