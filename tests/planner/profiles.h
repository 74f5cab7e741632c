// Profiles for tests, as measured by a GPU that is slower or faster than the model.
#ifndef EVENKEEL_TESTS_PLANNER_PROFILES_H_
#define EVENKEEL_TESTS_PLANNER_PROFILES_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "planner/base/integers.h"
#include "planner/cost/calibration_book.h"
#include "planner/cost/layer_profile.h"
#include "planner/cost/measured_profile.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {

inline MeasuredProfile PairProfile(std::string_view encoder, std::string_view language_model,
                                   std::string_view gpu, int64_t tensor) {
  const Job job = VisionJob(encoder, language_model, gpu, 8);
  MeasuredProfile profile;
  profile.model = job.model;
  profile.gpu = job.cluster.gpu;
  profile.tensor = tensor;
  return profile;
}

// Makes the profile of the quickstart job, at the tensor degree of its plan.
inline MeasuredProfile QuickstartProfile(int64_t tensor = 2) {
  return PairProfile("internvit-6b-448px-v1.5", "internlm2-20b", "a100-sxm-80gb", tensor);
}

// Returns the layer with the model's costs.
inline LayerCost ModelledLayer(const MeasuredProfile& profile, LayerKind kind,
                               const MeasuredShape& shape) {
  Job job;
  job.model = profile.model;
  job.cluster = ClusterOf(profile.gpu->name, 8);
  const double tokens = static_cast<double>(shape.tokens);
  const PackShape pack = {static_cast<double>(shape.units), tokens,
                          tokens * static_cast<double>(shape.sample_tokens)};
  for (const LayerCost& layer :
       BuildLayerProfile(job, {profile.tensor, 1, 1}, pack, pack).classes) {
    if (layer.kind == kind) return layer;
  }
  return {};
}

// Adds a layer that took `ratio` times the model's time.
inline void AddLayerTime(MeasuredProfile& profile, LayerKind kind, MeasuredShape shape,
                         double ratio) {
  const LayerCost layer = ModelledLayer(profile, kind, shape);
  const double tokens = static_cast<double>(shape.tokens);
  const PackShape pack = {static_cast<double>(shape.units), tokens,
                          tokens * static_cast<double>(shape.sample_tokens)};
  LayerTimeMeasurement m;
  m.kind = kind;
  m.shape = shape;
  m.forward_ns = Nearest(ratio * layer.forward.at(pack));
  m.backward_ns = Nearest(ratio * layer.backward.at(pack));
  profile.layer_times.push_back(m);
}

// Adds two probes of `layers` layers, with none and with all but one recomputed, that keep `ratio`
// times what the model predicts.
inline void AddProbes(MeasuredProfile& profile, LayerKind kind, MeasuredShape shape, int64_t layers,
                      double ratio) {
  const LayerCost layer = ModelledLayer(profile, kind, shape);
  MemoryMeasurement m;
  m.kind = kind;
  m.layers = layers;
  m.shape = shape;
  const double kept = ratio * static_cast<double>(layer.modes.front().kept_bytes);
  const double rest = 1e9;
  m.allocated_bytes = Nearest(rest + static_cast<double>(layers) * kept);
  profile.memory.push_back(m);
  m.recomputed = layers - 1;
  m.allocated_bytes =
      Nearest(rest + kept +
              static_cast<double>(layers - 1) * static_cast<double>(layer.modes.back().kept_bytes));
  profile.memory.push_back(m);
}

inline RatedProfilePtr RatedOf(int64_t revision, const MeasuredProfile& profile) {
  return std::make_shared<const RatedProfile>(RatedProfile{revision, profile, RatingsOf(profile)});
}

inline constexpr MeasuredShape kTiles = {.units = 9};
inline constexpr MeasuredShape kText = {.tokens = 4096, .sample_tokens = 1024};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_TESTS_PLANNER_PROFILES_H_
