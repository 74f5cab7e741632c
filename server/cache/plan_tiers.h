// The tiers below memory: a file of this server, then a store that replicas share.
#ifndef EVENKEEL_SERVER_CACHE_PLAN_TIERS_H_
#define EVENKEEL_SERVER_CACHE_PLAN_TIERS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "server/cache/shared_bytes.h"
#include "server/cache/store_writer.h"
#include "server/core/lower_tiers.h"

namespace evenkeel::server {

struct TierCounters {
  int64_t hits = 0, misses = 0;
  int64_t errors = 0;  // records that could not be read, written or used
  int64_t evictions = 0;
  int64_t set_aside = 0;  // damaged files
  int64_t bytes = 0, entries = 0;
  bool ok = true;
};

class PlanTiers : public LowerTiers {
 public:
  // Either tier may be nullptr. `on_fault` is called for records that are damaged or of another
  // release.
  PlanTiers(std::unique_ptr<StoreWriter> store, std::unique_ptr<SharedBytes> shared,
            std::string planner_version, StoreWriter::OnFault on_fault);

  void Find(const std::string& tenant, const std::string& plan_id, PlanTime oldest,
            OnFound done) override;
  void Put(StoredPlanPtr plan) override;

  // Fills `cache` with the newest plans of the file, up to about `bytes`.
  void Warm(PlanCache* cache, size_t bytes) const;

  bool has_store() const { return store_ != nullptr; }
  bool has_shared() const { return shared_ != nullptr; }
  TierCounters store_counters() const;
  TierCounters shared_counters() const;

 private:
  struct Uses {
    std::atomic<int64_t> hits = 0, misses = 0, errors = 0;
  };

  // Decodes a record. Returns nullptr if it must not be used.
  StoredPlanPtr Read(const std::string& key, const std::string& record, PlanTime oldest,
                     Uses* uses) const;

  const std::string planner_version_;
  const StoreWriter::OnFault on_fault_;
  mutable Uses store_uses_, shared_uses_;
  const std::unique_ptr<StoreWriter> store_;
  // Last, because pending look-ups that it drops use the members above.
  const std::unique_ptr<SharedBytes> shared_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CACHE_PLAN_TIERS_H_
