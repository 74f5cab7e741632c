#include "tests/validation/harness/precision_pairs.h"

#include <cmath>
#include <map>
#include <string>
#include <tuple>

namespace evenkeel::validation {
namespace {

struct Times {
  double measured = 0, predicted = 0;
  int64_t runs = 0;
  double measured_mean() const { return measured / static_cast<double>(runs); }
  double predicted_mean() const { return predicted / static_cast<double>(runs); }
};

auto SettingOf(const Case& run) {
  const planner::Parallelism& p = run.spec.parallelism;
  std::map<planner::RecomputeParts, int64_t> recomputed;  // layers by the parts that they repeat
  for (const planner::ChunkSpec& chunk : run.spec.chunks) {
    for (const planner::LayerGroup& group : chunk.layers) {
      for (const planner::RecomputedLayers& layers : group.recomputed)
        recomputed[layers.parts] += layers.count;
    }
  }
  return std::tuple(run.family, run.job.model.language_model.name,
                    run.job.model.language_model.layers, run.job.cluster.gpu.name,
                    run.job.cluster.gpu_count, p.tensor, p.pipeline, p.context, p.expert,
                    p.virtual_stages, run.spec.micro_batches, run.batching.rule.token_cap,
                    run.job.training.execution.host_launch_ns,
                    run.job.training.execution.overlap_experts, recomputed);
}

}  // namespace

PrecisionPairs PrecisionPairsOf(const std::vector<Result>& results) {
  std::map<decltype(SettingOf(Case())), std::map<planner::Precision, Times>> settings;
  for (const Result& result : results) {
    const Case& run = *result.run;
    for (size_t i = 0; i < run.measured.size() && !run.weak; ++i) {
      if (run.measured[i].figure != Figure::kIteration || !result.outcome.predicted[i]) continue;
      Times& times = settings[SettingOf(run)][run.job.training.precision];
      times.measured += run.measured[i].value;
      times.predicted += *result.outcome.predicted[i];
      ++times.runs;
    }
  }
  PrecisionPairs pairs;
  for (const auto& [setting, precisions] : settings) {
    for (auto a = precisions.begin(); a != precisions.end(); ++a) {
      for (auto b = std::next(a); b != precisions.end(); ++b) {
        const double measured = a->second.measured_mean() / b->second.measured_mean();
        const double predicted = a->second.predicted_mean() / b->second.predicted_mean();
        ++pairs.pairs;
        pairs.right += (measured > 1) == (predicted > 1);
        pairs.error += std::abs(predicted / measured - 1);
      }
    }
  }
  if (pairs.pairs > 0) pairs.error /= static_cast<double>(pairs.pairs);
  return pairs;
}

}  // namespace evenkeel::validation
