// The second entry point of the planner: predicts a plan that somebody else wrote. Pure, like
// MakePlan.
#ifndef EVENKEEL_PLANNER_EVALUATE_PLAN_H_
#define EVENKEEL_PLANNER_EVALUATE_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/base/stop.h"
#include "planner/cost/layer_profile.h"
#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/plan.h"
#include "planner/search/search.h"

namespace evenkeel::planner {

// One stage's share of one pass through the model, front to back.
struct ChunkSpec {
  // Runs of transformer layers in the order of the model. `first` and `chunk` are ignored. Other
  // kinds of layers may be left out: they lie where the contract says (Constraints::stage_layers).
  std::vector<LayerGroup> layers;
};

// The decisions of the caller. The rest of the plan follows from the job.
struct PlanSpec {
  Parallelism parallelism;
  Schedule schedule = Schedule::kOneFOneB;
  // Size pipeline x virtual_stages; chunk c of stage s is at c x pipeline + s.
  std::vector<ChunkSpec> chunks;
  int64_t micro_batches = 0;  // packs per rank and step; 0 means the number that the global batch
                              // asks for
  // `micro_batches` of the plan that the caller started from. It counts only if MicroBatchChoices
  // has it: schedules with chunks may round the number down to a multiple of the pipeline.
  int64_t planned_micro_batches = 0;
};

// A value of the spec that is invalid. `field` is its path, such as "chunks[2].layers[0].count".
struct SpecFault {
  std::string field;
  std::string message;  // also says what would be accepted
};

struct Evaluation {
  std::vector<SpecFault> faults;  // if not empty, nothing else is set
  Batching batching;
  Candidate candidate;   // the plan as the search would hold it
  LayerProfile profile;  // profile of its layers
  // Filled in: parallelism, schedule, batch_rule, stages, prediction, goodput, offload, padded,
  // figures, memory_fit, and of the proof step_ns and plan_lower_bound_ns. `misfit` is set if a
  // stage or its host lacks memory, and names the stage that lacks the most.
  Plan plan;
};

// Evaluates the plan on packs made under the job's caps. Ignores the job's constraints on degrees
// and recompute.
Evaluation EvaluatePlan(const Job& job, const PlanSpec& spec);

// Evaluates the plan on packs that exist already.
Evaluation EvaluatePlan(const Job& job, const Batching& batching, const PlanSpec& spec,
                        const Stop& stop = {});

// Returns the sets of parts that the spec recomputes. The profile that evaluates it must have them
// all.
std::vector<RecomputeParts> PartsIn(const PlanSpec& spec);

// Returns the spec that evaluates to this plan.
PlanSpec SpecOf(const Plan& plan);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_EVALUATE_PLAN_H_
