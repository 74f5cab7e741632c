// The result of a computation. The core keeps it and does not read its bytes.
#ifndef EVENKEEL_SERVER_CORE_COMPUTED_PLAN_H_
#define EVENKEEL_SERVER_CORE_COMPUTED_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

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
  bool of_last_group = false;  // the figures are of steps of a plan's last packing group
};

struct ComputedPlan {
  std::string plan_id;
  std::string plan_bytes;  // v1::Plan, serialised deterministically
  PlanFacts facts;
  // v1::Timeline, serialised deterministically. Set if an evaluation asks for it.
  std::string timeline_bytes;

  // Plans of a comparison of offers, each with its own id; the plan above is the first of them.
  std::vector<ComputedPlan> offers;
  std::string left_out_bytes;  // v1::PlanJobResponse that contains only offers_left_out
  bool in_answer = true;       // false for an offer for which the answer had no room
};

enum class ComputeEnd {
  kDone,     // `*out` is the plan
  kStopped,  // hooks.stop asked for it
  kDefect,   // the planner's own checker refused the plan; `*faults` says why
  kRefused,  // for evaluations: the plan to predict is invalid
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CORE_COMPUTED_PLAN_H_
