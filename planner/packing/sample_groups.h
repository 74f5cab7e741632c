// Groups of samples that are treated as equal when packs are designed: equal units, and tokens in
// one range.
#ifndef EVENKEEL_PLANNER_PACKING_SAMPLE_GROUPS_H_
#define EVENKEEL_PLANNER_PACKING_SAMPLE_GROUPS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "planner/base/stop.h"
#include "planner/packing/sample_types.h"

namespace evenkeel::planner {

// Most groups that a design of packs takes; they are the rows of a linear program.
inline constexpr size_t kGroupsAtMost = 64;

struct SampleGroup {
  int64_t units = 0;
  int64_t least_tokens = 0, most_tokens = 0;
  double mean_tokens = 0;
  int64_t begin = 0;  // its samples are [begin, begin + count) in the order by type
  int64_t count = 0;
};

// Makes one group for each number of units, then repeatedly splits the group with the widest range
// of tokens (times count) at its middle value, until all groups are narrower than `token_width` or
// there are `at_most` of them. The groups ascend. Returns no groups if there are more than
// `at_most` numbers of units.
std::vector<SampleGroup> GroupSamples(const SampleTypes& types, int64_t token_width, size_t at_most,
                                      const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_SAMPLE_GROUPS_H_
