// What the service answers to a request, computed in this process: validation, planning and
// conversion, as `evenkeelctl --local` does it.
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
  kDefect,   // INTERNAL: the planner's own check refused the plan, or the answer can not be read
  kLate,     // more CPU time than a plan may take
  kThrew,    // an exception
};

struct Answer {
  End end = End::kThrew;
  v1::PlanJobResponse response;
  std::string bytes;  // of response.plan()
  std::vector<std::string> faults;

  const v1::Plan& plan() const { return response.plan(); }
  bool planned() const { return end == End::kPlanned; }
  bool fits() const { return planned() && !plan().has_misfit(); }
};

// CPU time after which a plan, or all plans of a comparison, counts as late. A guard against plans
// that never end; deadlines have tests of their own.
inline constexpr double kLateSeconds = 60;

// Plans with a stop after so much CPU time; what ends later is late.
Answer PlanOf(const v1::PlanJobRequest& request, double stop_seconds = kLateSeconds);

// Returns the CPU time of this process so far.
double CpuSeconds();

// Predicts the caller's plan under the job's own caps. REQUIRES that the job gives both caps, or
// the plan's batch rule does.
Answer EvaluationOf(const v1::EvaluatePlanRequest& request);

// Returns the transformer layers of the model, as validation understands it; 0 if the request is
// refused.
int64_t LayersOf(const v1::PlanJobRequest& request);

}  // namespace evenkeel::metamorphic

#endif  // EVENKEEL_TESTS_METAMORPHIC_PLANNING_H_
