// Why a job does not fit, and what would make it fit.
#ifndef EVENKEEL_PLANNER_SEARCH_MISFIT_H_
#define EVENKEEL_PLANNER_SEARCH_MISFIT_H_

#include <functional>
#include <optional>

#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// REQUIRES that nothing fits. The parallelism whose fullest stage lacks least, under its best
// partition for memory; and the remedies tried that help. nullopt: `stop` said so.
std::optional<Misfit> ExplainMisfit(const Job& job, const Batching& batching,
                                    const std::function<bool()>& stop);

// Whether some plan of the job fits in memory: the search without its times.
// Takes the segments it looks at from `segments_left`; false where they do not suffice.
bool FitsAtAll(const Job& job, const Batching& batching, const std::function<bool()>& stop,
               int64_t* segments_left);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_MISFIT_H_
