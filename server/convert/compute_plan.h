// Computes one plan, from job to bytes. Free of gRPC and of protobuf types, so that any thread and
// any cache can hold it.
#ifndef EVENKEEL_SERVER_CONVERT_COMPUTE_PLAN_H_
#define EVENKEEL_SERVER_CONVERT_COMPUTE_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/base/stop.h"
#include "planner/job.h"
#include "planner/make_plan.h"
#include "planner/plan.h"
#include "server/convert/from_proto.h"
#include "server/convert/violations.h"

namespace evenkeel::server {

// A plan in one line.
struct PlanFacts {
  std::string model;
  std::string gpu_type;
  int64_t gpu_count = 0;
  bool fits = false;
  double step_seconds = 0;  // 0 if the job does not fit
  double gpu_days = 0;      // 0 if the job does not fit
  int64_t unit_cap = 0, token_cap = 0;
};

struct ComputedPlan {
  std::string plan_id;
  std::string plan_bytes;  // v1::Plan, serialised deterministically
  PlanFacts facts;
  // v1::Timeline, serialised deterministically, if an evaluation asks for it
  std::string timeline_bytes;

  // Plans of a comparison of offers, each with its own id; the plan above is the first of them.
  std::vector<ComputedPlan> offers;
  std::string left_out_bytes;  // v1::PlanJobResponse with nothing but offers_left_out
  bool in_answer = true;       // false for an offer that the answer had no room for
};

enum class ComputeEnd {
  kDone,     // `*out` is the plan
  kStopped,  // hooks.stop asked for it
  kDefect,   // the planner's own checker refused the plan; `*faults` says why
  kRefused,  // for evaluations: the plan to predict is invalid
};

// `plan_id` is PlanId(job). The same job gives the same bytes.
ComputeEnd ComputePlan(const planner::Job& job, const std::string& plan_id,
                       const planner::PlanHooks& hooks, ComputedPlan* out,
                       std::vector<std::string>* faults);

// Serialises a plan that MakePlan made of the job.
ComputedPlan ComputedOf(const planner::Job& job, const planner::Plan& plan,
                        const std::string& plan_id);

// Returns the GPU-days of a plan over those of another, less 1, or nullopt unless both fit.
std::optional<double> SlowerBy(const PlanFacts& plan, const PlanFacts& best);

// Limit on the length of a timeline: packs of a rank x stages x virtual stages. The longest ones
// take some 3 MiB; gRPC clients take messages of 4 MiB by default.
inline constexpr int64_t kTimelineCellsAtMost = 16384;

// Predicts the caller's plan. If the batch rule leaves caps to derive, they are `unit_cap` and
// `token_cap`, those of our own plan, so that both plans are compared over the same packs. The
// result has no id.
struct ComputedEvaluation {
  ComputeEnd end = ComputeEnd::kDefect;
  ComputedPlan plan;                  // for kDone
  std::vector<Violation> violations;  // for kRefused
};
ComputedEvaluation ComputeEvaluation(const EvaluationJob& evaluation, int64_t unit_cap,
                                     int64_t token_cap, const planner::Stop& stop = {});

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_COMPUTE_PLAN_H_
