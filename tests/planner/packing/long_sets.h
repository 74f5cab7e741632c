// Sets of long samples of unlike lengths, on which packs that are level in tokens are not level in
// time.
#ifndef EVENKEEL_TESTS_PLANNER_PACKING_LONG_SETS_H_
#define EVENKEEL_TESTS_PLANNER_PACKING_LONG_SETS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "planner/base/random.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

struct LongSet {
  const char* name = "";
  std::vector<int32_t> units, tokens;
  Caps caps;
  Lengths lengths() const { return {units, tokens}; }
};

// Text whose lengths have a tail like 1 / length.
inline int32_t TailLength(Random& random, int64_t most) {
  return static_cast<int32_t>(std::min<uint64_t>(
      static_cast<uint64_t>(most),
      32 + (uint64_t{1} << (24 + random.Below(8))) / (1 + random.Below(1 << 20))));
}

inline LongSet LongText(size_t samples) {
  Random random(7);
  LongSet set{"long text", {}, {}, {0, 131072}};
  for (size_t i = 0; i < samples; ++i) set.tokens.push_back(TailLength(random, 131072));
  set.units.resize(samples);
  return set;
}

// One to forty pages of 256 tokens each, read as text, and a question.
inline LongSet Documents(size_t samples) {
  Random random(8);
  LongSet set{"documents", {}, {}, {0, 24576}};
  for (size_t i = 0; i < samples; ++i) {
    const int32_t pages = 1 + static_cast<int32_t>(random.Below(40));
    set.tokens.push_back(256 * pages + TailLength(random, 600));
  }
  set.units.resize(samples);
  return set;
}

}  // namespace evenkeel::planner

#endif  // EVENKEEL_TESTS_PLANNER_PACKING_LONG_SETS_H_
