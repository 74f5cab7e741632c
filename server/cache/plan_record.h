// A stored plan as bytes, with schema version and checksum: what the tiers below memory keep.
#ifndef EVENKEEL_SERVER_CACHE_PLAN_RECORD_H_
#define EVENKEEL_SERVER_CACHE_PLAN_RECORD_H_

#include <string>
#include <string_view>

#include "server/core/plan_cache.h"

namespace evenkeel::server {

// Of the layout. Records of another one are not read: plans can be computed again.
inline constexpr int kPlanRecordSchema = 1;

// `planner_version`: PlannerVersion() of the process that computed it.
std::string EncodePlanRecord(const StoredPlan& plan, std::string_view planner_version);

struct PlanRecord {
  StoredPlan plan;
  std::string planner_version;
};

// Fills `*record` from what was filed under `key` (StoredPlan::key()). Returns what is wrong: not
// ours, of another release, damaged, or another plan's. Empty: fine.
std::string DecodePlanRecord(std::string_view key, std::string_view bytes, PlanRecord* record);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CACHE_PLAN_RECORD_H_
