#include "planner/packing/next_fit.h"

#include <numeric>
#include <utility>

#include "planner/base/random.h"

namespace evenkeel::planner {

Packing PackNextFit(const Lengths& lengths, const Caps& caps, uint64_t seed, const Stop& stop) {
  Packing packing;
  std::vector<uint32_t>& order = packing.members;
  order.resize(lengths.size());
  std::iota(order.begin(), order.end(), 0u);
  Random(seed).Shuffle(order);
  int64_t units = 0, tokens = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    stop.Spend(20);
    const int64_t u = lengths.units[order[i]], t = lengths.tokens[order[i]];
    if (!caps.Hold(units + u, tokens + t)) {
      packing.offsets.push_back(static_cast<int64_t>(i));
      units = tokens = 0;
    }
    units += u;
    tokens += t;
  }
  packing.ClosePack();
  return packing;
}

}  // namespace evenkeel::planner
