// The partition of least step time under 1F1B with mean packs, with proof.
#ifndef EVENKEEL_PLANNER_PARTITION_CERTIFIED_SEARCH_H_
#define EVENKEEL_PLANNER_PARTITION_CERTIFIED_SEARCH_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "planner/base/stop.h"
#include "planner/partition/segment_table.h"
#include "planner/partition/step_costs.h"

namespace evenkeel::planner {

enum class CertifiedEnd {
  kOptimal,  // no partition and recompute of this parallelism has a shorter step
  kBounded,  // work ran out, or limits.step_ns was proven: step_ns >= optimum >= lower_bound_ns
  kUnfit,    // no partition fits
  kStopped   // `stop` said so; nothing else means anything
};

struct CertifiedPartition {
  CertifiedEnd end = CertifiedEnd::kUnfit;
  std::vector<int64_t> boundaries;  // P + 1 chain positions; each stage with its least recompute
  int64_t step_ns = 0;              // EqualPackStep of these; kNoPlan under kUnfit
  int64_t lower_bound_ns = 0;       // of any partition; equal to step_ns under kOptimal
  int64_t nodes = 0;                // partial partitions looked at
  int64_t simulations = 0;          // whole and partial pipelines
  int64_t events = 0;               // forwards and backwards simulated, or bounds worked out
};

struct CertifyLimits {
  int64_t step_ns = kNoPlan;   // steps from here on are of no interest
  int64_t events = 4'000'000;  // some 10 ms; more than any published model pair needs
};

// Bound and branch over the boundaries, from the last stage to the first. Least recompute per stage
// is optimal, since no step gets longer where an operation gets shorter. `starts` (boundaries; may
// be empty, those that do not fit are skipped) are improved by local search and give the first
// incumbent, beside the optimum of the closed form. The result is the same on every platform, and
// depends on `starts` only among steps of equal time or where work runs out.
CertifiedPartition CertifyPartition(const SegmentTable& table,
                                    const std::vector<std::vector<int64_t>>& starts,
                                    const CertifyLimits& limits, const Stop& stop);

// No partition of this table has a step shorter than this and than `limit`: the bound that the
// search begins with. The lower the limit, the less work. kNoPlan: none fits.
int64_t StepLowerBound(const SegmentTable& table, int64_t limit, const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PARTITION_CERTIFIED_SEARCH_H_
