#include "server/calibration/calibration_registry.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace evenkeel::server {

// Returns a name that ends in ".lmdb". The files next to a store add "-lock" or "-owner" to its
// name, and tenants' names have no '.', so tenant "a-lock" does not get the lock of tenant "a".
std::string TenantStorePath(const std::string& path, const std::string& tenant) {
  return tenant.empty() ? path : path + "." + tenant + ".lmdb";
}

CalibrationRegistry::CalibrationRegistry(OpenStore open_store, const Clock& clock,
                                         CalibrationObserver& observer, OnOpened on_opened)
    : open_store_(std::move(open_store)),
      on_opened_(std::move(on_opened)),
      clock_(clock),
      observer_(observer) {}

Calibrations* CalibrationRegistry::Open(const std::string& tenant, std::string* error) {
  const MutexLock opening(open_mutex_);
  if (Calibrations* opened = Find(tenant, error)) return opened;
  error->clear();
  std::unique_ptr<Calibrations> fresh;
  std::unique_ptr<ProfileStore> store = open_store_(tenant, error);
  if (store != nullptr) fresh = Calibrations::Open(std::move(store), clock_, observer_, error);
  if (fresh != nullptr && on_opened_) on_opened_(tenant, *fresh);
  const MutexLock lock(mutex_);
  if (fresh == nullptr) {
    observer_.OnStoreError();
    errors_[tenant] = *error;
    return nullptr;
  }
  errors_.erase(tenant);
  return by_tenant_.emplace(tenant, std::move(fresh)).first->second.get();
}

Calibrations* CalibrationRegistry::Find(std::string_view tenant, std::string* error) const {
  const MutexLock lock(mutex_);
  const auto found = by_tenant_.find(tenant);
  if (found != by_tenant_.end()) return found->second.get();
  const auto failed = errors_.find(tenant);
  *error = failed != errors_.end() ? failed->second
                                   : "the profile store of this tenant has not been opened yet";
  return nullptr;
}

void CalibrationRegistry::StopFollowing() {
  const MutexLock opening(open_mutex_);
  on_opened_ = nullptr;
  // They are stopped without the lock, because their reports may ask this registry.
  std::vector<Calibrations*> all;
  {
    const MutexLock lock(mutex_);
    for (const auto& [tenant, calibrations] : by_tenant_) all.push_back(calibrations.get());
  }
  for (Calibrations* calibrations : all) calibrations->StopFollowing();
}

CalibrationRegistry::Totals CalibrationRegistry::totals() const {
  const MutexLock lock(mutex_);
  Totals totals;
  for (const auto& [tenant, calibrations] : by_tenant_) {
    const CalibrationStatePtr state = calibrations->state();
    totals.revisions += state->newest();
    totals.active_profiles += state->active_profiles;
    totals.unconfirmed_seconds = std::max(
        totals.unconfirmed_seconds, state->lease.UnconfirmedSeconds(clock_.Now()).value_or(0));
  }
  return totals;
}

}  // namespace evenkeel::server
