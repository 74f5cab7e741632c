// Packing groups: samples of similar length are packed together, longer packs are filled up with
// shorter samples, and each step runs packs of one group. This is hierarchical balance packing
// (HBP, arXiv 2503.07680, algorithms 2 and 5 to 7); docs/ALGORITHMS.md lists the differences from
// the publication.
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

// Caps::units of a group that limits tokens only. Its packs are made without regard to units.
inline constexpr int64_t kNoUnitCap = std::numeric_limits<int64_t>::max();

// One group and how its steps run. `longest` and caps.tokens ascend from group to group, and
// caps.units never decreases. There are at most 250 groups.
struct LengthGroup {
  int64_t longest = 0;         // tokens of its longest sample; longer ones go to the last group
  Caps caps;                   // caps of its packs
  int64_t context = 1;         // GPUs that share the tokens of a pack
  int64_t ranks = 1;           // data parallel
  int64_t packs_per_rank = 1;  // per step

  int64_t step_packs() const { return ranks * packs_per_rank; }
};

// Returns the index of the group of a sample with `tokens` tokens.
size_t GroupOf(std::span<const LengthGroup> groups, int64_t tokens);

struct GroupedPacking {
  Packing packing;                  // packs of the first group, then of the second, ...
  std::vector<int64_t> first_pack;  // of each group, then the number of packs
  std::vector<int64_t> fillers;     // by group: samples of shorter groups in its packs
};

// Packs a group's own samples. If rule.packer is kBalanced, packs of many samples are made alike
// (PackEvenly). Otherwise rule.packer packs them.
Packing PackOwnSamples(const Lengths& lengths, const PackRule& rule);

// Packs the groups from the longest to the shortest. rule.packer packs the group's own samples
// under its caps, and packs are added until they make whole steps. The room that is left takes
// shorter samples: those of the shortest group first, and among them the longest that fits. So only
// the shortest group that is left can end with a step in which some rank lacks a pack: if shorter
// samples run out before a step is whole, there are no shorter groups left. rule.caps, the keep
// thresholds and `apart` are ignored. `rule.oversize` applies only to samples that break the caps
// of the last group.
GroupedPacking PackByGroups(const Lengths& lengths, std::span<const LengthGroup> groups,
                            const PackRule& rule);

// Returns the work by which the packs of groups are dealt. Packs without units are full, so their
// tokens hardly differ but their attention does. The two parts are then tokens and squared lengths,
// each times the power of two (rounded down) that gives the largest of all packs 30 bits. For other
// packs, the result is that of WorkOf.
std::vector<PackWork> GroupWorkOf(std::span<const PackSums> sums, const PackTimes& times);

struct GroupedOrder {
  std::vector<int32_t> step_group;  // group of each step
  // Packs step by step, each step with ranks x packs_per_rank of its group: a pack's index, or -1.
  std::vector<int64_t> order;
  int64_t curriculum_steps = 0;  // number of leading steps that the curriculum reserves for the
                                 // shortest group
};

// Deals each group's packs by Deal under `rule` (whose ranks, packs_per_rank and group are
// ignored), and puts the steps of all groups in random order; the steps of one group keep their
// order. The first `curriculum_steps` of training run only the shortest group, as long as it has
// steps. Epochs count as equally long; this call orders those steps that fall into its epoch. A
// step that lacks packs comes last.
GroupedOrder DealByGroups(std::span<const PackWork> work, std::span<const int64_t> first_pack,
                          std::span<const LengthGroup> groups, const DealRule& rule,
                          int64_t curriculum_steps);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_LENGTH_GROUPS_H_
