// The search over TP x PP x DP: for each, the exact partition; the best few simulated.
#ifndef EVENKEEL_PLANNER_SEARCH_SEARCH_H_
#define EVENKEEL_PLANNER_SEARCH_SEARCH_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "planner/cost/layer_profile.h"
#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/partition/partition_search.h"
#include "planner/plan.h"
#include "planner/simulate/step_simulation.h"

namespace evenkeel::planner {

// All degrees that the constraints, the model and the node allow, tensor-major; their product is
// the GPU count. Data parallel degrees above the packs of a step are left out unless nothing else
// remains: they would train on a larger batch than asked for.
std::vector<Parallelism> Parallelisms(const Job& job, double packs_per_step);

// Packs per rank and step: the nearest to what the global batch asks for, at least 1.
int64_t MicroBatches(double packs_per_step, int64_t data);

// One parallelism with its partition.
struct Candidate {
  Parallelism parallelism;
  int64_t micro_batches = 0;
  std::vector<int64_t> boundaries;     // P + 1 chain positions
  std::vector<KindCounts> recomputed;  // per stage
  std::vector<StageWork> stages;
  int64_t closed_form_optimum_ns =
      0;  // least of all partitions; refinement moves `boundaries` away from it
  int64_t score_ns =
      0;  // the same with data sync and optimizer, scaled to the requested global batch
  SimulatedStep step;        // only of the best few
  int64_t simulated_ns = 0;  // likewise, scaled
};

struct SearchResult {
  std::vector<Candidate> best;  // by simulated_ns; empty: nothing fits
  Proof proof;                  // but for the plan's own values
  bool stopped = false;
};

// `keep` candidates are refined, simulated and returned, the best first.
SearchResult Search(const Job& job, const Batching& batching, int64_t keep,
                    const std::function<bool()>& stop);

// The candidate for given boundaries and recompute counts, simulated; used for the ladder.
Candidate Evaluate(const Job& job, const LayerProfile& profile, const Parallelism& p,
                   int64_t micro_batches, std::vector<int64_t> boundaries,
                   std::vector<KindCounts> recomputed, const std::vector<PackShape>& packs);

// (m - 1) max_s T_s + sum_s T_s of given stages, ns; p2p as the partition search counts it.
int64_t ClosedForm(const std::vector<StageWork>& stages, int64_t micro_batches);

// Time per optimizer step of exactly the requested global batch, from that of a step of m x D
// packs.
int64_t ScaleToBatch(int64_t step_ns, double packs_per_step, int64_t micro_batches, int64_t data);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_SEARCH_H_
