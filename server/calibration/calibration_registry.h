// The calibrations of all tenants: each has a history of its own, and none sees another's.
// Thread-safe.
#ifndef EVENKEEL_SERVER_CALIBRATION_CALIBRATION_REGISTRY_H_
#define EVENKEEL_SERVER_CALIBRATION_CALIBRATION_REGISTRY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "server/calibration/calibrations.h"

namespace evenkeel::server {

// The file of a tenant's history: `path` itself for the default tenant "", else beside it. Distinct
// for distinct tenants, also from the files that LmdbProfileStore puts beside each.
std::string TenantStorePath(const std::string& path, const std::string& tenant);

class CalibrationRegistry {
 public:
  // The store of a tenant's history, or nullptr with the reason in *error.
  using OpenStore =
      std::function<std::unique_ptr<ProfileStore>(const std::string& tenant, std::string* error)>;

  // Over all tenants.
  struct Totals {
    int64_t revisions = 0;
    int64_t active_profiles = 0;
    double unconfirmed_seconds = 0;  // the longest; see Lease
  };

  // A history that has been opened, for instance to follow it where its store is shared.
  using OnOpened = std::function<void(const std::string& tenant, Calibrations& calibrations)>;

  // Opens nothing yet. `clock` and `observer` outlive the registry.
  CalibrationRegistry(OpenStore open_store, const Clock& clock, CalibrationObserver& observer,
                      OnOpened on_opened = {});

  // Opens the tenant's history unless it is open, and may wait for the disk. nullptr, with the
  // reason in *error: it can not be read; the next call tries again. What it returns lives as long
  // as the registry.
  Calibrations* Open(const std::string& tenant, std::string* error);

  // Never waits for the disk. nullptr, with the reason in *error: it is not open.
  Calibrations* Find(std::string_view tenant, std::string* error) const;

  // Ends what Calibrations::Follow began, for all tenants; those opened later are not followed.
  void StopFollowing();

  Totals totals() const;

 private:
  const OpenStore open_store_;
  OnOpened on_opened_;
  const Clock& clock_;
  CalibrationObserver& observer_;
  std::mutex open_mutex_;     // one opening at a time
  mutable std::mutex mutex_;  // guards what follows
  std::map<std::string, std::unique_ptr<Calibrations>, std::less<>> by_tenant_;
  std::map<std::string, std::string, std::less<>> errors_;  // of those that could not be opened
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CALIBRATION_CALIBRATION_REGISTRY_H_
