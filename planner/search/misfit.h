// Why a job does not fit, and what would make it fit.
#ifndef EVENKEEL_PLANNER_SEARCH_MISFIT_H_
#define EVENKEEL_PLANNER_SEARCH_MISFIT_H_

#include <functional>
#include <optional>

#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// REQUIRES that the search found nothing that fits. The parallelism whose fullest stage lacks
// least, under its best partition for memory (where a fixed amount of work is done, of those looked
// at by then); what of this is proven; and the remedies tried that help. A shortage of 0 or less: a
// plan exists, and the search missed it, which is a defect. nullopt: `stop` said so.
std::optional<Misfit> ExplainMisfit(const Job& job, const Batching& batching,
                                    const std::function<bool()>& stop);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_MISFIT_H_
