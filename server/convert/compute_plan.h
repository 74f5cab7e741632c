// One plan, from job to bytes. Free of gRPC and of protobuf types, so that any thread and any cache
// can hold it.
#ifndef EVENKEEL_SERVER_CONVERT_COMPUTE_PLAN_H_
#define EVENKEEL_SERVER_CONVERT_COMPUTE_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "planner/job.h"
#include "planner/make_plan.h"

namespace evenkeel::server {

// A plan in one line.
struct PlanFacts {
  std::string model;
  std::string gpu_type;
  int64_t gpu_count = 0;
  bool fits = false;
  double step_seconds = 0;  // 0 where it does not fit
  double gpu_days = 0;      // likewise
};

struct ComputedPlan {
  std::string plan_id;
  std::string plan_bytes;  // v1::Plan, serialised deterministically
  PlanFacts facts;
};

enum class ComputeEnd {
  kDone,     // `*out` is the plan
  kStopped,  // hooks.stop said so
  kDefect,   // the planner's own checker refused the plan; `*faults` says why
};

// `plan_id` is PlanId(job). The same job gives the same bytes.
ComputeEnd ComputePlan(const planner::Job& job, const std::string& plan_id,
                       const planner::PlanHooks& hooks, ComputedPlan* out,
                       std::vector<std::string>* faults);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_COMPUTE_PLAN_H_
