// Computes one plan, from job to bytes.
#ifndef EVENKEEL_SERVER_PLANNING_COMPUTE_PLAN_H_
#define EVENKEEL_SERVER_PLANNING_COMPUTE_PLAN_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/base/stop.h"
#include "planner/job.h"
#include "planner/make_plan.h"
#include "planner/plan.h"
#include "server/base/violation.h"
#include "server/convert/job/from_proto.h"
#include "server/core/computed_plan.h"

namespace evenkeel::server {

// Computes a plan. `plan_id` is PlanId(job). The same job gives the same bytes.
ComputeEnd ComputePlan(const planner::Job& job, const std::string& plan_id,
                       const planner::PlanHooks& hooks, ComputedPlan* out,
                       std::vector<std::string>* faults);

// Computes a plan by MakeShortPlan. It is an estimate of the plan that `plan_id` names.
ComputeEnd ComputeShortPlan(const planner::Job& job, const std::string& plan_id,
                            const planner::PlanHooks& hooks, ComputedPlan* out,
                            std::vector<std::string>* faults);

// Has the signature of ComputePlan; tests pass their own.
using ComputeFunction =
    std::function<ComputeEnd(const planner::Job&, const std::string& plan_id,
                             const planner::PlanHooks&, ComputedPlan*, std::vector<std::string>*)>;

// Serialises a plan that MakePlan made of the job.
ComputedPlan ComputedOf(const planner::Job& job, const planner::Plan& plan,
                        const std::string& plan_id);

// Returns the GPU-days of a plan divided by those of another, less 1, or nullopt unless both fit
// and are of whole plans.
std::optional<double> SlowerBy(const PlanFacts& plan, const PlanFacts& best);

// Limit on the length of a timeline: packs of a rank x stages x virtual stages. The longest
// timelines take about 3 MiB. gRPC clients accept messages of up to 4 MiB by default.
inline constexpr int64_t kTimelineCellsAtMost = 16384;

// Predicts the caller's plan. If the batch rule leaves caps to derive, it gets `unit_cap` and
// `token_cap`, the caps of our own plan, so that both plans are compared over the same packs. If
// these are 0, caps are derived from the data. The result has no id.
struct ComputedEvaluation {
  ComputeEnd end = ComputeEnd::kDefect;
  ComputedPlan plan;                  // set for kDone
  std::vector<Violation> violations;  // set for kRefused
};
ComputedEvaluation ComputeEvaluation(const EvaluationJob& evaluation, int64_t unit_cap,
                                     int64_t token_cap, const planner::Stop& stop = {});

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_PLANNING_COMPUTE_PLAN_H_
