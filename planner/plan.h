// The planner's output. Times are nanoseconds, sizes are bytes, both per GPU unless stated
// otherwise.
#ifndef EVENKEEL_PLANNER_PLAN_H_
#define EVENKEEL_PLANNER_PLAN_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/job.h"
#include "planner/plan/alternatives.h"
#include "planner/plan/batch_rule.h"
#include "planner/plan/grouping.h"
#include "planner/plan/launch_settings.h"
#include "planner/plan/misfit.h"
#include "planner/plan/offload_plan.h"
#include "planner/plan/prediction.h"
#include "planner/plan/proof.h"
#include "planner/plan/stages.h"
#include "planner/space/parallelism.h"
#include "planner/space/placement.h"

namespace evenkeel::planner {

// Version of the plans that MakePlan computes. Increase it whenever any plan changes.
inline constexpr int64_t kPlannerRevision = 47;

struct Plan {
  std::optional<Misfit> misfit;  // only if it does not fit, as predicted
  bool fits() const { return !misfit; }
  MemoryFit memory_fit = MemoryFit::kDoesNotFit;
  std::vector<FigureBasis> figures;  // those of the job and of the cost model

  BatchRule batch_rule;
  Parallelism parallelism;
  Schedule schedule = Schedule::kOneFOneB;
  std::vector<StagePlan> stages;
  Prediction prediction;
  std::vector<LadderRung> ladder;
  Proof proof;
  // Time per sample over that of the best plan that a short search finds without the trainer's
  // limits, less 1. nullopt if no limit may cost anything.
  std::optional<double> trainer_limits_cost;
  // Time per sample of the best plan that a short search finds in which only
  // Parallelism::encoder_data differs, over this plan's, less 1. nullopt if there is none.
  std::optional<double> encoder_data_gain;
  std::optional<PaddedBatches> padded;  // if the job pads micro-batches
  std::vector<Alternative> alternatives;
  std::vector<OtherSize> other_sizes;  // if the job asks for them
  // The plan with each dispatcher that the trainer and the cluster have, quickest first. Empty if
  // experts are not spread over ranks.
  std::vector<DispatcherTime> expert_dispatchers;
  std::optional<OffloadPlan> offload;            // if the job asks for it
  std::vector<OtherPrecision> other_precisions;  // if the job asks for them
  std::vector<OtherSharding> other_shardings;    // if the job asks for them
  std::optional<Goodput> goodput;                // if the job says how often nodes fail
  Placement placement;

  // If the plan has packing groups, batch_rule and prediction summarise them, and parallelism and
  // stages are those of the last group.
  std::optional<Grouping> grouping;

  std::vector<Launch> launch;  // in the order of LaunchRequest::frameworks; empty if !fits()
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PLAN_H_
