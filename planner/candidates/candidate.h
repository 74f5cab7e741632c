// A plan during the search: degrees, schedule, packs per rank, and how the chain is cut.
#ifndef EVENKEEL_PLANNER_CANDIDATES_CANDIDATE_H_
#define EVENKEEL_PLANNER_CANDIDATES_CANDIDATE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/base/stop.h"
#include "planner/cost/layer_profile.h"
#include "planner/job.h"
#include "planner/recompute/stage_memory.h"
#include "planner/simulate/step_simulation.h"

namespace evenkeel::planner {

// Chunk c of stage s is segment c P + s of the chain.
struct Candidate {
  Parallelism parallelism;
  Schedule schedule = Schedule::kOneFOneB;
  int64_t micro_batches = 0;
  std::optional<RecomputeSetting> setting;  // of all segments; nullopt: they have no common setting
  std::vector<int64_t> boundaries;          // P v + 1 chain positions
  std::vector<ModeCounts> recomputed;       // per segment
  std::vector<SegmentWork> segments;        // the work of each
  // For 1F1B, the closed form of the partition that the search began with: the least of all
  // partitions, unless a published method cut it. Real packs may choose another partition.
  int64_t closed_form_optimum_ns = 0;
  std::vector<int64_t> closed_form_boundaries;  // of that partition
  // Step of mean packs before finishing, data sync and optimizer included. Scaled to the requested
  // global batch where the search says so.
  int64_t score_ns = 0;
  SimulatedStep step;        // with real packs; not every candidate has it
  int64_t simulated_ns = 0;  // its total, scaled to the requested global batch

  PipelineShape shape() const { return ShapeOf(parallelism, schedule, micro_batches); }
};

// Returns the candidate with the given boundaries and recompute counts, simulated.
Candidate Evaluate(const Job& job, const LayerProfile& profile, const Parallelism& p,
                   int64_t micro_batches, std::vector<int64_t> boundaries,
                   std::vector<ModeCounts> recomputed, const std::vector<PackShape>& packs,
                   Schedule schedule = Schedule::kOneFOneB, const Stop& stop = {});

// Returns GPUs x days for all epochs if a step of m x D packs takes `step_ns` and the data makes
// `packs`. The last, holed step of an epoch takes as long as the others.
double GpuDays(const Job& job, int64_t step_ns, int64_t packs, const Candidate& candidate);

// Returns a lower bound, in ns, on the end of the candidate's last pass with mean packs.
int64_t ScheduleBound(const Candidate& candidate);

// Returns (m - 1) max_s T_s + sum_s T_s of the stages, ns. P2p counts as in the partition search.
int64_t ClosedForm(const std::vector<SegmentWork>& stages, int64_t micro_batches);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CANDIDATES_CANDIDATE_H_
