// One plan, from job to bytes. Free of gRPC and of protobuf types, so that any thread and any cache
// can hold it.
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
  double step_seconds = 0;  // 0 where it does not fit
  double gpu_days = 0;      // likewise
  int64_t unit_cap = 0, token_cap = 0;
};

struct ComputedPlan {
  std::string plan_id;
  std::string plan_bytes;  // v1::Plan, serialised deterministically
  PlanFacts facts;
  std::string timeline_bytes;  // likewise v1::Timeline, of an evaluation that asks for it

  // Of a comparison of offers, whose plan is the first of them; each has its own id.
  std::vector<ComputedPlan> offers;
  std::string left_out_bytes;  // v1::PlanJobResponse with nothing but offers_left_out
  bool in_answer = true;       // of an offer: false where the answer was full
};

enum class ComputeEnd {
  kDone,     // `*out` is the plan
  kStopped,  // hooks.stop said so
  kDefect,   // the planner's own checker refused the plan; `*faults` says why
  kRefused,  // of evaluations: the plan to predict can not be
};

// `plan_id` is PlanId(job). The same job gives the same bytes.
ComputeEnd ComputePlan(const planner::Job& job, const std::string& plan_id,
                       const planner::PlanHooks& hooks, ComputedPlan* out,
                       std::vector<std::string>* faults);

// A plan that MakePlan made of the job, as bytes.
ComputedPlan ComputedOf(const planner::Job& job, const planner::Plan& plan,
                        const std::string& plan_id);

// GPU-days of a plan over those of another, less 1; nullopt unless both fit.
std::optional<double> SlowerBy(const PlanFacts& plan, const PlanFacts& best);

// Longest timeline that is answered: packs of a rank x stages x virtual stages. The longest are
// some 3 MiB: gRPC clients take messages of 4 MiB, unless told otherwise.
inline constexpr int64_t kTimelineCellsAtMost = 16384;

// Predicts the caller's plan. Where the batch rule leaves caps to derive, they are `unit_cap` and
// `token_cap`, those of our own plan, so that both are compared over the same packs. Without id.
struct ComputedEvaluation {
  ComputeEnd end = ComputeEnd::kDefect;
  ComputedPlan plan;                  // of kDone
  std::vector<Violation> violations;  // of kRefused
};
ComputedEvaluation ComputeEvaluation(const EvaluationJob& evaluation, int64_t unit_cap,
                                     int64_t token_cap, const planner::Stop& stop = {});

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_COMPUTE_PLAN_H_
