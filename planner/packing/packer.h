// One entry point to every packer of packing.h.
#ifndef EVENKEEL_PLANNER_PACKING_PACKER_H_
#define EVENKEEL_PLANNER_PACKING_PACKER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/base/stop.h"
#include "planner/packing/balanced.h"
#include "planner/packing/packing.h"
#include "planner/packing/time_packs.h"

namespace evenkeel::planner {

const char* PackerName(Packer packer);  // "balanced", "isf", "first_fit_decreasing", ...

struct PackRule {
  Packer packer = Packer::kBalanced;
  Caps caps;
  OversizePolicy oversize = OversizePolicy::kAlone;
  PackEffort effort = PackEffort::kThorough;  // for kBalanced
  uint64_t seed = 0;  // for ISF and next fit; the others depend on lengths only

  // For ISF: a closed pack is kept if it has at least keep_units (Qv'; 0: never because of its
  // units) or keep_tokens (Qt'). There are `iterations` (T) rounds.
  int64_t keep_units = 0;
  int64_t keep_tokens = 0;
  int64_t iterations = 10;

  // Number of samples of each dataset, in order. They sum to all samples, and no pack mixes
  // datasets. If empty, there is one dataset, or packs mix several.
  std::vector<int64_t> apart;

  // If set, packs are made level in time by this method, and `packer` is not asked. The result has
  // no packs if the method cannot make them.
  std::optional<TimeMethod> by_time = {};
  PackTimes times = {};  // for by_time

  Stop stop = {};
};

// Sets OmniBal's keep thresholds for the rule's caps: Qv' = Qv, Qt' = Qt - 128, at least 1.
void SetDefaultKeep(PackRule* rule);

// Packs the samples. The result is deterministic. Packs of one dataset (`apart`) follow those of
// the one before.
Packing Pack(const Lengths& lengths, const PackRule& rule);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_PACKER_H_
