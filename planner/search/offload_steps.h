// Steps of a candidate under another offload than it was found with.
#ifndef EVENKEEL_PLANNER_SEARCH_OFFLOAD_STEPS_H_
#define EVENKEEL_PLANNER_SEARCH_OFFLOAD_STEPS_H_

#include <cstdint>
#include <optional>

#include "planner/base/stop.h"
#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/search/candidate.h"

namespace evenkeel::planner {

// An offload is chosen to within this part of a step, or by so many searches.
inline constexpr int64_t kOffloadTolerance = 1000;
inline constexpr int kOffloadSearchesAtMost = 24;

// Returns whether the candidate's stages fit on the job's GPUs.
bool FitsOnGpus(const Job& job, const Batching& batching, const Candidate& c, const Stop& stop);

// Returns the candidate's step of the job's batch, or nullopt if the host lacks room for it.
std::optional<int64_t> StepOf(const Job& job, const Batching& batching, const Candidate& c,
                              const Stop& stop);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_OFFLOAD_STEPS_H_
