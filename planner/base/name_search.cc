#include "planner/base/name_search.h"

#include <absl/strings/ascii.h>

#include <cstdint>
#include <numeric>
#include <utility>

namespace evenkeel::planner {
namespace {

// No catalogued name is as long. The cut limits the work that a hostile query can cause.
constexpr size_t kLongestQuery = 64;

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

}  // namespace

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  absl::AsciiStrToLower(&lower);
  return lower;
}

NameSearch::NameSearch(std::string_view name)
    : key_(LowerCase(name.substr(0, kLongestQuery))), wanted_(Words(key_)) {}

// Whole words go first because a name such as "h100" belongs to several records, so that it is not
// an alias of any, and the edit distance alone would answer "h200".
void NameSearch::Add(const std::string& slug, const std::vector<std::string>& aliases) {
  const auto rate = [&](const std::string& name) {
    const std::set<std::string> words = Words(name);
    const bool has_all = !wanted_.empty() &&
                         std::includes(words.begin(), words.end(), wanted_.begin(), wanted_.end());
    return std::pair(!has_all, EditDistance(key_, name));
  };
  auto best = rate(slug);
  for (const std::string& alias : aliases) best = std::min(best, rate(alias));
  const size_t farthest = key_.size() / 2;  // names further apart are unrelated
  if (best.first && best.second > farthest) return;
  candidates_.push_back({best.first, best.second, slug});
}

std::vector<std::string> NameSearch::Nearest(int limit) && {
  std::sort(candidates_.begin(), candidates_.end());
  std::vector<std::string> slugs;
  for (Candidate& candidate : candidates_) {
    if (static_cast<int64_t>(slugs.size()) >= limit) break;
    slugs.push_back(std::move(candidate.slug));
  }
  return slugs;
}

}  // namespace evenkeel::planner
