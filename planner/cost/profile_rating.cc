#include "planner/cost/profile_rating.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "planner/base/decimal_text.h"
#include "planner/base/integers.h"
#include "planner/cost/collective_rating.h"
#include "planner/cost/layer_profile.h"
#include "planner/model/layer_runs.h"

namespace evenkeel::planner {
namespace {

constexpr double kStandardDeviation = 1.4826;  // over the median absolute deviation, if normal

PackShape PackOf(const MeasuredShape& shape) {
  return {D(shape.units), D(shape.tokens), D(shape.tokens) * D(shape.sample_tokens)};
}

Cluster OneNode(const MeasuredProfile& profile) {
  Cluster cluster;
  cluster.gpu = profile.gpu;
  cluster.gpu_count = cluster.gpus_per_node = cluster.gpus_per_full_node = profile.tensor;
  const bool scaleup = profile.gpu->scaleup_bytes_per_second > 0;
  cluster.intra_node_bytes_per_second =
      scaleup ? profile.gpu->scaleup_bytes_per_second : profile.gpu->pcie_bytes_per_second;
  cluster.inter_node_bytes_per_second = cluster.intra_node_bytes_per_second;
  return cluster;
}

// Returns a layer of that kind in the analytic model, with all parts trained.
std::optional<LayerCost> Analytic(const MeasuredProfile& profile, LayerKind kind,
                                  const MeasuredShape& shape) {
  Job job;
  job.model = profile.model;
  for (EncoderTower& tower : job.model.towers) {
    tower.encoder.train = tower.projector.train = TrainMode::kFull;
  }
  job.model.language_model.train = TrainMode::kFull;
  job.cluster = OneNode(profile);
  const PackShape pack = PackOf(shape);
  const LayerProfile layers = BuildLayerProfile(job, {profile.tensor, 1, 1}, pack, pack);
  for (const LayerCost& layer : layers.classes) {
    if (layer.kind == kind) return layer;
  }
  return std::nullopt;
}

// One value of a measurement and of the model; `least` is the physical lower limit.
struct Comparison {
  Rated what = Rated::kForward;
  double measured = 0;
  double predicted = 0;
  double least = 0;
};

std::string WhatText(Rated what) {
  switch (what) {
    case Rated::kForward:
      return "forward";
    case Rated::kBackward:
      return "backward";
    case Rated::kActivation:
      break;
  }
  return "kept activations";
}

std::string ValueText(Rated what, double value) {
  return what == Rated::kActivation ? MebibytesText(std::max(0.0, value))
                                    : MillisecondsText(Nearest(std::max(0.0, value)));
}

// The claim of a measurement or of a group of probes, which is accepted or refused.
struct Claim {
  Measured list = Measured::kLayerTime;
  std::vector<int64_t> indices;
  std::vector<Rating> ratings;
  std::vector<Comparison> comparisons;  // one per rating
  std::optional<RefusalReason> reason;
  std::string text;
};

void Refuse(Claim& c, RefusalReason reason, std::string text) {
  if (c.reason) return;
  c.reason = reason;
  c.text = std::move(text);
}

void Compare(Claim& c, const MeasuredProfile& profile, LayerKind kind, const Comparison& compared) {
  c.comparisons.push_back(compared);
  // A time less its communication may be negative.
  const double left = std::max(0.0, compared.measured);
  c.ratings.push_back({kind, profile.tensor, compared.what,
                       compared.predicted > 0 ? left / compared.predicted : kRatioAtMost + 1});
  const std::string measured = WhatText(compared.what) + " " +
                               ValueText(compared.what, compared.measured) + " measured, " +
                               ValueText(compared.what, compared.predicted) + " predicted";
  if (compared.measured <= 0 || compared.measured < compared.least) {
    Refuse(c, RefusalReason::kImpossible,
           measured + "; at the peak of " + profile.gpu->name + " it takes " +
               ValueText(compared.what, compared.least) + ", without any communication");
  }
  const double ratio = c.ratings.back().ratio;
  if (ratio > kRatioAtMost || ratio < 1 / kRatioAtMost) {
    Refuse(c, RefusalReason::kOutOfBounds,
           measured + ": a factor of " + RatioText(ratio) + ", accepted: 1/3 to 3");
  }
}

Claim RateLayerTime(const MeasuredProfile& profile, int64_t index) {
  const LayerTimeMeasurement& m = profile.layer_times[static_cast<size_t>(index)];
  Claim c{.list = Measured::kLayerTime, .indices = {index}};
  const std::optional<LayerCost> layer = Analytic(profile, m.kind, m.shape);
  if (!layer) return c;
  const PackShape pack = PackOf(m.shape);
  const double peak_ns =
      layer->forward_flops.at(pack) / D(profile.tensor) / profile.gpu->dense_16bit_flops * 1e9;
  const auto communication = [&](const PackCost& cost) {
    return m.with_communication ? cost.at(pack) : 0;
  };
  const double forward = D(m.forward_ns) - communication(layer->forward_communication);
  Compare(c, profile, m.kind, {Rated::kForward, forward, layer->forward.at(pack), peak_ns});
  if (m.backward_ns > 0) {
    const double repeated = m.backward_recomputes ? D(m.forward_ns) : 0;
    Compare(c, profile, m.kind,
            {Rated::kBackward,
             D(m.backward_ns) - repeated - communication(layer->backward_communication),
             layer->backward.at(pack), layer->backward_flops_ratio * peak_ns});
  }
  return c;
}

// Identifies probes of the same place, which differ in what is recomputed.
using Place = std::tuple<int, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, bool>;

Place PlaceOf(const MemoryMeasurement& m) {
  return {static_cast<int>(m.kind), m.stage,  m.layers, m.in_flight, m.shape.units, m.shape.tokens,
          m.shape.sample_tokens,    m.is_peak};
}

// Compares the probes with the fewest and the most recomputed layers: M(r) = rest + n ((L - r) a +
// r c), with n micro-batches in flight, a bytes kept by a layer, and c bytes kept by a recomputed
// layer. At the peak of a stage that recomputes all of its layers, one of them is also held whole
// (docs/COST_MODEL.md, section 7).
Claim RatePlace(const MeasuredProfile& profile, std::vector<int64_t> indices) {
  Claim c{.list = Measured::kMemory, .indices = std::move(indices)};
  const auto at = [&](int64_t i) -> const MemoryMeasurement& {
    return profile.memory[static_cast<size_t>(i)];
  };
  int64_t few = c.indices.front(), many = few;
  for (const int64_t i : c.indices) {
    if (at(i).recomputed < at(few).recomputed) few = i;
    if (at(i).recomputed > at(many).recomputed) many = i;
  }
  const MemoryMeasurement& least = at(few);
  const MemoryMeasurement& most = at(many);
  const int64_t saved = least.allocated_bytes - most.allocated_bytes;
  const int64_t layers = (most.recomputed - least.recomputed) * least.in_flight;
  const int64_t held = most.is_peak && most.recomputed == most.layers ? 1 : 0;
  if (layers <= held) {
    Refuse(c, RefusalReason::kSingleSetting,
           layers == 0 ? "needs a second probe of the same stage, shape and micro-batches in "
                         "flight with other recomputed_layers"
                       : "one layer in flight at its peak is held whole under either setting: "
                         "measure more layers or micro-batches");
    return c;
  }
  if (saved <= 0) {
    Refuse(c, RefusalReason::kImpossible,
           "recomputing " + std::to_string(most.recomputed - least.recomputed) +
               " more layers allocates no less: " + MebibytesText(D(least.allocated_bytes)) +
               " and " + MebibytesText(D(most.allocated_bytes)));
    return c;
  }
  const std::optional<LayerCost> layer = Analytic(profile, least.kind, least.shape);
  if (!layer) return c;
  const double kept = (D(saved) + D(layers) * D(layer->modes.back().kept_bytes)) / D(layers - held);
  Compare(c, profile, least.kind,
          {Rated::kActivation, kept, D(layer->modes.front().kept_bytes), 0});
  return c;
}

Claim RateStep(const MeasuredProfile& profile, int64_t index) {
  const StepMeasurement& m = profile.steps[static_cast<size_t>(index)];
  Claim c{.list = Measured::kStep, .indices = {index}};
  const double ratio = D(m.measured_ns) / D(m.predicted_ns);
  const std::string measured = MillisecondsText(m.measured_ns) + " measured, " +
                               MillisecondsText(m.predicted_ns) + " predicted";
  if (m.mfu > ratio) {
    Refuse(c, RefusalReason::kImpossible,
           measured + ": that is " + PercentText(m.mfu / ratio) + " of the GPUs' peak");
  }
  if (ratio > kRatioAtMost || ratio < 1 / kRatioAtMost) {
    Refuse(c, RefusalReason::kOutOfBounds,
           measured + ": a factor of " + RatioText(ratio) + ", accepted: 1/3 to 3");
  }
  return c;
}

Claim RateCollective(const MeasuredProfile& profile, int64_t index) {
  Claim c{.list = Measured::kCollective, .indices = {index}};
  if (std::optional<CurveDoubt> doubt =
          DoubtOf(profile.collectives[static_cast<size_t>(index)], profile.gpu)) {
    Refuse(c, doubt->impossible ? RefusalReason::kImpossible : RefusalReason::kOutOfBounds,
           std::move(doubt->text));
  }
  return c;
}

std::vector<Claim> RateAll(const MeasuredProfile& profile) {
  std::vector<Claim> all;
  for (size_t i = 0; i < profile.layer_times.size(); ++i) {
    all.push_back(RateLayerTime(profile, static_cast<int64_t>(i)));
  }
  std::map<Place, std::vector<int64_t>> places;
  for (size_t i = 0; i < profile.memory.size(); ++i) {
    places[PlaceOf(profile.memory[i])].push_back(static_cast<int64_t>(i));
  }
  for (auto& [place, indices] : places) all.push_back(RatePlace(profile, std::move(indices)));
  for (size_t i = 0; i < profile.steps.size(); ++i) {
    all.push_back(RateStep(profile, static_cast<int64_t>(i)));
  }
  for (size_t i = 0; i < profile.collectives.size(); ++i) {
    all.push_back(RateCollective(profile, static_cast<int64_t>(i)));
  }
  return all;
}

double Median(std::vector<double>& values) {
  const size_t half = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half),
                   values.end());
  const double upper = values[half];
  if (values.size() % 2 == 1) return upper;
  const double lower =
      *std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half));
  return (lower + upper) / 2;
}

