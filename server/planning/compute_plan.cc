#include "server/planning/compute_plan.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/evaluate_plan.h"
#include "planner/job.h"
#include "planner/launch/make_launch.h"
#include "planner/make_plan.h"
#include "planner/packing/batch_rule.h"
#include "planner/plan.h"
#include "planner/plan_timeline.h"
#include "server/convert/answer/plan_bytes.h"
#include "server/convert/answer/to_proto.h"
#include "server/convert/numbers.h"

namespace evenkeel::server {
namespace {

PlanFacts FactsOf(const planner::Job& job, const planner::Plan& plan) {
  PlanFacts facts = {.model = job.model.name,
                     .gpu_type = job.cluster.gpu.name,
                     .gpu_count = job.cluster.gpu_count,
                     .fits = plan.fits(),
                     .unit_cap = plan.batch_rule.unit_cap,
                     .token_cap = plan.batch_rule.token_cap};
  if (plan.fits()) {
    facts.step_seconds = Seconds(plan.prediction.step.total_ns);
    facts.gpu_days = plan.prediction.gpu_days;
  }
  return facts;
}

// Returns the timeline. Returns "" and adds to *violations if it would be too long.
std::string CheckedTimeline(const planner::Job& job, const planner::Evaluation& found,
                            std::vector<Violation>* violations) {
  const int64_t cells = planner::TimelineCells(found.plan);
  if (cells > kTimelineCellsAtMost) {
    const planner::Parallelism& p = found.plan.parallelism;
    violations->push_back(
        {"include_timeline",
         "the timeline would not fit into an answer: " +
             std::to_string(found.plan.prediction.micro_batches) + " packs of a rank x " +
             std::to_string(p.pipeline) + " stages x " + std::to_string(p.virtual_stages) +
             " virtual stages are " + std::to_string(cells) + "; accepted: at most " +
             std::to_string(kTimelineCellsAtMost) +
             ", by a smaller global_batch_samples or more data parallelism; or leave it false"});
    return {};
  }
  return TimelineBytes(planner::TimelineOf(job, found));
}

ComputedEvaluation Evaluated(const EvaluationJob& evaluation, const planner::Job& job,
                             const planner::Stop& stop) {
  ComputedEvaluation computed;
  const planner::Batching batching = planner::MakeBatching(job, stop);
  planner::Evaluation found = planner::EvaluatePlan(job, batching, evaluation.plan.spec, stop);
  for (const planner::SpecFault& fault : found.faults)
    computed.violations.push_back(ViolationOf(evaluation.plan, fault, FieldPath("plan")));
  std::string timeline;
  if (computed.violations.empty() && evaluation.include_timeline)
    timeline = CheckedTimeline(job, found, &computed.violations);
  if (!computed.violations.empty()) {
    computed.end = ComputeEnd::kRefused;
    return computed;
  }
  if (found.plan.fits())
    found.plan.launch =
        planner::MakeLaunch(job, batching, found.plan, planner::LaunchedPlan::kCallers, stop);
  computed.end = ComputeEnd::kDone;
  computed.plan.plan_bytes = EvaluationBytes(job, found.plan);
  computed.plan.facts = FactsOf(job, found.plan);
  computed.plan.facts.of_last_group = evaluation.last_group;
  computed.plan.timeline_bytes = std::move(timeline);
  return computed;
}

ComputeEnd Computed(const planner::Job& job, const std::string& plan_id, planner::PlanResult result,
                    ComputedPlan* out, std::vector<std::string>* faults) {
  switch (result.end) {
    case planner::PlanEnd::kStopped:
      return ComputeEnd::kStopped;
    case planner::PlanEnd::kCheckFailed:
      *faults = std::move(result.faults);
      return ComputeEnd::kDefect;
    case planner::PlanEnd::kComplete:
      break;
  }
  *out = ComputedOf(job, result.plan, plan_id);
  return ComputeEnd::kDone;
}

}  // namespace

ComputeEnd ComputePlan(const planner::Job& job, const std::string& plan_id,
                       const planner::PlanHooks& hooks, ComputedPlan* out,
                       std::vector<std::string>* faults) {
  return Computed(job, plan_id, planner::MakePlan(job, hooks), out, faults);
}

ComputeEnd ComputeShortPlan(const planner::Job& job, const std::string& plan_id,
                            const planner::PlanHooks& hooks, ComputedPlan* out,
                            std::vector<std::string>* faults) {
  return Computed(job, plan_id, planner::MakeShortPlan(job, hooks), out, faults);
}

ComputedPlan ComputedOf(const planner::Job& job, const planner::Plan& plan,
                        const std::string& plan_id) {
  ComputedPlan computed;
  computed.plan_id = plan_id;
  computed.plan_bytes = PlanBytes(job, plan, plan_id);
  computed.facts = FactsOf(job, plan);
  return computed;
}

std::optional<double> SlowerBy(const PlanFacts& plan, const PlanFacts& best) {
  if (!plan.fits || !best.fits || plan.of_last_group || best.gpu_days <= 0) return std::nullopt;
  return plan.gpu_days / best.gpu_days - 1;
}

ComputedEvaluation ComputeEvaluation(const EvaluationJob& evaluation, int64_t unit_cap,
                                     int64_t token_cap, const planner::Stop& stop) {
  planner::Job job = evaluation.packs;
  if (job.training.unit_cap == 0) job.training.unit_cap = unit_cap;
  if (job.training.token_cap == 0) job.training.token_cap = token_cap;
  ComputedEvaluation computed;
  if (planner::RunsThrough(stop, [&] { computed = Evaluated(evaluation, job, stop); }))
    return computed;
  ComputedEvaluation stopped;
  stopped.end = ComputeEnd::kStopped;
  return stopped;
}

}  // namespace evenkeel::server
