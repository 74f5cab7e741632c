// Searches that keep the batch where that costs little.
#ifndef EVENKEEL_PLANNER_CHOOSE_KEEP_BATCH_H_
#define EVENKEEL_PLANNER_CHOOSE_KEEP_BATCH_H_

#include <cstdint>
#include <optional>

#include "planner/base/stop.h"
#include "planner/candidates/work_limits.h"
#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/search/search.h"

namespace evenkeel::planner {

// Returns by which share the samples of a step differ from those asked for.
double BatchError(const Job& job, double samples_per_step);
double BatchError(const Job& job, const Batching& batching, const SearchResult& found);

// Returns whether a step that misses the batch by this share counts as keeping it.
bool KeepsBatch(double error);

// What two plans for a batch are compared by.
struct BatchPlan {
  double error = 0;  // BatchError
  double gpu_days = 0;
};

// Returns whether a plan is better. Plans that keep the batch come first. Of two that miss it, the
// one that misses by clearly less is better. Otherwise fewer GPU-days decide.
bool Better(const BatchPlan& plan, const BatchPlan& than);

struct BatchSearchResult {
  SearchResult found;
  bool keeps_batch = false;  // `found` is the best of the degrees that keep the batch
  // The best of these degrees, if `found` misses the batch and they take so much longer that
  // predictions can tell.
  std::optional<SearchResult> kept;
};

// Searches plans (Search). If the best misses the batch by more than kBatchTolerance and other
// degrees come nearer, also searches these (Training::keeps_batch).
BatchSearchResult SearchForBatch(const Job& job, const Batching& batching, int64_t alternatives,
                                 const Stop& stop, const SearchScope& scope = {},
                                 const WorkLimits& limits = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CHOOSE_KEEP_BATCH_H_
