// What the choices of an offload share: their searches, and the steps of a candidate under another
// offload than it was found with.
#ifndef EVENKEEL_PLANNER_SEARCH_OFFLOAD_STEPS_H_
#define EVENKEEL_PLANNER_SEARCH_OFFLOAD_STEPS_H_

#include <cstdint>
#include <optional>

#include "planner/base/stop.h"
#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/plan_hooks.h"
#include "planner/search/candidate.h"
#include "planner/search/choose_caps.h"
#include "planner/search/work_limits.h"

namespace evenkeel::planner {

// Returns whether a step is shorter than the best by more than a thousandth, to within which an
// offload is chosen. `best_ns` is 0 if there is none yet.
inline bool MayGain(int64_t ns, int64_t best_ns) {
  return best_ns == 0 || ns < best_ns - best_ns / 1000;
}

// The searches of one choice. `hooks` must outlive it.
class OffloadSearches {
 public:
  OffloadSearches(const PlanHooks& hooks, const SearchWork& limits)
      : hooks_(hooks), limits_(limits) {}

  CapsSearch For(const Job& job) {
    ++made_;
    return ChooseCaps(job, 0, hooks_, limits_);
  }

  const Stop& stop() const { return hooks_.stop; }
  bool Stopped() const { return hooks_.stop && hooks_.stop(); }
  // Returns whether no further range is to be looked at.
  bool Over() const { return made_ >= kAtMost || Stopped(); }

 private:
  static constexpr int kAtMost = 24;
  const PlanHooks& hooks_;
  const SearchWork limits_;
  int made_ = 0;
};

// Returns whether the candidate's stages fit on the job's GPUs.
bool FitsOnGpus(const Job& job, const Batching& batching, const Candidate& c, const Stop& stop);

// Returns the candidate's step of the job's batch, or nullopt if the host lacks room for it.
std::optional<int64_t> StepOf(const Job& job, const Batching& batching, const Candidate& c,
                              const Stop& stop);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_OFFLOAD_STEPS_H_
