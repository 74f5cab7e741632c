#include "planner/explain/prediction.h"

#include <algorithm>

#include "planner/base/integers.h"
#include "planner/base/units.h"
#include "planner/cost/apply_calibration.h"
#include "planner/cost/interval.h"
#include "planner/cost/model_flops.h"
#include "planner/cost/uncertainty.h"
#include "planner/search/stage_plans.h"

namespace evenkeel::planner {
namespace {

constexpr double kHoursPerDay = 24;

// Returns the time of m packs by part, as the mean over stages. The bubble is the rest of the
// pipeline's time.
StepTime MakeStepTime(const Job& job, const Batching& batching, const LayerProfile& profile,
                      const Candidate& c) {
  StepTime t;
  const int64_t m = c.micro_batches, stages = c.parallelism.pipeline;
  int64_t busy = 0, recompute = 0;
  for (const SegmentWork& s : c.segments) {
    busy += s.forward_ns + s.backward_ns;
    recompute += s.recompute_ns;
  }
  int64_t encoder = 0, communication = 0, updates = 0;
  for (int64_t i = 0; i < profile.size(); ++i) {
    const LayerCost& layer = profile.at(i);
    const int64_t sent = Nearest(layer.forward_communication.at(batching.mean)) +
                         Nearest(layer.backward_communication.at(batching.mean));
    communication += sent - layer.update_ns;
    updates += layer.update_ns;
    if (IsTowerLayer(layer.kind)) encoder += layer.forward_ns + layer.backward_ns - sent;
  }
  const int64_t mean_busy = MultiplyDivide(m, busy, stages);
  t.encoder_compute_ns = MultiplyDivide(m, encoder, stages);
  t.tensor_communication_ns = MultiplyDivide(m, communication, stages);
  const int64_t inside = MultiplyDivide(m, updates, stages);  // of backward passes
  t.language_compute_ns = mean_busy - t.encoder_compute_ns - t.tensor_communication_ns - inside;
  t.recompute_ns = MultiplyDivide(m, recompute, stages);
  t.pipeline_bubble_ns = c.step.pipeline_ns - mean_busy - t.recompute_ns;
  t.imbalance_ns = c.step.imbalance_ns;
  t.data_sync_ns = c.step.data_sync_ns;
  t.optimizer_ns = c.step.optimizer_ns + inside;
  t.total_ns = CorrectedStep(job.calibration, c.step.total_ns());
  t.measured_correction_ns = t.total_ns - c.step.total_ns();
  return t;
}

}  // namespace

Prediction Predict(const Job& job, const Batching& batching, const LayerProfile& profile,
                   const Candidate& c) {
  Prediction p;
  p.step = MakeStepTime(job, batching, profile, c);
  const Uncertainty uncertainty = UncertaintyOf(job.cluster.gpu.costs, !job.model.towers.empty());
  p.step_uncertainty = uncertainty.step_time;
  p.memory_uncertainty = uncertainty.memory;
  p.step_interval = StepIntervalOf(job, RegimeOf(job, c.parallelism, batching.mean.tokens, p.step));
  p.memory_interval = MemoryIntervalOf(job);
  p.micro_batches = c.micro_batches;
  const int64_t packs = c.micro_batches * c.parallelism.data;
  const double step_seconds = static_cast<double>(p.step.total_ns) / kNsPerSecond;
  p.steps_per_epoch = CeilDivide(batching.rule.packs, packs);
  p.holed_steps = batching.rule.packs % packs == 0 ? 0 : 1;
  p.samples_per_step = static_cast<double>(packs) * batching.rule.samples_per_pack;
  p.epoch_seconds =
      static_cast<double>(p.steps_per_epoch) * static_cast<double>(p.step.total_ns) / kNsPerSecond;
  p.gpu_days = GpuDays(job, p.step.total_ns, batching.rule.packs, c);
  p.cost = p.gpu_days * kHoursPerDay * job.cluster.price_per_gpu_hour;
  const double flops = ModelFlops(profile, batching.real_mean()) * static_cast<double>(packs);
  p.mfu = flops / (step_seconds * PeakFlops(job));
  p.llm_tokens_per_second = batching.real_mean().tokens * static_cast<double>(packs) / step_seconds;
  const int64_t worked = c.step.pipeline_ns - p.step.pipeline_bubble_ns;
  p.bubble_ratio = 1 - static_cast<double>(worked) / static_cast<double>(c.step.pipeline_ns);
  return p;
}

void FillStepBounds(const Job& job, const Batching& batching, const Candidate& c, Proof* proof) {
  const double packs = batching.packs_per_step(job.training.global_batch_samples);
  const int64_t rest = c.step.data_sync_ns + c.step.optimizer_ns;
  const auto scaled = [&](int64_t ns) {
    return ScaleToBatch(ns, packs, c.micro_batches, c.parallelism.data);
  };
  proof->step_ns = scaled(c.step.pipeline_ns + rest);
  proof->plan_lower_bound_ns = scaled(ScheduleBound(c) + rest);
}

Alternative MakeAlternative(const Job& job, const Batching& batching, const Candidate& c,
                            const Stop& stop) {
  const LayerProfile profile =
      BuildLayerProfile(job, c.parallelism, batching.mean, batching.largest, {}, c.micro_batches);
  Alternative alternative{.parallelism = c.parallelism};
  const std::vector<StagePlan> stages = StagePlans(job, profile, c, stop);
  alternative.least_free_bytes = stages.front().free_bytes();
  for (const StagePlan& s : stages) {
    int64_t layers = 0;
    for (const LayerGroup& group : s.layers)
      layers += IsTransformerLayer(group.kind) ? group.count : 0;
    alternative.stage_layers.push_back(layers);
    alternative.least_free_bytes = std::min(alternative.least_free_bytes, s.free_bytes());
  }
  alternative.samples_per_step =
      batching.rule.samples_per_pack * static_cast<double>(c.micro_batches * c.parallelism.data);
  alternative.step_ns = CorrectedStep(job.calibration, c.step.total_ns());
  alternative.gpu_days = GpuDays(job, alternative.step_ns, batching.rule.packs, c);
  return alternative;
}

}  // namespace evenkeel::planner
