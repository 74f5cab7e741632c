// Opens the stores that the settings name.
#ifndef EVENKEEL_SERVER_OPEN_STORES_H_
#define EVENKEEL_SERVER_OPEN_STORES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "server/cache/plan_tiers.h"
#include "server/calibration/profile_store.h"
#include "server/options.h"
#include "server/redis/redis_tier.h"

namespace evenkeel::server {

// Opens the store of --profile-store for one tenant; "" is the default one. Returns nullptr, with
// the reason in *error, if it cannot be opened.
std::unique_ptr<ProfileStore> OpenProfileStore(const Options& options, const std::string& tenant,
                                               std::string* error);

// The first member is destroyed last, because a Redis that ends answers look-ups of `tiers`.
struct PlanStores {
  std::unique_ptr<PlanTiers> tiers;          // nullptr if plans are kept only in memory
  std::unique_ptr<SharedBytes> datasets;     // nullptr if replicas share no datasets
  std::function<RedisTierCounters()> redis;  // empty without --redis; lives as long as `tiers`
};

// Opens the stores of --plan-store and --redis. A file or a Redis that is not available now is
// tried again later. Returns false, with the reason in *error, if the settings cannot be valid.
bool OpenPlanStores(const Options& options, uint64_t seed, PlanStores* stores, std::string* error);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_OPEN_STORES_H_
