#include "server/core/lower_tiers.h"

#include "server/core/scoped_id.h"

namespace evenkeel::server {

void FindPlan(PlanCache& cache, LowerTiers* tiers, const std::string& tenant,
              const std::string& plan_id, const LowerTiers::OnFound& done) {
  StoredPlanPtr plan = cache.Find(ScopedId(tenant, plan_id), PlanCache::Count::kNothing);
  if (plan != nullptr || tiers == nullptr) return done({std::move(plan), PlanTier::kMemory});
  tiers->Find(tenant, plan_id, PlanTime::min(), [&cache, done](const FoundPlan& found) {
    if (found.plan != nullptr) cache.Insert(found.plan);
    done(found);
  });
}

}  // namespace evenkeel::server
