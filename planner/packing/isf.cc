#include "planner/packing/isf.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "planner/base/random.h"

namespace evenkeel::planner {
namespace {

// Scans `left` once: moves packs to keep to `packing`, and the samples of all other packs to the
// front of `left`, in their order.
template <typename Keep>
void Scan(const Lengths& lengths, const Caps& caps, Keep keep, std::vector<uint32_t>& left,
          const Stop& stop, Packing& packing) {
  size_t begin = 0, returned = 0;
  int64_t units = 0, tokens = 0;
  const auto close = [&](size_t end) {
    const auto from = left.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto to = left.begin() + static_cast<std::ptrdiff_t>(end);
    if (keep(units, tokens)) {
      packing.members.insert(packing.members.end(), from, to);
      packing.ClosePack();
    } else {
      std::copy(from, to, left.begin() + static_cast<std::ptrdiff_t>(returned));
      returned += end - begin;
    }
    begin = end;
    units = tokens = 0;
  };
  for (size_t i = 0; i < left.size(); ++i) {
    stop.Spend(20);
    const int64_t u = lengths.units[left[i]], t = lengths.tokens[left[i]];
    if (!caps.Hold(units + u, tokens + t)) close(i);
    units += u;
    tokens += t;
  }
  close(left.size());
  left.resize(returned);
}

}  // namespace

Packing PackByIsf(const Lengths& lengths, const Caps& caps, const IsfRule& rule, const Stop& stop) {
  Packing packing;
  packing.members.reserve(lengths.size());
  std::vector<uint32_t> left(lengths.size());
  std::iota(left.begin(), left.end(), 0u);
  const auto full = [&](int64_t units, int64_t tokens) {
    return (rule.keep_units > 0 && units >= rule.keep_units) || tokens >= rule.keep_tokens;
  };
  Random random(rule.seed);
  for (int64_t t = 0; t < rule.iterations && !left.empty(); ++t) {
    stop.Spend(static_cast<int64_t>(20 * left.size()));
    random.Shuffle(left);
    Scan(lengths, caps, full, left, stop, packing);
  }
  Scan(
      lengths, caps, [](int64_t, int64_t) { return true; }, left, stop, packing);
  return packing;
}

}  // namespace evenkeel::planner
