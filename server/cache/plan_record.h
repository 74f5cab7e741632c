// A stored plan as bytes, with a schema version and a checksum, for the tiers below memory.
#ifndef EVENKEEL_SERVER_CACHE_PLAN_RECORD_H_
#define EVENKEEL_SERVER_CACHE_PLAN_RECORD_H_

#include <string>
#include <string_view>

#include "server/core/plan_cache.h"

namespace evenkeel::server {

// Version of the layout. Records with another version are not read: plans can be computed again.
inline constexpr int kPlanRecordSchema = 1;

// `planner_version` is PlannerVersion() of the process that computed the plan.
std::string EncodePlanRecord(const StoredPlan& plan, std::string_view planner_version);

struct PlanRecord {
  StoredPlan plan;
  std::string planner_version;
};

// Fills `*record` from the bytes filed under `key` (StoredPlan::key()). Returns what is wrong (the
// record is not ours, is of another release, is damaged, or belongs to another plan), or "" on
// success.
std::string DecodePlanRecord(std::string_view key, std::string_view bytes, PlanRecord* record);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CACHE_PLAN_RECORD_H_
