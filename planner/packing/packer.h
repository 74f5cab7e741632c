// Every packer by its name (packing.h).
#ifndef EVENKEEL_PLANNER_PACKING_PACKER_H_
#define EVENKEEL_PLANNER_PACKING_PACKER_H_

#include <cstdint>
#include <vector>

#include "planner/base/stop.h"
#include "planner/packing/balanced.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

const char* PackerName(Packer packer);  // "balanced", "isf", "first_fit_decreasing", ...

struct PackRule {
  Packer packer = Packer::kBalanced;
  Caps caps;
  OversizePolicy oversize = OversizePolicy::kAlone;
  PackEffort effort = PackEffort::kThorough;  // of kBalanced
  uint64_t seed = 0;  // of ISF's and next fit's order; the others depend on lengths alone

  // ISF: a closed pack is kept with at least keep_units (Qv'; 0: never for its units) or
  // keep_tokens (Qt'); T rounds.
  int64_t keep_units = 0;
  int64_t keep_tokens = 0;
  int64_t iterations = 10;

  // Samples of each dataset, in order, summing to all: packs of each hold its own samples alone.
  // Empty: one dataset, or several mixed within packs.
  std::vector<int64_t> apart;

  Stop stop = {};
};

// OmniBal's thresholds for the rule's caps: Qv' = Qv, Qt' = Qt - 128, at least 1.
void SetUsualKeep(PackRule* rule);

// Deterministic. Packs of one part follow those of the part before it.
Packing Pack(const Lengths& lengths, const PackRule& rule);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_PACKER_H_
