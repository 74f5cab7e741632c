// Entry point of the planner: compares one job on several clusters or GPU counts. Pure, like
// MakePlan.
#ifndef EVENKEEL_PLANNER_OFFERS_H_
#define EVENKEEL_PLANNER_OFFERS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/job.h"
#include "planner/make_plan.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// One of the compared jobs. Its time and cost are those expected of the training: they include
// restarts and checkpoints if the job says how often nodes fail.
struct Offer {
  size_t job = 0;         // index of the job
  bool possible = false;  // some degrees satisfy its constraints; otherwise there is no plan
  // No plan can meet the deadline: even the model's FLOPs at the GPUs' peak take longer. The job is
  // not planned. Set under kFewestGpus only.
  bool too_few = false;
  std::optional<Plan> plan;  // only if the job was planned
  bool fits() const { return plan && plan->fits(); }
  double seconds = 0;  // time of the whole training; set only if the plan fits
  double gpu_days = 0, cost = 0;
  bool meets_deadline = false;  // without a deadline: whether the plan fits
};

struct Offers {
  PlanEnd end = PlanEnd::kStopped;  // the first job's end that is not kComplete
  std::vector<Offer> offers;        // best first
  std::vector<std::string> faults;  // only if end is kCheckFailed
};

// Plans each job and sorts the plans, best first, by the objective of the first job. The jobs are
// the same except for the cluster and its figures: pools of a cluster, or GPU counts that are free
// now. Plans that meet the deadline come before others that fit, and these before the rest; then
//   kStepTime: least seconds;  kGpuDays: least GPU-days;  kCost: least cost, jobs without a
//   price last;  kFewestGpus: plans that meet the deadline by GPUs, then seconds; others by
//   seconds.
// Ties keep their order. Under kFewestGpus, jobs are planned by ascending GPU count, up to the
// first that meets the deadline. A larger count is never skipped because a smaller one was worse.
Offers CompareOffers(const std::vector<Job>& jobs, const PlanHooks& hooks);

// Returns a lower bound on the seconds of the job's training: all epochs at peak rate.
double LeastTrainingSeconds(const Job& job);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_OFFERS_H_
