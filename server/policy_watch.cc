#include "server/policy_watch.h"

#include "server/log.h"

namespace evenkeel::server {

PolicyWatch::PolicyWatch(const ProofsOffered& offered, CalibrationRegistry& registry,
                         Metrics& metrics)
    : offered_(offered), registry_(registry), metrics_(metrics) {}

std::shared_ptr<PolicyWatch> PolicyWatch::Open(const std::string& path,
                                               const ProofsOffered& offered,
                                               CalibrationRegistry& registry, Metrics& metrics,
                                               std::string* error) {
  std::shared_ptr<PolicyWatch> watch(new PolicyWatch(offered, registry, metrics));
  PolicyWatch* const self = watch.get();
  watch->file_ = PolicyFile::Open(
      path, [self](const Policy& policy) { return self->Prepare(policy); }, error);
  return watch->file_ == nullptr ? nullptr : watch;
}

std::string PolicyWatch::Prepare(const Policy& policy) {
  const std::string why = policy.CheckProvable(offered_);
  if (!why.empty()) return why;
  const std::string fault = OpenTenants(policy);
  return file_ == nullptr ? fault : "";
}

std::string PolicyWatch::OpenTenants(const Policy& policy) {
  std::string first;
  for (const std::string& tenant : policy.tenants()) {
    std::string error;
    if (registry_.Open(tenant, &error) != nullptr) {
      tenant_faults_.erase(tenant);
      continue;
    }
    if (first.empty()) first = error;
    std::string& told = tenant_faults_[tenant];
    if (told == error) continue;
    told = error;
    LogLine(LogLevel::kError, "profile store").Add("tenant", tenant).Add("fault", error);
  }
  return first;
}

void PolicyWatch::OnSweep() {
  std::string error;
  switch (file_->Refresh(&error)) {
    case PolicyFile::Reload::kTaken:
      LogLine(LogLevel::kInfo, "policy taken");
      break;
    case PolicyFile::Reload::kFailed:
      metrics_.OnPolicyReloadFailure();
      if (error != fault_) LogLine(LogLevel::kError, "policy not taken").Add("fault", error);
      break;
    case PolicyFile::Reload::kUnchanged:
      if (!fault_.empty()) LogLine(LogLevel::kInfo, "policy unchanged");
      break;
  }
  fault_ = error;
  OpenTenants(*file_->current());
}

}  // namespace evenkeel::server