// The values of one kind, tensor degree and quantity, and their centre.
struct Crowd {
  std::vector<double> ratios;
  MeasuredRatio centre;

  bool Excludes(double ratio) const {
    if (static_cast<int64_t>(ratios.size()) <= kOthersAtLeast) return false;
    const double deviation = kDeviationsAtMost * kStandardDeviation * centre.spread;
    return std::abs(ratio / centre.value - 1) > std::max(deviation, kDeviationShare);
  }
};

using CrowdKey = std::tuple<int, int64_t, int>;
CrowdKey KeyOf(const Rating& r) {
  return {static_cast<int>(r.kind), r.tensor, static_cast<int>(r.what)};
}

void RefuseOutlier(Claim& c, double ratio, const Crowd& crowd) {
  if (!crowd.Excludes(ratio)) return;
  Refuse(c, RefusalReason::kOutlier,
         "a factor of " + RatioText(ratio) + " of the model, where the median of " +
             std::to_string(crowd.ratios.size()) + " is " + RatioText(crowd.centre.value) +
             "; accepted: within 3 deviations of it, or 25%");
}

void RefuseOutliers(const MeasuredProfile& profile, const std::vector<Rating>& known,
                    const std::vector<double>& known_steps, std::vector<Claim>& all) {
  std::map<CrowdKey, Crowd> crowds;
  Crowd steps{.ratios = known_steps};
  const auto step_ratio = [&](const Claim& c) {
    const StepMeasurement& m = profile.steps[static_cast<size_t>(c.indices.front())];
    return D(m.measured_ns) / D(m.predicted_ns);
  };
  for (const Rating& r : known) crowds[KeyOf(r)].ratios.push_back(r.ratio);
  for (const Claim& c : all) {
    if (c.reason) continue;
    for (const Rating& r : c.ratings) crowds[KeyOf(r)].ratios.push_back(r.ratio);
    if (c.list == Measured::kStep) steps.ratios.push_back(step_ratio(c));
  }
  for (auto& [key, crowd] : crowds) crowd.centre = MedianRatio(crowd.ratios);
  steps.centre = MedianRatio(steps.ratios);
  for (Claim& c : all) {
    for (const Rating& r : c.ratings) RefuseOutlier(c, r.ratio, crowds[KeyOf(r)]);
    if (c.list == Measured::kStep) RefuseOutlier(c, step_ratio(c), steps);
  }
}

