// The stores that the settings name.
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

// That of --profile-store, for one tenant: "" is the default one. nullptr, with the reason in
// *error: it can not be had.
std::unique_ptr<ProfileStore> OpenProfileStore(const Options& options, const std::string& tenant,
                                               std::string* error);

// The first to be destroyed last: a Redis that ends answers look-ups of `tiers`.
struct PlanStores {
  std::unique_ptr<PlanTiers> tiers;          // nullptr: plans are kept in memory alone
  std::unique_ptr<SharedBytes> datasets;     // nullptr: replicas share none
  std::function<RedisTierCounters()> redis;  // empty: --redis is off; lives as long as `tiers`
};

// Those of --plan-store and --redis. A file or a Redis that can not be had now is tried again
// later; false, with the reason in *error: the settings can not be right.
bool OpenPlanStores(const Options& options, uint64_t seed, PlanStores* stores, std::string* error);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_OPEN_STORES_H_
