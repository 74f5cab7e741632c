// Packs and deals one dataset, with all figures: the answer of PackDataset and `evenkeelctl pack`.
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
  // Caps of 0 are derived (CapsRule::Balanced), the unit cap only if the data has units. If caps
  // are derived, so are the keep thresholds: Qv' = Qv, Qt' = Qt - 128.
  PackRule pack;
  DealRule deal;
  PackTimes times;
  PerEncoder<int64_t> unit_scales = 1;  // scales in Lengths::units
  // Packs and deals by PackAndDealByTime. Not with `groups`.
  bool by_time = false;
  bool window_is_free = false;  // for by_time: deal.window is the first to be tried
  bool bound = true;            // also prove a lower bound on the number of packs; not for groups

  // Packing groups, with their own caps, ranks and packs per rank. If empty, there is one group, by
  // `pack` and `deal`.
  std::vector<LengthGroup> groups;
  int64_t curriculum_steps = 0;  // for groups
  // Per sample, for groups; if empty, all tokens count; not owned.
  std::span<const int32_t> loss_tokens;
};

struct PackingResult {
  PackRule rule;  // as applied; with groups, the caps of the last one (units: 0 if uncapped)
  std::string caps_reason;  // empty if the caps were given
  Packing packing;
  std::vector<PackSums> sums;                // per pack
  std::vector<int64_t> order;                // steps x ranks x packs per rank
  int64_t window = 1;                        // DealRule::window of the order
  double order_gap = 0, idle_by_tokens = 0;  // by_time: see TimeLevelled
  PackBound bound;                           // `packs` is 0 if the bound was not asked for
  Balance balance;
  double samples_per_pack = 0;           // AVE-BS
  double pad_ratio = 0;                  // 0 because packs are laid end to end
  double unit_fill = 0, token_fill = 0;  // shares of the caps, without oversize packs
  GroupFigures groups;                   // empty without groups
  bool stopped = false;                  // `stop` ended the work; nothing else is valid
};

// Packs and deals. `stop` is polled between the parts of the work. Without samples there are no
// packs and no steps.
PackingResult PackAndDeal(const Lengths& lengths, const PackingJob& job, const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_PACK_DATASET_H_
