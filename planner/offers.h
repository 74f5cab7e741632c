// The planner's third door: one job on several clusters or GPU counts, compared. Pure, like
// MakePlan.
#ifndef EVENKEEL_PLANNER_OFFERS_H_
#define EVENKEEL_PLANNER_OFFERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "planner/job.h"
#include "planner/make_plan.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// One of the jobs that were compared. Compared are what training is expected to take: with restarts
// and checkpoints where the job says how often nodes fail, without them otherwise.
struct Offer {
  size_t job = 0;         // index of the job
  bool possible = false;  // some degrees satisfy its constraints; else there is no plan
  // No plan could meet the deadline: all of the model's FLOPs at the GPUs' peak take longer. Not
  // planned.
  bool too_few = false;
  Plan plan;
  double seconds = 0;  // of the whole training; only where the plan fits
  double gpu_days = 0, cost = 0;
  bool meets_deadline = false;  // true without a deadline, where it fits
};

struct Offers {
  PlanEnd end = PlanEnd::kStopped;  // of the first job that is not kComplete
  std::vector<Offer> offers;        // best first
  std::vector<std::string> faults;  // where end is kCheckFailed
};

// A plan for each job, best first by the objective of the first one. The jobs are one but for the
// cluster and its figures: pools of a cluster, or GPU counts that are free now. Plans that meet the
// deadline come before those that fit, those before the rest; then
//   kStepTime: least seconds;  kGpuDays: least GPU-days;  kFewestGpus: fewest GPUs, then seconds;
//   kCost: least cost, jobs without a price last.
// What ties keeps its order. Under kFewestGpus jobs are planned by GPU count ascending and not
// beyond the first that meets the deadline; no count is taken to be worse because a smaller one is.
Offers CompareOffers(const std::vector<Job>& jobs, const PlanHooks& hooks);

// The job on each of `gpu_counts` of its GPUs.
std::vector<Job> OnCounts(const Job& job, const std::vector<int64_t>& gpu_counts);

// GPU counts up to the job's own, ascending, for a search for the fewest: divisors of a node, then
// whole nodes, all of them up to 32 and 16 between each power of two and the next.
std::vector<int64_t> GpuCountsUpTo(const Cluster& cluster);

// No training of the job ends sooner, seconds: FLOPs of all epochs, without recompute, at peak.
double LeastSeconds(const Job& job);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_OFFERS_H_
