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
  absl::StatusOr<std::unique_ptr<PolicyFile>> file =
      PolicyFile::Open(path, [self](const Policy& policy) { return self->Prepare(policy); });
  if (!file.ok()) {
    *error = std::string(file.status().message());
    return nullptr;
  }
  watch->file_ = *std::move(file);
  return watch;
}

absl::Status PolicyWatch::Prepare(const Policy& policy) {
  const std::string why = policy.CheckProvable(offered_);
  if (!why.empty()) return absl::FailedPreconditionError(why);
  const std::string fault = OpenTenants(policy);
  if (file_ == nullptr && !fault.empty()) return absl::UnavailableError(fault);
  return absl::OkStatus();
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
  const absl::StatusOr<PolicyFile::Reload> reload = file_->Refresh();
  const std::string fault(reload.status().message());
  if (!reload.ok()) {
    metrics_.OnPolicyReloadFailure();
    if (fault != fault_) LogLine(LogLevel::kError, "policy not taken").Add("fault", fault);
  } else if (*reload == PolicyFile::Reload::kTaken) {
    LogLine(LogLevel::kInfo, "policy taken");
  } else if (!fault_.empty()) {
    LogLine(LogLevel::kInfo, "policy unchanged");
  }
  fault_ = fault;
  OpenTenants(*file_->current());
}

}  // namespace evenkeel::server
