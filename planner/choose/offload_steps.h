// What the choices of an offload share: their searches, and the steps of a candidate under another
// offload than it was found with.
#ifndef EVENKEEL_PLANNER_CHOOSE_OFFLOAD_STEPS_H_
#define EVENKEEL_PLANNER_CHOOSE_OFFLOAD_STEPS_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "planner/base/stop.h"
#include "planner/candidates/candidate.h"
#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/plan_hooks.h"
#include "planner/space/parallelism.h"

namespace evenkeel::planner {

// The shortest step that is no reason to change an offload whose step is `best_ns`: an offload is
// chosen to within 0.4% of the step, which no prediction can tell apart.
constexpr int64_t StepToBeat(int64_t best_ns) { return best_ns - best_ns / 250; }

// Returns whether a step may be a reason to change the offload. `best_ns` is 0 if there is none.
constexpr bool MayGain(int64_t ns, int64_t best_ns) {
  return best_ns == 0 || ns < StepToBeat(best_ns);
}

// The degrees that may still beat the best plan, for each size of packs.
using OpenDegrees = std::vector<std::vector<Parallelism>>;

// The best plan of a job under some offload.
struct PlanUnderOffload {
  const Batching* batching = nullptr;  // lives as long as OffloadTrials
  Candidate best;
  // The degrees with a plan that beats the step that was to be beaten. An offload that leaves more
  // on the GPU and takes longer has no such plan for other degrees. Empty if any step would do.
  OpenDegrees open;
};

// A step that an offload has to beat: that of the job with nothing offloaded, or of another plan.
struct StepToImprove {
  int64_t ns = 0;  // 0: any step will do
  bool of_nothing = false;
};

// A job with a chosen offload, and its step; 0 if nothing fits.
struct ChosenOffload {
  Job job;
  int64_t step_ns = 0;
};

// Short searches for the best plans under many offloads. They share a few sizes of packs, which
// depend little on what is offloaded. `hooks` must outlive it.
class OffloadTrials {
 public:
  explicit OffloadTrials(const PlanHooks& hooks) : hooks_(hooks) {}

  // Also searches these packs from now on, or those of the size that is best for this job.
  void AddPacks(const Batching& packs);
  void AddPacksFor(const Job& job);
  // Also searches packs between those known, so that none are more than twice as long as the next.
  void AddPacksBetween(const Job& job);

  // Returns the job's best plan with a step below `beat_ns` (0: any), or nullopt if there is none.
  // Looks only among these degrees, or among all if `among` is empty.
  std::optional<PlanUnderOffload> For(const Job& job, int64_t beat_ns, const OpenDegrees& among);

  const Stop& stop() const { return hooks_.stop; }
  bool Stopped() const { return hooks_.stop(); }

  // Starts the next choice and resets its budget of kMaxSearches searches.
  void ResetBudget() { made_ = 0; }
  // Returns whether no further offload is to be looked at.
  bool OutOfBudget() const { return made_ >= kMaxSearches || Stopped(); }

 private:
  static constexpr int kMaxSearches = 100;
  const PlanHooks& hooks_;
  std::deque<Batching> packs_;  // a deque, because what was found points to them
  int made_ = 0;
};

// Returns whether the plan that was found fits on the job's GPUs.
bool FitsOnGpus(const Job& job, const PlanUnderOffload& found, const Stop& stop);

// Returns that plan's step of the job's batch, or nullopt if the host lacks room for it.
std::optional<int64_t> StepOf(const Job& job, const PlanUnderOffload& found, const Stop& stop);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CHOOSE_OFFLOAD_STEPS_H_
