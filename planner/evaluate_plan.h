// The planner's second door: the predictions for a plan that somebody else wrote. Pure, like
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
  // Transformer layers in the order of the model, as runs. `first` and `chunk` are not looked at;
  // other kinds of layers may be left out: they lie where the contract says
  // (Constraints::stage_layers).
  std::vector<LayerGroup> layers;
};

// What a caller decides; the rest follows from the job.
struct PlanSpec {
  Parallelism parallelism;
  Schedule schedule = Schedule::kOneFOneB;
  std::vector<ChunkSpec>
      chunks;                 // pipeline x virtual_stages; chunk c of stage s at c x pipeline + s
  int64_t micro_batches = 0;  // packs per rank and step; 0: what the global batch asks for
};

// What of the spec can not be, by its path, such as "chunks[2].layers[0].count".
struct SpecFault {
  std::string field;
  std::string message;  // with what would be accepted
};

struct Evaluation {
  std::vector<SpecFault> faults;  // not empty: nothing else is set
  Batching batching;
  Candidate candidate;   // the plan as the search would hold it
  LayerProfile profile;  // of its layers
  // stages, prediction, batch_rule, figures and the proof's step and plan_lower_bound; `fits` says
  // whether every stage has the memory, and `misfit` which lacks most.
  Plan plan;
};

// The job's caps make the packs; its constraints on degrees and recompute are not looked at.
Evaluation EvaluatePlan(const Job& job, const PlanSpec& spec);

// The same for packs that are there already.
Evaluation EvaluatePlan(const Job& job, const Batching& batching, const PlanSpec& spec,
                        const Stop& stop = {});

// Sets of parts that the spec recomputes: the profile that it is evaluated by is to have them all.
std::vector<RecomputeParts> PartsIn(const PlanSpec& spec);

// The spec that evaluates to this plan.
PlanSpec SpecOf(const Plan& plan);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_EVALUATE_PLAN_H_
