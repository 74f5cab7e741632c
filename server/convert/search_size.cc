#include "server/convert/search_size.h"

#include <algorithm>
#include <string>
#include <vector>

#include "planner/cost/layer_profile.h"
#include "server/convert/degree_products.h"

namespace evenkeel::server {
namespace {

std::vector<int64_t> Divisors(int64_t number) {
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d * d <= number; ++d) {
    if (number % d != 0) continue;
    divisors.push_back(d);
    if (d * d != number) divisors.push_back(number / d);
  }
  return divisors;
}

}  // namespace

SearchSize SearchSizeOf(const planner::Job& job) {
  SearchSize size;
  const planner::Constraints& constraints = job.constraints;
  const bool pipelines = job.training.framework == planner::Framework::kMegatron &&
                         job.training.zero_stage != planner::ZeroStage::kWeights;
  const bool ring = job.training.execution.context == planner::ContextKind::kRing;
  const int64_t layers = TransformerLayers(job.model);
  const auto& moe = job.model.language_model.moe;
  const int64_t experts = moe ? static_cast<int64_t>(Divisors(moe->experts).size()) : 1;
  const bool fixed = !constraints.stage_layers.empty();
  const std::vector<int64_t> divisors = Divisors(job.cluster.gpu_count);
  for (const int64_t t : divisors) {
    if (job.cluster.gpus_per_node % t != 0 || !Admits(constraints.tensor_parallel, t) ||
        !planner::TensorParallelAllowed(job.model, t))
      continue;
    for (const int64_t c : divisors) {
      const int64_t rest = job.cluster.gpu_count / t;
      if (rest % c != 0 || !Admits(constraints.context_parallel, c)) continue;
      if (!ring && job.model.language_model.heads / t % c != 0) continue;
      for (const int64_t p : divisors) {
        if (p > layers || rest / c % p != 0 || !Admits(constraints.pipeline_parallel, p)) continue;
        if ((p > 1 && !pipelines) || !Admits(constraints.data_parallel, rest / c / p)) continue;
        const int64_t window = layers - p + 1;
        size.degrees += experts;
        size.segments += experts * p * window * (window + 1) / 2;
        const int64_t most = p == 1 || fixed ? 1 : layers / p;
        const planner::DegreeRange& range = constraints.virtual_stages;
        size.chunked += experts * (range.max == 0 ? most : std::min(most, range.max));
      }
    }
  }
  size.layers = layers;
  return size;
}

void CheckSearchSize(const planner::Job& job, const FieldPath& job_path, ViolationSink& sink) {
  const int64_t chunked = SearchSizeOf(job).chunked;
  if (chunked <= kMaxChunked) return;
  const FieldPath cluster = job_path.Child("cluster");
  const FieldPath pool = cluster.Child("pools", 0);
  sink.Add(pool.Child("gpu_count"),
           "leaves " + std::to_string(chunked) +
               " combinations of degrees and virtual stages to search; accepted: at most " +
               std::to_string(kMaxChunked) +
               ", by narrower job.constraints, such as virtual_stages and expert_parallel");
}

}  // namespace evenkeel::server
