// Finds the partition of least step time under 1F1B with mean packs, and proves it.
#ifndef EVENKEEL_PLANNER_PARTITION_CERTIFIED_SEARCH_H_
#define EVENKEEL_PLANNER_PARTITION_CERTIFIED_SEARCH_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "planner/base/stop.h"
#include "planner/partition/segment_table.h"
#include "planner/partition/step_costs.h"

namespace evenkeel::planner {

// Layers by which a local search moves a boundary.
inline constexpr int64_t kBoundaryMoves[] = {-1, 1, -2, 2, -3, 3};

enum class CertifiedEnd {
  kOptimal,  // no partition and recompute of this parallelism gives a shorter step
  kBounded,  // work ran out, or the bound reached limits.step_ns: step_ns >= optimum >=
             // lower_bound_ns
  kUnfit,    // no partition fits
  kStopped   // `stop` ended the work; nothing else is valid
};

struct CertifiedPartition {
  CertifiedEnd end = CertifiedEnd::kUnfit;
  std::vector<int64_t> boundaries;  // P + 1 chain positions; each stage with its least recompute
  int64_t step_ns = 0;              // EqualPackStep of the stages; kNoPlan under kUnfit
  int64_t lower_bound_ns = 0;       // holds for every partition; equal to step_ns under kOptimal
  int64_t nodes = 0;                // partial partitions examined
  int64_t simulations = 0;          // whole and partial pipelines
  int64_t events = 0;               // forwards and backwards simulated, or bounds computed
};

struct CertifyLimits {
  int64_t step_ns = kNoPlan;   // steps this long or longer are of no interest
  int64_t events = 4'000'000;  // about 10 ms of work; more than any published model pair needs
  bool starts_fit = false;     // one of the starts fits: the closed form is not looked for
};

// Searches by branch and bound over the boundaries, from the last stage to the first. The least
// recompute per stage is optimal, since a step never gets longer if an operation gets shorter.
// `starts` are boundaries and may be empty; those that do not fit are skipped. The first incumbent
// is the best of the starts and, unless they are known to fit, of the optimum of the closed form,
// each improved by local search. The
// result is the same on every platform. It depends on `starts` only among steps of equal time or if
// the work runs out.
CertifiedPartition CertifyPartition(const SegmentTable& table,
                                    const std::vector<std::vector<int64_t>>& starts,
                                    const CertifyLimits& limits, const Stop& stop);

// Returns the lower bound with which the search begins: no partition of this table has a step
// shorter than the smaller of it and `limit`. A lower limit takes less work. Returns kNoPlan if no
// partition fits.
int64_t StepLowerBound(const SegmentTable& table, int64_t limit, const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PARTITION_CERTIFIED_SEARCH_H_
