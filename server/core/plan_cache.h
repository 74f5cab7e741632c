// Plans in memory, bounded by bytes. Thread-safe.
#ifndef EVENKEEL_SERVER_CORE_PLAN_CACHE_H_
#define EVENKEEL_SERVER_CORE_PLAN_CACHE_H_

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/base/mutex.h"
#include "server/core/byte_lru.h"
#include "server/core/computed_plan.h"
#include "server/core/scoped_id.h"

namespace evenkeel::server {

using PlanTime = std::chrono::system_clock::time_point;

// Immutable once made; shared between the cache and the answers in progress.
struct StoredPlan {
  std::string tenant;  // the tenant that it belongs to
  std::string plan_id;
  std::string plan_bytes;  // serialised evenkeel.v1.Plan
  PlanFacts facts;
  PlanTime create_time;
  std::string timeline_bytes;  // as in ComputedPlan; only for an evaluation, which is not kept

  // For a comparison of offers: the plans of the answer, this one first, and the answer's part
  // about other offers (ComputedPlan::left_out_bytes).
  std::vector<std::shared_ptr<const StoredPlan>> offers;
  std::string left_out_bytes;

  std::string key() const { return ScopedId(tenant, plan_id); }
  int64_t made_ns() const {  // create_time as ns since the epoch
    return std::chrono::duration_cast<std::chrono::nanoseconds>(create_time.time_since_epoch())
        .count();
  }
};
using StoredPlanPtr = std::shared_ptr<const StoredPlan>;

struct CacheCounters {
  uint64_t hits = 0, misses = 0, evictions = 0;
  uint64_t bytes = 0, entries = 0;
};

struct PlanPage {
  std::vector<StoredPlanPtr> plans;  // newest first
  std::string next_page_token;       // empty on the last page
};

class PlanCache {
 public:
  // The outcomes of a look-up that are counted. A request that is looked up twice counts once.
  enum class Count { kHitAndMiss, kHitOnly, kNothing };

  // `instance` marks page tokens, so that tokens of another process are refused.
  PlanCache(size_t capacity_bytes, uint32_t instance);

  // Finds a plan by StoredPlan::key(). Returns nullptr if it was never stored, has been evicted
  // since, or was made before `oldest`.
  StoredPlanPtr Find(std::string_view key, Count count, PlanTime oldest = PlanTime::min());

  // Inserts a plan. Of two plans with the same key the later one stays, or the first if both were
  // made at the same time. A plan larger than the whole cache is not kept.
  void Insert(StoredPlanPtr plan);

  // Returns up to `page_size` (1 or more) plans of a tenant, newest first. Plans stored between two
  // pages do not shift the later page; plans evicted between them are left out. Returns nullopt if
  // the token is not one of this process.
  std::optional<PlanPage> List(std::string_view tenant, size_t page_size,
                               std::string_view page_token) const;

  // Returns the newest plans of all tenants, at most `count`, newest first, for the operator.
  std::vector<StoredPlanPtr> Newest(size_t count) const;

  CacheCounters counters() const;

 private:
  // Position of a plan in order of creation; `sequence` separates plans made at the same time.
  struct Place {
    int64_t made_ns;
    uint64_t sequence;
    auto operator<=>(const Place&) const = default;
  };
  struct Slot {
    StoredPlanPtr plan;
    Place place;
  };

  void Forget(const Slot& slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<Place> ParseToken(std::string_view token) const;
  std::string MakeToken(const Place& place) const;

  const uint32_t instance_;
  mutable Mutex mutex_;
  ByteLru<Slot> lru_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::map<Place, StoredPlanPtr>, std::less<>> by_tenant_
      ABSL_GUARDED_BY(mutex_);
  uint64_t next_sequence_ ABSL_GUARDED_BY(mutex_) = 1;
  uint64_t hits_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t misses_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t evictions_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CORE_PLAN_CACHE_H_
