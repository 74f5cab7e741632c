#include "planner/cuts/even_cuts.h"

#include <algorithm>

#include "planner/partition/segments.h"

namespace evenkeel::planner {

namespace {

// Returns a cut that is even in layers, except that the first stage takes those it must hold.
std::vector<int64_t> CutBehindFirst(const LayerProfile& profile, int64_t stages) {
  int64_t first = profile.transformer_layers / stages, least = 0;
  for (int64_t i = 0; i < profile.first_stage_layers; ++i)
    least += IsTransformerLayer(profile.at(i).kind) ? 1 : 0;
  first = std::max(first, least);
  if (stages == 1) first = profile.transformer_layers;
  std::vector<int64_t> layers = {first};
  const int64_t rest = profile.transformer_layers - first;
  for (int64_t s = 1; s < stages; ++s)
    layers.push_back(rest * s / (stages - 1) - rest * (s - 1) / (stages - 1));
  return CutAfter(profile, layers);
}

}  // namespace

std::vector<int64_t> EvenLayerCut(const LayerProfile& profile, const Parallelism& p) {
  const int64_t stages = p.pipeline, chunks = p.virtual_stages;
  if (profile.first_stage_layers > 0) return CutBehindFirst(profile, stages);
  const int64_t each = profile.transformer_layers / stages;
  // Stages in the middle take the remainder, as the ends hold embedding and head.
  const int64_t rest = profile.transformer_layers % stages, first = (stages - rest + 1) / 2;
  std::vector<int64_t> layers;
  for (int64_t c = 0; c < chunks; ++c) {
    for (int64_t s = 0; s < stages; ++s) {
      const bool more = s >= first && s < first + rest;
      const int64_t of_stage = each + (more ? 1 : 0);
      layers.push_back(of_stage * (c + 1) / chunks - of_stage * c / chunks);
    }
  }
  return CutAfter(profile, layers);
}

std::vector<int64_t> EvenTimeCut(const LayerProfile& profile, const Parallelism& p) {
  const int64_t segments = p.pipeline * p.virtual_stages;
  const auto time_at = [&](int64_t i) {
    return static_cast<double>(profile.at(i).forward_ns + profile.at(i).backward_ns);
  };
  double total = 0, passed = 0;
  for (int64_t i = 0; i < profile.size(); ++i) total += time_at(i);
  std::vector<int64_t> layers(static_cast<size_t>(segments), 1);
  int64_t free = profile.transformer_layers - segments;  // each segment has one already
  int64_t segment = 0;
  for (int64_t i = 0; i < profile.size(); ++i) {
    passed += time_at(i);
    if (!IsTransformerLayer(profile.at(i).kind)) continue;
    const int64_t due = std::min(
        segments - 1, static_cast<int64_t>(passed / total * static_cast<double>(segments)));
    segment = std::max(segment, due);
    if (free > 0) ++layers[static_cast<size_t>(segment)], --free;
  }
  return CutAfter(profile, layers);
}

ClassCounts LayersBetween(const LayerProfile& profile, int64_t begin, int64_t end) {
  ClassCounts counts{};
  for (int64_t i = begin; i < end; ++i)
    ++counts[static_cast<size_t>(profile.chain[static_cast<size_t>(i)])];
  return counts;
}

bool HasTransformerLayer(const LayerProfile& profile, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    if (IsTransformerLayer(profile.at(i).kind)) return true;
  }
  return false;
}

}  // namespace evenkeel::planner
