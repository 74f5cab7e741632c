// From the state of the server to its status page. A pure function.
//
// Figures come from the metrics by name, so that page, dashboard and alerts say the same; a figure
// that this server does not have (no TLS, no shared tier) is left out.
#ifndef EVENKEEL_SERVER_ADMIN_STATUS_SECTIONS_H_
#define EVENKEEL_SERVER_ADMIN_STATUS_SECTIONS_H_

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
  double step_seconds = 0;  // where it fits
  double age_seconds = 0;
};

struct StatusInputs {
  MetricsSnapshot metrics;
  double now = 0;  // seconds since the epoch
  double uptime_seconds = 0;
  bool serving = false;
  std::string listen;                                                 // addresses
  std::string log_level;                                              // in force
  std::vector<std::pair<std::string, std::string>> changed_settings;  // "--workers", "2"
  std::vector<RecentPlan> recent_plans;                               // newest first
  std::vector<StatusSection> more;  // what other parts of the server say
};

StatusPage MakeStatusPage(const StatusInputs& inputs);

// `value` of the setting `--name` as anybody may read it: passwords, tokens and the user part of an
// URL are hidden.
std::string HideSecrets(const std::string& name, const std::string& value);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_ADMIN_STATUS_SECTIONS_H_
