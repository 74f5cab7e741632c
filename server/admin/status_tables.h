// The tables of the status page.
#ifndef EVENKEEL_SERVER_ADMIN_STATUS_TABLES_H_
#define EVENKEEL_SERVER_ADMIN_STATUS_TABLES_H_

#include <string>
#include <utility>
#include <vector>

#include "server/admin/status_sections.h"

namespace evenkeel::server {

StatusTable CallsTable(const MetricsSnapshot& metrics);  // methods that were called
StatusTable TiersTable(const MetricsSnapshot& metrics);  // of the plan cache
StatusTable PlansTable(const std::vector<RecentPlan>& plans);
StatusTable SettingsTable(const std::vector<std::pair<std::string, std::string>>& changed);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_ADMIN_STATUS_TABLES_H_
