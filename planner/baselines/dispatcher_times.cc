#include "planner/baselines/dispatcher_times.h"

#include <algorithm>

#include "planner/cost/expert_dispatch.h"
#include "planner/cost/network.h"
#include "planner/evaluate_plan.h"

namespace evenkeel::planner {

std::vector<DispatcherTime> DispatcherTimes(const Job& job, const Batching& batching,
                                            const Plan& plan, const Stop& stop) {
  std::vector<DispatcherTime> times;
  const Parallelism& p = plan.parallelism;
  if (!job.model.language_model.moe || p.expert <= 1) return times;
  const Dispatcher own = PlannedDispatcher(job, p, batching.mean);
  Job other = job;
  other.training.execution.dispatcher = Dispatcher::kLeastTime;
  DispatcherSet among = DispatchersOf(other);
  // kLeastTime never chooses an all-gather, which takes more memory. Here memory is checked, so it
  // is included.
  if (!job.training.execution.overlap_shared_expert)
    among |= job.training.trainer->dispatchers & DispatcherBit(Dispatcher::kAllGather);
  const RankGroup group =
      Network(job.cluster, job.constants).ExpertGroup(p, job.training.execution.expert_tensor);
  const PlanSpec spec = SpecOf(plan);
  for (const DispatcherRecord& record : Dispatchers()) {
    const bool planned = record.dispatcher == own;
    const bool runs = (among & DispatcherBit(record.dispatcher)) != 0 &&
                      RunsDispatcher(record.dispatcher, job.cluster, group);
    if (!planned && !runs) continue;
    int64_t step_ns = plan.prediction.step.total_ns;
    if (!planned) {
      other.training.execution.dispatcher = record.dispatcher;
      const Evaluation evaluation = EvaluatePlan(other, batching, spec, stop);
      if (!evaluation.faults.empty() || !evaluation.plan.fits()) continue;
      step_ns = evaluation.plan.prediction.step.total_ns;
    }
    times.push_back({record.dispatcher, planned, step_ns});
  }
  std::stable_sort(times.begin(), times.end(),
                   [](const auto& a, const auto& b) { return a.step_ns < b.step_ns; });
  return times;
}

}  // namespace evenkeel::planner
