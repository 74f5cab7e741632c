// Computes, in this process, what the service answers to a request: validation, planning and
// conversion, like `evenkeelctl --local`.
#ifndef EVENKEEL_TESTS_METAMORPHIC_PLANNING_H_
#define EVENKEEL_TESTS_METAMORPHIC_PLANNING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/v1/planner_service.pb.h"

namespace evenkeel::metamorphic {

enum class End {
  kPlanned,  // a plan or a misfit
  kRefused,  // INVALID_ARGUMENT; `faults` are the violations
  kDefect,   // INTERNAL: the planner's own check refused the plan, or the answer cannot be read
  kLate,     // more CPU time than a plan may take
  kThrew,    // an exception
};

struct Answer {
  End end = End::kThrew;
  v1::PlanJobResponse response;
  std::string bytes;  // bytes of response.plan()
  std::vector<std::string> faults;

  const v1::Plan& plan() const { return response.plan(); }
  bool planned() const { return end == End::kPlanned; }
  bool fits() const { return planned() && !plan().has_misfit(); }
};

// CPU time after which a plan, or all plans of a comparison, counts as late. This guards against
// plans that never end; deadlines have separate tests.
inline constexpr double kLateSeconds = 60;

// Plans, with a stop after this much CPU time. A plan that ends later is late.
Answer PlanOf(const v1::PlanJobRequest& request, double stop_seconds = kLateSeconds);

// Returns the CPU time of this process so far.
double CpuSeconds();

// Predicts the caller's plan under the job's own caps. REQUIRES: the job or the plan's batch rule
// gives both caps.
Answer EvaluationOf(const v1::EvaluatePlanRequest& request);

// Returns the number of transformer layers of the model, as validation understands it, or 0 if the
// request is refused.
int64_t LayersOf(const v1::PlanJobRequest& request);

}  // namespace evenkeel::metamorphic

#endif  // EVENKEEL_TESTS_METAMORPHIC_PLANNING_H_
