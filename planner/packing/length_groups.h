// Packing groups: samples of like length packed together, longer packs filled up with shorter
// samples, steps of one group each. Hierarchical balance packing (HBP, arXiv 2503.07680, algorithms
// 2 and 5 to 7); what differs from the publication is in docs/ALGORITHMS.md.
#ifndef EVENKEEL_PLANNER_PACKING_LENGTH_GROUPS_H_
#define EVENKEEL_PLANNER_PACKING_LENGTH_GROUPS_H_

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "planner/packing/deal.h"
#include "planner/packing/packer.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

// Caps::units of a group that limits tokens alone: its packs are then made without a look at units.
inline constexpr int64_t kNoUnitCap = std::numeric_limits<int64_t>::max();

// One group and how its steps run. Groups are ascending in `longest` and caps.tokens, not
// descending in caps.units; at most 250 of them.
struct LengthGroup {
  int64_t longest = 0;  // tokens of its longest sample; the last group takes what is longer too
  Caps caps;            // of its packs
  int64_t context = 1;  // GPUs that share the tokens of a pack
  int64_t ranks = 1;    // data parallel
  int64_t packs_per_rank = 1;  // per step

  int64_t step_packs() const { return ranks * packs_per_rank; }
};

// Index of the group that a sample of so many tokens belongs to.
size_t GroupOf(std::span<const LengthGroup> groups, int64_t tokens);

struct GroupedPacking {
  Packing packing;                  // packs of the first group, then of the second, ...
  std::vector<int64_t> first_pack;  // of each group, and the number of packs
  std::vector<int64_t> fillers;     // by group: samples of shorter groups in its packs
};

// The packs of a group's own samples: packs of many samples are made alike (PackEvenly) where
// rule.packer is kBalanced; else by that packer.
Packing PackOwnSamples(const Lengths& lengths, const PackRule& rule);

// From the longest group to the shortest: the group's own samples are packed by rule.packer under
// its caps; packs are added until they make whole steps; room that is left takes shorter samples,
// those of the shortest group first, of these the longest that fits. So only the shortest group
// that is left can end with a step in which some rank lacks a pack. Where shorter samples run out
// before a step is whole, there are no shorter groups left. rule.caps, keep thresholds and `apart`
// are not read. `rule.oversize` decides on samples that break the caps of the last group alone.
GroupedPacking PackByGroups(const Lengths& lengths, std::span<const LengthGroup> groups,
                            const PackRule& rule);

// Work to deal the packs of groups by. Packs of text alone are full, so their tokens hardly differ
// and their attention does: the two parts are then tokens and squared lengths, each times the power
// of two (rounded down) that gives the largest of all packs 30 bits. Else that of WorkOf.
std::vector<PackWork> GroupWorkOf(std::span<const PackSums> sums, const PackTimes& times);

struct GroupedOrder {
  std::vector<int32_t> step_group;  // of each step
  // Step by step, each ranks x packs_per_rank of its group: a pack's index, or -1.
  std::vector<int64_t> order;
  int64_t curriculum_steps = 0;  // leading steps that the curriculum keeps to the shortest group
};

// Each group's packs dealt by Deal under `rule` (ranks, packs_per_rank and group are not read), the
// steps of all groups in random order: those of a group stay in theirs. Of the first
// `curriculum_steps` of training (counted over epochs of as many steps), those that are in this
// epoch run the shortest group alone, while it lasts. A step that lacks packs comes last.
GroupedOrder DealByGroups(std::span<const PackWork> work, std::span<const int64_t> first_pack,
                          std::span<const LengthGroup> groups, const DealRule& rule,
                          int64_t curriculum_steps);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_LENGTH_GROUPS_H_