template <typename Value>
void Keep(const std::vector<Value>& all, const std::vector<bool>& refused,
          std::vector<Value>* kept) {
  kept->clear();
  for (size_t i = 0; i < all.size(); ++i) {
    if (!refused[i]) kept->push_back(all[i]);
  }
}

}  // namespace

bool IsEncoderKind(LayerKind kind) {
  return kind == LayerKind::kPatchEmbedding || kind == LayerKind::kEncoder;
}

bool IsLanguageKind(LayerKind kind) {
  return !IsEncoderKind(kind) && kind != LayerKind::kProjector;
}

bool HasKind(const MeasuredProfile& profile, LayerKind kind) {
  const bool has_encoder = !profile.model->towers.empty();
  if (IsEncoderKind(kind)) return has_encoder;
  if (profile.encoder_only) return false;
  if (kind == LayerKind::kProjector) return has_encoder;
  const LanguageModel& m = profile.model->language_model;
  if (kind == LayerKind::kDense || kind == LayerKind::kMoe) return CountLayers(m, kind) > 0;
  return true;
}

MeasuredRatio MedianRatio(std::vector<double> ratios) {
  if (ratios.empty()) return {};
  MeasuredRatio median{.count = static_cast<int64_t>(ratios.size())};
  median.value = Median(ratios);
  for (double& r : ratios) r = std::abs(r / median.value - 1);
  median.spread = Median(ratios);
  return median;
}

