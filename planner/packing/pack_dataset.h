// One dataset packed and dealt, with every figure: what PackDataset and `evenkeelctl pack` answer.
#ifndef EVENKEEL_PLANNER_PACKING_PACK_DATASET_H_
#define EVENKEEL_PLANNER_PACKING_PACK_DATASET_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "planner/base/stop.h"
#include "planner/packing/deal.h"
#include "planner/packing/group_figures.h"
#include "planner/packing/length_groups.h"
#include "planner/packing/metrics.h"
#include "planner/packing/pack_bound.h"
#include "planner/packing/packer.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

struct PackingJob {
  // Caps of 0 are derived (CapsRule::Balanced), that of units only where the data has units; with
  // them the keep thresholds: Qv' = Qv, Qt' = Qt - 128.
  PackRule pack;
  DealRule deal;
  PackTimes times;
  bool bound = true;  // prove a lower bound on the number of packs too; not of groups

  // Packing groups, with their own caps, ranks and packs per rank. Empty: one group, by `pack` and
  // `deal`.
  std::vector<LengthGroup> groups;
  int64_t curriculum_steps = 0;          // of groups
  std::span<const int32_t> loss_tokens;  // per sample, for groups. Empty: all tokens. Not owned
};

struct PackingResult {
  PackRule rule;            // as carried out; with groups, caps of the last (units: 0 for none)
  std::string caps_reason;  // empty where the caps were given
  Packing packing;
  std::vector<PackSums> sums;  // per pack
  std::vector<int64_t> order;  // steps x ranks x packs per rank
  PackBound bound;             // packs: 0 if it was not asked for
  Balance balance;
  double samples_per_pack = 0;           // AVE-BS
  double pad_ratio = 0;                  // 0: packs are laid end to end
  double unit_fill = 0, token_fill = 0;  // of the caps, oversize packs left out
  GroupFigures groups;                   // empty without groups
  bool stopped = false;                  // `stop` said so: nothing else is valid
};

// `stop` is asked between the parts of the work. No samples: no packs and no steps.
PackingResult PackAndDeal(const Lengths& lengths, const PackingJob& job, const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_PACK_DATASET_H_
