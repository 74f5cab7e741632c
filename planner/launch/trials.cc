#include "planner/launch/trials.h"

#include <absl/strings/str_join.h>

#include <algorithm>
#include <utility>

#include "planner/base/decimal_text.h"
#include "planner/base/integers.h"
#include "planner/explain/changed_job.h"
#include "planner/search/stage_plans.h"

namespace evenkeel::planner {
namespace {

// Returns the recompute of a layer group, without empty entries.
std::vector<RecomputedLayers> Recomputed(const LayerGroup& group) {
  std::vector<RecomputedLayers> recomputed;
  for (const RecomputedLayers& r : group.recomputed) {
    if (r.count > 0 && r.parts != 0) recomputed.push_back(r);
  }
  return recomputed;
}

std::vector<LayerGroup> Groups(const ChunkSpec& chunk) {
  std::vector<LayerGroup> groups;
  for (const LayerGroup& group : chunk.layers) {
    if (IsTransformerLayer(group.kind)) groups.push_back(group);
  }
  return groups;
}

}  // namespace

Trials::Trials(const Job& job, const Batching& batching, const Plan& plan, const Stop& stop)
    : job_(job), batching_(batching), plan_(plan), stop_(stop) {
  PlanSpec spec = SpecOf(plan);
  // The stages of a plan with packing groups are those of its last group.
  if (plan.grouping) spec.micro_batches = plan.grouping->groups.back().micro_batches;
  base_ = Predict(spec);
}

Trial Trials::Predict(const Job& job, const PlanSpec& spec) const {
  Evaluation found = EvaluatePlan(job, batching_, spec, stop_);
  Trial trial{.spec = spec};
  if (!found.faults.empty()) {  // cannot happen with a spec that follows the model
    trial.misfit.emplace().remedies.push_back(
        {.kind = RemedyKind::kFreeDegrees,
         .text = found.faults.front().field + " " + found.faults.front().message});
    return trial;
  }
  trial.step_ns = found.plan.prediction.step.total_ns;
  const Parallelism& p = spec.parallelism;
  const double samples =
      static_cast<double>(found.candidate.micro_batches * p.data) * batching_.rule.samples_per_pack;
  trial.sample_ns = samples > 0 ? static_cast<double>(trial.step_ns) / samples : 0;
  trial.stages = std::move(found.plan.stages);
  trial.misfit = std::move(found.plan.misfit);
  return trial;
}

Job Trials::AsPlanned() const {
  const PlanSpec& spec = base_.spec;
  const Parallelism& p = spec.parallelism;
  Job job = job_;
  Constraints& c = job.constraints;
  PinDegrees(p, &c);
  c.virtual_stages = DegreeRange::Exactly(p.virtual_stages);
  c.encoder_data = DegreeRange::Exactly(p.encoder_data);
  c.schedule = spec.schedule;
  c.partition_method = PartitionMethod::kExact;
  if (c.recompute == RecomputePolicy::kAdaptive) c.recompute = RecomputePolicy::kAuto;
  return job;
}

std::optional<Trial> Trials::Best(const Job& job) const {
  const std::optional<Plan> plan = BestPlan(job, batching_, stop_);
  if (!plan) return std::nullopt;
  PlanSpec spec = SpecOf(*plan);
  // A group's number of packs differs from the one that the global batch asks for.
  if (plan_.grouping && spec.parallelism.data == base_.spec.parallelism.data)
    spec.micro_batches = base_.spec.micro_batches;
  Trial trial = Predict(job, spec);
  if (!trial.fits()) return std::nullopt;
  return trial;
}

double SlowerBy(const Trial& trial, const Trial& other) {
  return other.sample_ns > 0 ? trial.sample_ns / other.sample_ns - 1 : 0;
}

bool SameRun(const PlanSpec& a, const PlanSpec& b) {
  if (!(a.parallelism == b.parallelism) || a.schedule != b.schedule ||
      a.chunks.size() != b.chunks.size())
    return false;
  for (size_t i = 0; i < a.chunks.size(); ++i) {
    const std::vector<LayerGroup> ours = Groups(a.chunks[i]), theirs = Groups(b.chunks[i]);
    const bool same = std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end(),
                                 [](const LayerGroup& x, const LayerGroup& y) {
                                   return x.kind == y.kind && x.count == y.count &&
                                          Recomputed(x) == Recomputed(y);
                                 });
    if (!same) return false;
  }
  return true;
}

bool RecomputesWholeLayers(const PlanSpec& spec, RecomputeParts also) {
  for (const RecomputeParts parts : PartsIn(spec)) {
    if (parts != 0 && parts != kWholeLayer && parts != also) return false;
  }
  return true;
}

bool RecomputesAnything(const PlanSpec& spec) {
  for (const ChunkSpec& chunk : spec.chunks) {
    for (const LayerGroup& group : chunk.layers) {
      if (!Recomputed(group).empty()) return true;
    }
  }
  return false;
}

int64_t LanguageLayers(const ChunkSpec& chunk) {
  int64_t layers = 0;
  for (const LayerGroup& group : chunk.layers) {
    if (IsTransformerLayer(group.kind) && group.kind != LayerKind::kEncoder) layers += group.count;
  }
  return layers;
}

bool TowerIsFirst(const PlanSpec& spec) {
  for (size_t i = 1; i < spec.chunks.size(); ++i) {
    for (const LayerGroup& group : spec.chunks[i].layers) {
      if (group.count > 0 && IsTowerLayer(group.kind)) return false;
    }
  }
  return true;
}

std::string LongerText(double slower_by) {
  const int64_t tenths = Nearest(1000 * slower_by);
  if (tenths == 0) return "as long";
  return PercentText(tenths < 0 ? -slower_by : slower_by) + (tenths < 0 ? " shorter" : " longer");
}

std::string Joined(const std::vector<int64_t>& values, const char* separator) {
  return absl::StrJoin(values, separator);
}

}  // namespace evenkeel::planner
