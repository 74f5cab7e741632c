#include "server/planning/plan_work.h"

#include <utility>

#include "planner/make_plan.h"
#include "server/planning/offers.h"

namespace evenkeel::server {

Work PlanWork(ComputeFunction compute, const std::string& plan_id, planner::Job job) {
  return [compute = std::move(compute), plan_id,
          job = std::move(job)](const planner::PlanHooks& hooks) {
    WorkResult result;
    result.end = compute(job, plan_id, hooks, &result.computed, &result.faults);
    return result;
  };
}

Work PlanWork(ComputeFunction compute, const std::string& plan_id, OfferJobs offers) {
  if (!offers.several()) {
    return PlanWork(std::move(compute), plan_id, std::move(offers.offers.front().job));
  }
  return [plan_id, offers = std::move(offers)](const planner::PlanHooks& hooks) {
    WorkResult result;
    result.end = ComputeOffers(offers, plan_id, hooks, &result.computed, &result.faults);
    return result;
  };
}

Work ShortPlanWork(const std::string& plan_id, planner::Job job) {
  return [plan_id, job = std::move(job)](const planner::PlanHooks& hooks) {
    WorkResult result;
    result.end = ComputeShortPlan(job, plan_id, hooks, &result.computed, &result.faults);
    return result;
  };
}

Work EvaluationWork(std::shared_ptr<const EvaluationJob> evaluation, int64_t unit_cap,
                    int64_t token_cap) {
  return
      [evaluation = std::move(evaluation), unit_cap, token_cap](const planner::PlanHooks& hooks) {
        ComputedEvaluation found = ComputeEvaluation(*evaluation, unit_cap, token_cap, hooks.stop);
        return WorkResult{.end = found.end,
                          .computed = std::move(found.plan),
                          .faults = {},
                          .violations = std::move(found.violations)};
      };
}

}  // namespace evenkeel::server
