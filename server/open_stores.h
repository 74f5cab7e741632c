// The stores that the settings name.
#ifndef EVENKEEL_SERVER_OPEN_STORES_H_
#define EVENKEEL_SERVER_OPEN_STORES_H_

#include <memory>
#include <string>

#include "server/calibration/profile_store.h"
#include "server/core/clock.h"
#include "server/options.h"
#include "server/redis/redis_plan_tier.h"

namespace evenkeel::server {

// That of --profile-store, for one tenant: "" is the only one there is. nullptr, with the reason in
// *error: it can not be had.
std::unique_ptr<ProfileStore> OpenProfileStore(const Options& options, const std::string& tenant,
                                               std::string* error);

// That of --redis. nullptr: off, or with the reason in *error.
std::unique_ptr<RedisPlanTier> OpenPlanTier(const Options& options, const Clock& clock,
                                            uint64_t seed, std::string* error);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_OPEN_STORES_H_
