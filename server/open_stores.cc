#include "server/open_stores.h"

#include <chrono>

#include "server/calibration/lmdb_profile_store.h"
#include "server/redis/redis_profile_store.h"

namespace evenkeel::server {
namespace {

constexpr char kOff[] = "off";

// Returns what is wrong. Empty: fine.
std::string ReadAddress(const std::string& text, const std::string& password_file,
                        RedisAddress* address) {
  const std::string problem = ParseRedisAddress(text, address);
  if (!problem.empty() || password_file == kOff) return problem;
  return ReadRedisPassword(password_file, address);
}

}  // namespace

std::unique_ptr<ProfileStore> OpenProfileStore(const Options& options, const std::string& tenant,
                                               std::string* error) {
  const std::string& store = options.profile_store;
  if (store == kOff) return std::make_unique<MemoryProfileStore>();
  const bool is_same = store == "redis";
  if (!is_same && !IsRedisName(store)) {
    return LmdbProfileStore::Open(tenant.empty() ? store : store + "." + tenant, error);
  }
  if (is_same && options.redis == kOff) {
    *error = "--profile-store=redis is that of --redis, which is off";
    return nullptr;
  }
  const bool has_own = options.profile_redis_password != kOff;
  RedisStoreSettings settings;
  settings.tenant = tenant;
  settings.trust = options.profile_redis_trust;
  *error =
      ReadAddress(is_same ? options.redis : store,
                  is_same && !has_own ? options.redis_password : options.profile_redis_password,
                  &settings.address);
  return error->empty() ? RedisProfileStore::Open(settings, error) : nullptr;
}

std::unique_ptr<RedisPlanTier> OpenPlanTier(const Options& options, const Clock& clock,
                                            uint64_t seed, std::string* error) {
  error->clear();
  if (options.redis == kOff) return nullptr;
  RedisTierSettings settings;
  *error = ReadAddress(options.redis, options.redis_password, &settings.address);
  if (!error->empty()) return nullptr;
  settings.budget = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::duration<double>(options.redis_timeout_seconds));
  return std::make_unique<RedisPlanTier>(settings, clock, seed);
}

}  // namespace evenkeel::server
