// The tables of the status page.
#ifndef EVENKEEL_SERVER_ADMIN_STATUS_TABLES_H_
#define EVENKEEL_SERVER_ADMIN_STATUS_TABLES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "server/admin/status_page.h"
#include "server/metrics/metrics_snapshot.h"

namespace evenkeel::server {

struct RecentPlan {
  std::string tenant, plan_id, model, gpu_type;
  int64_t gpu_count = 0;
  bool fits = false;
  double step_seconds = 0;  // 0 if the job does not fit
  double age_seconds = 0;
};

StatusTable CallsTable(const MetricsSnapshot& metrics);  // shows the methods that were called
StatusTable TiersTable(const MetricsSnapshot& metrics);  // shows the tiers of the plan cache
StatusTable PlansTable(const std::vector<RecentPlan>& plans);
StatusTable SettingsTable(const std::vector<std::pair<std::string, std::string>>& changed);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_ADMIN_STATUS_TABLES_H_
