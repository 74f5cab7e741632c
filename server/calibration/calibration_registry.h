// The calibrations of all tenants. Each tenant has its own history and sees no other. Thread-safe.
#ifndef EVENKEEL_SERVER_CALIBRATION_CALIBRATION_REGISTRY_H_
#define EVENKEEL_SERVER_CALIBRATION_CALIBRATION_REGISTRY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "server/base/mutex.h"
#include "server/calibration/calibrations.h"

namespace evenkeel::server {

// Returns the file of a tenant's history: `path` itself for the default tenant "", otherwise a file
// next to it. Different tenants have different files, which also differ from those that a store
// puts next to its own.
std::string TenantStorePath(const std::string& path, const std::string& tenant);

class CalibrationRegistry {
 public:
  // Opens the store of a tenant's history. Returns nullptr, with the reason in *error, if it cannot
  // be opened.
  using OpenStore =
      std::function<std::unique_ptr<ProfileStore>(const std::string& tenant, std::string* error)>;

  // Totals over all tenants.
  struct Totals {
    int64_t revisions = 0;
    int64_t active_profiles = 0;
    double unconfirmed_seconds = 0;  // the longest of all tenants; see Lease
  };

  // Called for a history that has been opened, for instance to follow it if its store is shared.
  using OnOpened = std::function<void(const std::string& tenant, Calibrations& calibrations)>;

  // Opens nothing yet. `clock` and `observer` must outlive the registry.
  CalibrationRegistry(OpenStore open_store, const Clock& clock, CalibrationObserver& observer,
                      OnOpened on_opened = {});

  // Opens the tenant's history unless it is open, and may wait for the disk. Returns nullptr, with
  // the reason in *error, if it cannot be read; the next call tries again. The result lives as long
  // as the registry.
  Calibrations* Open(const std::string& tenant, std::string* error);

  // Never waits for the disk. Returns nullptr, with the reason in *error, if the history is not
  // open.
  Calibrations* Find(std::string_view tenant, std::string* error) const;

  // Ends what Calibrations::Follow began, for all tenants. Histories that are opened later are not
  // followed.
  void StopFollowing();

  Totals totals() const;

 private:
  const OpenStore open_store_;
  OnOpened on_opened_ ABSL_GUARDED_BY(open_mutex_);
  const Clock& clock_;
  CalibrationObserver& observer_;
  Mutex open_mutex_;  // one opening at a time
  mutable Mutex mutex_;
  std::map<std::string, std::unique_ptr<Calibrations>, std::less<>> by_tenant_
      ABSL_GUARDED_BY(mutex_);
  // Reasons, by tenant whose history could not be opened.
  std::map<std::string, std::string, std::less<>> errors_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CALIBRATION_CALIBRATION_REGISTRY_H_
