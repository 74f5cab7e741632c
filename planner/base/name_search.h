// Finds records by their names, in any case, and names like one that is unknown. A record has
// `spec.name`, its slug, and `aliases`, all in lower case.
#ifndef EVENKEEL_PLANNER_BASE_NAME_SEARCH_H_
#define EVENKEEL_PLANNER_BASE_NAME_SEARCH_H_

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace evenkeel::planner {

std::string LowerCase(std::string_view text);

// Returns nullptr if no slug or alias is `name`.
template <typename Entry>
const Entry* FindByName(const std::vector<Entry>& entries, std::string_view name) {
  const std::string key = LowerCase(name);
  for (const Entry& entry : entries) {
    if (entry.spec.name == key || std::count(entry.aliases.begin(), entry.aliases.end(), key) > 0)
      return &entry;
  }
  return nullptr;
}

// Collects the slugs most like a name, for "did you mean": first those that contain every word of
// it ("h100"), then those whose edit distance, over slug and aliases, is at most half the length of
// the name. Both lists begin with the nearest.
class NameSearch {
 public:
  explicit NameSearch(std::string_view name);

  void Add(const std::string& slug, const std::vector<std::string>& aliases);
  template <typename Entry>
  void AddAll(const std::vector<Entry>& entries) {
    for (const Entry& entry : entries) Add(entry.spec.name, entry.aliases);
  }

  std::vector<std::string> Nearest(int limit) &&;

 private:
  // The closer of two candidates sorts first; the slug breaks ties.
  struct Candidate {
    bool lacks_words = true;  // neither the slug nor any one alias has all words of the query
    size_t distance = 0;
    std::string slug;
    friend auto operator<=>(const Candidate&, const Candidate&) = default;
  };

  std::string key_;
  std::set<std::string> wanted_;  // words of the key
  std::vector<Candidate> candidates_;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_BASE_NAME_SEARCH_H_
