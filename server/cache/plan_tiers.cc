#include "server/cache/plan_tiers.h"

#include <utility>
#include <vector>

#include "server/cache/plan_record.h"
#include "server/core/scoped_id.h"

namespace evenkeel::server {

PlanTiers::PlanTiers(std::unique_ptr<StoreWriter> store, std::unique_ptr<SharedBytes> shared,
                     std::string planner_version, StoreWriter::OnFault on_fault)
    : planner_version_(std::move(planner_version)),
      on_fault_(std::move(on_fault)),
      store_(std::move(store)),
      shared_(std::move(shared)) {}

StoredPlanPtr PlanTiers::Read(const std::string& key, const std::string& record, PlanTime oldest,
                              Uses* uses) const {
  PlanRecord read;
  const std::string fault = DecodePlanRecord(key, record, &read);
  if (!fault.empty()) {
    ++uses->errors;
    on_fault_("stored plan " + key + " " + fault);
    return nullptr;
  }
  if (read.plan.create_time < oldest) return nullptr;
  ++uses->hits;
  return std::make_shared<const StoredPlan>(std::move(read.plan));
}

void PlanTiers::Find(const std::string& tenant, const std::string& plan_id, PlanTime oldest,
                     OnFound done) {
  const std::string key = ScopedId(tenant, plan_id);
  if (store_ != nullptr) {
    std::string record;
    if (store_->Find(key, &record)) {
      if (StoredPlanPtr plan = Read(key, record, oldest, &store_uses_)) {
        return done({std::move(plan), PlanTier::kStore});
      }
    }
    ++store_uses_.misses;
  }
  if (shared_ == nullptr) return done({});
  shared_->Find(key, [this, key, oldest, done = std::move(done)](std::optional<std::string> record,
                                                                 bool known) {
    StoredPlanPtr plan = record ? Read(key, *record, oldest, &shared_uses_) : nullptr;
    if (plan == nullptr) {
      ++shared_uses_.misses;
    } else if (store_ != nullptr) {
      store_->Put({key, plan->made_ns(), std::move(*record)});
    }
    done({std::move(plan), PlanTier::kShared, known});
  });
}

void PlanTiers::Put(StoredPlanPtr plan) {
  const std::string record = EncodePlanRecord(*plan, planner_version_);
  if (shared_ != nullptr) shared_->Put(plan->key(), record);
  if (store_ != nullptr) store_->Put({plan->key(), plan->made_ns(), record});
}

void PlanTiers::Warm(PlanCache* cache, size_t bytes) const {
  const std::shared_ptr<PlanStore> store = store_ == nullptr ? nullptr : store_->store();
  if (store == nullptr) return;
  std::vector<StoredPlanPtr> newest;
  size_t taken = 0;
  std::string error;
  store->ForEachNewest(
      [&](const PlanEntry& entry) {
        PlanRecord read;
        taken += entry.record.size() + 1024;
        if (taken > bytes) return false;
        if (DecodePlanRecord(entry.key, entry.record, &read).empty()) {
          newest.push_back(std::make_shared<const StoredPlan>(std::move(read.plan)));
        } else {
          ++store_uses_.errors;
        }
        return true;
      },
      &error);
  if (!error.empty())
    ++store_uses_.errors;  // the look-up that found the error has the file set
                           // aside
  // The oldest plan is inserted first, so that it is also evicted first.
  while (!newest.empty()) {
    cache->Insert(std::move(newest.back()));
    newest.pop_back();
  }
}

TierCounters PlanTiers::store_counters() const {
  TierCounters counters{store_uses_.hits, store_uses_.misses,
                        store_uses_.errors + store_->errors() + store_->dropped()};
  counters.set_aside = store_->set_aside();
  counters.errors += counters.set_aside;
  counters.ok = store_->ok();
  if (const auto store = store_->store()) {
    counters.errors += store->left_out();
    counters.evictions = store->evictions();
    counters.bytes = store->bytes();
    counters.entries = store->entries();
  }
  return counters;
}

TierCounters PlanTiers::shared_counters() const {
  TierCounters counters{shared_uses_.hits, shared_uses_.misses, shared_uses_.errors};
  counters.ok = shared_->ok();
  return counters;
}

}  // namespace evenkeel::server
