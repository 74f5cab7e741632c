#include "server/open_stores.h"

#include <chrono>
#include <utility>

#include "server/calibration/calibration_registry.h"
#include "server/calibration/file_profile_store.h"
#include "server/convert/version.h"
#include "server/core/clock.h"
#include "server/log.h"
#include "server/redis/redis_profile_store.h"
#include "server/redis/redis_tls.h"

namespace evenkeel::server {
namespace {

constexpr char kOff[] = "off";
// prefix of StoredPlan::key(); 1 is the version of the records
constexpr char kPlanKeys[] = "evenkeel:plan:1:";
constexpr char kDatasetKeys[] = "evenkeel:dataset:1:";  // prefix of the tenant and the reference
constexpr std::chrono::hours kPlanLife{7 * 24};
// Long, because only the caller can make a dataset again.
constexpr std::chrono::hours kDatasetLife{30 * 24};

const Clock& SystemClock() {
  static const Clock clock;
  return clock;
}

// Values of one kind in the Redis that replicas share.
class RedisBytes : public SharedBytes {
 public:
  RedisBytes(std::shared_ptr<RedisTier> tier, std::string prefix, std::chrono::hours life)
      : prefix_(std::move(prefix)), life_(life), tier_(std::move(tier)) {}

  void Find(const std::string& key, OnBytes done) override {
    tier_->Find(prefix_ + key, std::move(done));
  }
  void Put(const std::string& key, std::string bytes, OnKept done) override {
    tier_->Put(prefix_ + key, std::move(bytes), life_, done);
  }
  bool ok() const override { return tier_->counters().breaker == CircuitBreaker::State::kClosed; }

 private:
  const std::string prefix_;
  const std::chrono::hours life_;
  const std::shared_ptr<RedisTier> tier_;
};

void LogStoreFault(const std::string& fault) {
  LogLine(LogLevel::kWarning, "plan store").Add("fault", fault);
}

void LogRedisFault(const std::string& fault) {
  const bool is_well = fault.empty();
  LogLine(is_well ? LogLevel::kInfo : LogLevel::kWarning, "shared redis")
      .Add("fault", is_well ? "none: it is used again" : fault);
}

std::string PathOf(const std::string& setting, const char* none) {
  return setting == none ? "" : setting;
}

// Reads a Redis address, its password and the files of its TLS. Returns the fault, or "".
std::string ReadAddress(const Options& options, const std::string& text,
                        const std::string& password_file, RedisAddress* address) {
  std::string problem = ParseRedisAddress(text, address);
  if (problem.empty() && password_file != kOff) {
    problem = ReadRedisPassword(password_file, address);
  }
  if (!problem.empty() || !address->tls) return problem;
  address->tls_files = {PathOf(options.redis_tls_ca, "system"),
                        PathOf(options.redis_tls_cert, kOff), PathOf(options.redis_tls_key, kOff)};
  return CheckRedisTlsFiles(address->tls_files);
}

}  // namespace

std::unique_ptr<ProfileStore> OpenProfileStore(const Options& options, const std::string& tenant,
                                               std::string* error) {
  const std::string& store = options.profile_store;
  const bool is_same = store == "redis";
  if (!is_same && !IsRedisName(store)) {
    const std::string path = StatePath(store, "profiles.lmdb");
    if (path.empty()) return std::make_unique<MemoryProfileStore>();
    return FileProfileStore::Open(TenantStorePath(path, tenant), error);
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
      ReadAddress(options, is_same ? options.redis : store,
                  is_same && !has_own ? options.redis_password : options.profile_redis_password,
                  &settings.address);
  return error->empty() ? RedisProfileStore::Open(settings, error) : nullptr;
}

bool OpenPlanStores(const Options& options, uint64_t seed, PlanStores* stores, std::string* error) {
  std::unique_ptr<StoreWriter> file;
  std::unique_ptr<SharedBytes> shared;
  if (options.redis != kOff) {
    RedisTierSettings settings;
    *error = ReadAddress(options, options.redis, options.redis_password, &settings.address);
    if (!error->empty()) return false;
    settings.budget = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::duration<double>(options.redis_timeout_seconds));
    settings.on_fault = &LogRedisFault;
    const auto redis = std::make_shared<RedisTier>(settings, SystemClock(), seed);
    shared = std::make_unique<RedisBytes>(redis, kPlanKeys, kPlanLife);
    stores->datasets = std::make_unique<RedisBytes>(redis, kDatasetKeys, kDatasetLife);
    stores->redis = [tier = redis.get()] { return tier->counters(); };
  }
  const std::string path = StatePath(options.plan_store, "plans.lmdb");
  if (!path.empty()) {
    StoreWriter::Settings settings;
    settings.path = path;
    settings.budget_bytes = options.plan_store_bytes;
    file = std::make_unique<StoreWriter>(settings, &LogStoreFault);
  }
  if (file == nullptr && shared == nullptr) return true;
  stores->tiers = std::make_unique<PlanTiers>(std::move(file), std::move(shared), PlannerVersion(),
                                              &LogStoreFault);
  return true;
}

}  // namespace evenkeel::server
