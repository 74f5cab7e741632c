#include "tests/reference/fewest_packs.h"

#include <algorithm>

namespace evenkeel::reference {
namespace {

struct Open {
  int64_t units = 0, tokens = 0;
};

void Place(const planner::Lengths& lengths, const planner::Caps& caps, size_t sample,
           std::vector<Open>& packs, int64_t& fewest) {
  if (static_cast<int64_t>(packs.size()) >= fewest) return;
  if (sample == lengths.size()) {
    fewest = static_cast<int64_t>(packs.size());
    return;
  }
  const int64_t units = lengths.units[sample], tokens = lengths.tokens[sample];
  for (size_t p = 0; p < packs.size(); ++p) {
    if (!caps.Hold(packs[p].units + units, packs[p].tokens + tokens)) continue;
    packs[p].units += units, packs[p].tokens += tokens;
    Place(lengths, caps, sample + 1, packs, fewest);
    packs[p].units -= units, packs[p].tokens -= tokens;
  }
  packs.push_back({units, tokens});
  Place(lengths, caps, sample + 1, packs, fewest);
  packs.pop_back();
}

}  // namespace

int64_t FewestPacks(const planner::Lengths& lengths, const planner::Caps& caps) {
  int64_t fewest = static_cast<int64_t>(lengths.size()) + 1;
  std::vector<Open> packs;
  Place(lengths, caps, 0, packs, fewest);
  return fewest;
}

}  // namespace evenkeel::reference
