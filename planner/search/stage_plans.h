// A candidate written out as stages for the plan.
#ifndef EVENKEEL_PLANNER_SEARCH_STAGE_PLANS_H_
#define EVENKEEL_PLANNER_SEARCH_STAGE_PLANS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "planner/cost/layer_profile.h"
#include "planner/job.h"
#include "planner/plan.h"
#include "planner/search/search.h"

namespace evenkeel::planner {

// Returns the runs of equal layers in [begin, end), with `recomputed[k]` of class k.
std::vector<LayerGroup> LayerGroups(const LayerProfile& profile, int64_t begin, int64_t end,
                                    const ModeCounts& recomputed);

// Return the memory of a stage whose chunk c runs recomputed[c], and of a stage of one chunk.
MemoryParts MemoryPartsOf(const LayerProfile& profile, std::span<const ChunkLoad> chunks,
                          std::span<const ModeCounts> recomputed);
MemoryParts MemoryPartsOf(const LayerProfile& profile, const ClassCounts& counts,
                          const ModeCounts& recomputed, int64_t in_flight);

std::vector<StagePlan> StagePlans(const Job& job, const LayerProfile& profile,
                                  const Candidate& candidate, const Stop& stop = {});

// Returns degrees, schedule, packs of a rank and stages of the best plan with these packs, or
// nullopt if none fits.
std::optional<Plan> BestPlan(const Job& job, const Batching& batching, const Stop& stop);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_STAGE_PLANS_H_
