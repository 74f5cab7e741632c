// The search over all parallelisms: for each that no bound dismisses, the best partition; the best
// few simulated with the real spread of packs.
#ifndef EVENKEEL_PLANNER_SEARCH_SEARCH_H_
#define EVENKEEL_PLANNER_SEARCH_SEARCH_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "planner/cost/layer_profile.h"
#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/partition/methods.h"
#include "planner/partition/partition_search.h"
#include "planner/plan.h"
#include "planner/search/parallelisms.h"
#include "planner/simulate/step_simulation.h"

namespace evenkeel::planner {

// One parallelism with its partition. Segments: chunk c of stage s is segment c P + s of the chain.
struct Candidate {
  Parallelism parallelism;
  Schedule schedule = Schedule::kOneFOneB;
  int64_t micro_batches = 0;
  std::vector<int64_t> boundaries;     // P v + 1 chain positions
  std::vector<ModeCounts> recomputed;  // per segment
  std::vector<StageWork> stages;       // per segment
  int64_t closed_form_optimum_ns =
      0;  // least of all partitions; refinement moves `boundaries` away from it
  // Step of mean packs, data sync and optimizer included, scaled to the requested global batch:
  // before refinement.
  int64_t score_ns = 0;
  int64_t bound_ns = 0;  // likewise: no plan of these degrees and this schedule has a shorter step
  SimulatedStep step;    // only of the best few
  int64_t simulated_ns = 0;  // likewise, scaled

  PipelineShape shape() const { return ShapeOf(parallelism, schedule, micro_batches); }
};

struct SearchResult {
  std::vector<Candidate> best;  // by simulated_ns; empty: nothing fits
  Proof proof;                  // but for the plan's own values
  bool stopped = false;
};

// `keep` candidates of different degrees (virtual stages apart) are refined, simulated and
// returned, the best first. Only plans whose step is shorter than `beat_ns` (scaled to the
// requested global batch, mean packs) are looked for; 0: any.
SearchResult Search(const Job& job, const Batching& batching, int64_t keep,
                    const std::function<bool()>& stop, int64_t beat_ns = 0);

// The candidate for given boundaries and recompute counts, simulated; used for the ladder.
Candidate Evaluate(const Job& job, const LayerProfile& profile, const Parallelism& p,
                   int64_t micro_batches, std::vector<int64_t> boundaries,
                   std::vector<ModeCounts> recomputed, const std::vector<PackShape>& packs,
                   Schedule schedule = Schedule::kOneFOneB);

// No run of the candidate's schedule over its stages, of mean packs, ends its last pass sooner, ns.
int64_t ScheduleBound(const Candidate& candidate);

// (m - 1) max_s T_s + sum_s T_s of given stages, ns; p2p as the partition search counts it.
int64_t ClosedForm(const std::vector<StageWork>& stages, int64_t micro_batches);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_SEARCH_H_