Judgement Judge(const MeasuredProfile& profile, const std::vector<Rating>& known,
                const std::vector<double>& known_steps) {
  std::vector<Claim> all = RateAll(profile);
  RefuseOutliers(profile, known, known_steps, all);
  Judgement judgement{.accepted = profile};
  std::vector<bool> refused[] = {
      std::vector<bool>(profile.layer_times.size()), std::vector<bool>(profile.memory.size()),
      std::vector<bool>(profile.steps.size()), std::vector<bool>(profile.collectives.size())};
  for (const Claim& c : all) {
    if (!c.reason) {
      judgement.ratings.insert(judgement.ratings.end(), c.ratings.begin(), c.ratings.end());
      continue;
    }
    for (const int64_t index : c.indices) {
      refused[static_cast<size_t>(c.list)][static_cast<size_t>(index)] = true;
      judgement.refused.push_back({c.list, index, *c.reason, c.text});
    }
  }
  std::sort(judgement.refused.begin(), judgement.refused.end(),
            [](const Refusal& a, const Refusal& b) {
              return std::tie(a.list, a.index) < std::tie(b.list, b.index);
            });
  Keep(profile.layer_times, refused[0], &judgement.accepted.layer_times);
  Keep(profile.memory, refused[1], &judgement.accepted.memory);
  Keep(profile.steps, refused[2], &judgement.accepted.steps);
  Keep(profile.collectives, refused[3], &judgement.accepted.collectives);
  return judgement;
}

std::vector<Rating> RatingsOf(const MeasuredProfile& profile) {
  std::vector<Rating> ratings;
  for (const Claim& c : RateAll(profile)) {
    // Measurements that a newer model finds out of bounds are not used.
    if (!c.reason) ratings.insert(ratings.end(), c.ratings.begin(), c.ratings.end());
  }
  return ratings;
}

}  // namespace evenkeel::planner
