// A plan while it is searched for: degrees, schedule, packs per rank, and how the chain is cut.
#ifndef EVENKEEL_PLANNER_SEARCH_CANDIDATE_H_
#define EVENKEEL_PLANNER_SEARCH_CANDIDATE_H_

#include <cstdint>
#include <vector>

#include "planner/plan.h"
#include "planner/recompute/stage_memory.h"
#include "planner/simulate/step_simulation.h"

namespace evenkeel::planner {

// Segments: chunk c of stage s is segment c P + s of the chain.
struct Candidate {
  Parallelism parallelism;
  Schedule schedule = Schedule::kOneFOneB;
  int64_t micro_batches = 0;
  std::vector<int64_t> boundaries;     // P v + 1 chain positions
  std::vector<ModeCounts> recomputed;  // per segment
  std::vector<StageWork> stages;       // per segment
  // Of 1F1B: the least of all partitions. Real packs may choose another partition than that.
  int64_t closed_form_optimum_ns = 0;
  // Step of mean packs, data sync and optimizer included, of the partition that the search began
  // with; scaled to the requested global batch where the search says so.
  int64_t score_ns = 0;
  SimulatedStep step;        // with real packs; not of all candidates
  int64_t simulated_ns = 0;  // its total, scaled to the requested global batch

  PipelineShape shape() const { return ShapeOf(parallelism, schedule, micro_batches); }
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_CANDIDATE_H_
