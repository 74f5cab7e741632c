#include "planner/recompute/one_setting.h"

#include <algorithm>
#include <cstdint>

namespace evenkeel::planner {

std::optional<size_t> ModeUnder(const RecomputeSetting& setting, const LayerCost& layer) {
  if (!IsTransformerLayer(layer.kind) || !layer.recomputable()) return 0;
  if (layer.kind == LayerKind::kEncoder) return setting.encoder ? layer.modes.size() - 1 : 0;
  if (setting.block > 0) return layer.modes.size() - 1;
  const RecomputeParts parts =
      layer.kind == LayerKind::kMoe ? setting.moe_parts : setting.dense_parts;
  for (size_t q = 0; q < layer.modes.size(); ++q)
    if (layer.modes[q].parts == parts) return q;
  return std::nullopt;
}

bool HasModesOf(const LayerProfile& profile, const RecomputeSetting& setting) {
  return std::all_of(profile.classes.begin(), profile.classes.end(),
                     [&](const LayerCost& layer) { return ModeUnder(setting, layer).has_value(); });
}

bool DependsOnPlace(const LayerProfile& profile) {
  return profile.setting && !profile.setting->uniform() &&
         !std::is_sorted(profile.chain.begin(), profile.chain.end());
}

namespace {

// Takes layers of the block from the front of the chunk.
void TakeBlock(const LayerProfile& profile, ClassCounts counts, int64_t begin, int64_t block,
               ModeCounts& recomputed) {
  for (int64_t i = begin; block > 0 && i < profile.size(); ++i) {
    const size_t k = static_cast<size_t>(profile.chain[static_cast<size_t>(i)]);
    const LayerCost& layer = profile.classes[k];
    if (layer.kind == LayerKind::kEncoder || counts[k] == 0) continue;
    const size_t mode = *ModeUnder(*profile.setting, layer);
    if (mode == 0) continue;
    ++recomputed[k][mode];
    --counts[k];
    --block;
  }
}

}  // namespace

ModeCounts RecomputedUnderSetting(const LayerProfile& profile, const ClassCounts& counts,
                                  int64_t begin) {
  const RecomputeSetting& setting = *profile.setting;
  ModeCounts recomputed{};
  int64_t classes = 0;  // that share the block; its place means nothing to a single one
  for (size_t k = 0; k < profile.classes.size(); ++k)
    classes += counts[k] > 0 && profile.classes[k].kind != LayerKind::kEncoder ? 1 : 0;
  const bool by_place = classes > 1 && DependsOnPlace(profile);
  int64_t left = setting.block > 0 ? setting.block : RecomputeSetting::kEveryLayer;
  if (by_place) TakeBlock(profile, counts, begin, left, recomputed);
  for (size_t k = 0; k < profile.classes.size(); ++k) {
    if (counts[k] == 0) continue;
    const LayerCost& layer = profile.classes[k];
    const size_t mode = *ModeUnder(setting, layer);
    if (mode == 0) continue;
    if (layer.kind == LayerKind::kEncoder) {
      recomputed[k][mode] = static_cast<int32_t>(counts[k]);
      continue;
    }
    if (by_place) continue;
    recomputed[k][mode] = static_cast<int32_t>(std::min(left, counts[k]));
    left -= recomputed[k][mode];
  }
  return recomputed;
}

}  // namespace evenkeel::planner
