// Reloads the policy when its file changes, and opens the histories of the tenants that it names.
#ifndef EVENKEEL_SERVER_POLICY_WATCH_H_
#define EVENKEEL_SERVER_POLICY_WATCH_H_

#include <absl/status/status.h>

#include <map>
#include <memory>
#include <string>

#include "server/auth/policy_file.h"
#include "server/calibration/calibration_registry.h"
#include "server/core/sweeper.h"
#include "server/metrics/metrics.h"

namespace evenkeel::server {

class PolicyWatch : public Swept {
 public:
  // Returns nullptr, with the reason in *error, if the file is not accepted, if nobody could ever
  // be allowed anything, or if a tenant's history cannot be read. `registry` and `metrics` must
  // outlive the watch.
  static std::shared_ptr<PolicyWatch> Open(const std::string& path, const ProofsOffered& offered,
                                           CalibrationRegistry& registry, Metrics& metrics,
                                           std::string* error);

  const PolicyFile& file() const { return *file_; }

  // Reloads the file if it has changed. A fault is logged once, and counted each time.
  void OnSweep() override;

 private:
  PolicyWatch(const ProofsOffered& offered, CalibrationRegistry& registry, Metrics& metrics);

  // Prepares the tenants of a policy. Once a policy is in force, a tenant whose history cannot be
  // read affects only itself.
  absl::Status Prepare(const Policy& policy);
  std::string OpenTenants(const Policy& policy);

  const ProofsOffered offered_;
  CalibrationRegistry& registry_;
  Metrics& metrics_;
  std::unique_ptr<PolicyFile> file_;
  std::string fault_;                                 // fault of the last reload; empty if none
  std::map<std::string, std::string> tenant_faults_;  // faults that were logged
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_POLICY_WATCH_H_
