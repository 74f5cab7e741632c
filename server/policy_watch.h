// Keeps the policy in step with its file, and the histories of the tenants that it names open.
#ifndef EVENKEEL_SERVER_POLICY_WATCH_H_
#define EVENKEEL_SERVER_POLICY_WATCH_H_

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
  // nullptr, with the reason in *error: the file is not taken, nobody could ever be allowed
  // anything, or a tenant's history can not be read. `registry` and `metrics` outlive the watch.
  static std::shared_ptr<PolicyWatch> Open(const std::string& path, const ProofsOffered& offered,
                                           CalibrationRegistry& registry, Metrics& metrics,
                                           std::string* error);

  const PolicyFile& file() const { return *file_; }

  // Takes the file anew if it has changed. What is wrong is logged once, and counted each time.
  void OnSweep() override;

 private:
  PolicyWatch(const ProofsOffered& offered, CalibrationRegistry& registry, Metrics& metrics);

  // Once a policy is in force, a tenant whose history can not be read stops nobody but itself.
  std::string Prepare(const Policy& policy);
  std::string OpenTenants(const Policy& policy);

  const ProofsOffered offered_;
  CalibrationRegistry& registry_;
  Metrics& metrics_;
  std::unique_ptr<PolicyFile> file_;
  std::string fault_;                                 // of the last reload; empty: none
  std::map<std::string, std::string> tenant_faults_;  // that were logged
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_POLICY_WATCH_H_
