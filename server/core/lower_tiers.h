// Plans that are kept outside the memory of this process: in a file, or in a store that replicas
// share.
#ifndef EVENKEEL_SERVER_CORE_LOWER_TIERS_H_
#define EVENKEEL_SERVER_CORE_LOWER_TIERS_H_

#include <functional>
#include <string>

#include "server/core/plan_cache.h"

namespace evenkeel::server {

// Where a plan came from.
enum class PlanTier { kPlanner, kMemory, kStore, kShared };

struct FoundPlan {
  StoredPlanPtr plan;  // nullptr if not found
  PlanTier tier = PlanTier::kStore;
  bool known = true;  // false if a tier could not be asked, and may have the plan
};

// Thread-safe. A tier that is unavailable finds no plan and stores none.
class LowerTiers {
 public:
  using OnFound = std::function<void(const FoundPlan&)>;
  virtual ~LowerTiers() = default;

  // Calls `done` once, on this thread or within milliseconds on another. Ignores plans made before
  // `oldest`. `done` must not throw.
  virtual void Find(const std::string& tenant, const std::string& plan_id, PlanTime oldest,
                    OnFound done) = 0;

  // Stores the plan later. Never waits.
  virtual void Put(StoredPlanPtr plan) = 0;
};

// Looks in memory, then in `tiers` (nullptr if there are none). Calls `done` as LowerTiers::Find
// does.
void FindPlan(PlanCache& cache, LowerTiers* tiers, const std::string& tenant,
              const std::string& plan_id, const LowerTiers::OnFound& done);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CORE_LOWER_TIERS_H_
