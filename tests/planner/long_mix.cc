#include "tests/planner/long_mix.h"

#include <cmath>
#include <map>
#include <numbers>
#include <numeric>

#include "planner/base/random.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {

LongMix MakeLongMix(const LongMixParameters& parameters) {
  Random random(parameters.seed);
  const auto uniform = [&] { return (static_cast<double>(random.Next() >> 11) + 0.5) * 0x1p-53; };
  LongMix mix;
  while (mix.tokens.size() < parameters.short_samples) {
    const double normal =
        std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform());
    const double tokens = parameters.short_median * std::exp(parameters.short_sigma * normal);
    if (tokens <= parameters.short_most)
      mix.tokens.push_back(static_cast<int32_t>(std::ceil(tokens)));
  }
  const double range = parameters.long_most - parameters.long_least;
  for (size_t i = 0; i < parameters.long_samples; ++i) {
    const double share = uniform();
    const double above =
        parameters.log_uniform
            ? parameters.long_least *
                  (std::pow(static_cast<double>(parameters.long_most) / parameters.long_least,
                            share) -
                   1)
            : range * share;
    mix.tokens.push_back(parameters.long_least + static_cast<int32_t>(std::ceil(above)));
  }
  random.Shuffle(mix.tokens);
  mix.units.resize(mix.tokens.size());
  return mix;
}

Dataset LongMixDataset(const LongMix& mix) {
  std::map<int32_t, int64_t> counts;
  for (const int32_t tokens : mix.tokens) ++counts[tokens];
  Dataset dataset;
  for (const auto& [tokens, count] : counts) dataset.bins.push_back({0, tokens, count});
  return dataset;
}

double TokenShareAbove(const LongMix& mix, int64_t length) {
  double all = 0, above = 0;
  for (const int32_t tokens : mix.tokens) {
    all += tokens;
    if (tokens > length) above += tokens;
  }
  return above / all;
}

Job HbpJob(std::string_view language_model, ZeroStage stage, const LongMix& mix,
           int64_t packs_per_gpu) {
  Job job = TextJob(language_model, "h100-sxm-80gb", 32);
  job.cluster.inter_node_bytes_per_second = 50e9;
  job.dataset = LongMixDataset(mix);
  Training& training = job.training;
  training.trainer = &TrainerOf(Framework::kDeepSpeed);
  training.zero_stage = stage;
  const double tokens = std::accumulate(mix.tokens.begin(), mix.tokens.end(), 0.0);
  training.global_batch_samples = static_cast<int64_t>(std::ceil(
      32. * 16384 * static_cast<double>(packs_per_gpu * static_cast<int64_t>(mix.tokens.size())) /
      tokens));
  training.order_window = planner::kWholeEpoch;
  training.group_selection = GroupSelection::kPublished;
  training.execution = DefaultExecution(*training.trainer, stage);
  const bool shards_weights = stage == ZeroStage::kWeights;
  training.distributed_gradients_fp32 = !shards_weights;
  job.constraints.recompute = RecomputePolicy::kWholeLayers;
  job.constraints.context_parallel = {1, 0};
  return job;
}

}  // namespace evenkeel::planner
