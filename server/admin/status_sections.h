// Turns the state of the server into its status page, as a pure function.
//
// Figures come from the metrics by name, so that the page, the dashboard and the alerts agree. A
// figure that this server does not have (no TLS, no shared tier) is left out.
#ifndef EVENKEEL_SERVER_ADMIN_STATUS_SECTIONS_H_
#define EVENKEEL_SERVER_ADMIN_STATUS_SECTIONS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "server/admin/status_page.h"
#include "server/admin/status_tables.h"
#include "server/metrics/metrics_snapshot.h"

namespace evenkeel::server {

struct StatusInputs {
  MetricsSnapshot metrics;
  double now = 0;  // seconds since the epoch
  double uptime_seconds = 0;
  bool serving = false;
  std::string listen;                                                 // addresses
  std::string log_level;                                              // level in force
  std::vector<std::pair<std::string, std::string>> changed_settings;  // "--workers", "2"
  std::vector<RecentPlan> recent_plans;                               // newest first
  std::vector<StatusSection> more;  // sections from other parts of the server
};

StatusPage MakeStatusPage(const StatusInputs& inputs);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_ADMIN_STATUS_SECTIONS_H_
