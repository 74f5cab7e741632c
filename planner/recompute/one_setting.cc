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
  return std::all_of(profile.kinds.begin(), profile.kinds.end(),
                     [&](const LayerCost& layer) { return ModeUnder(setting, layer).has_value(); });
}

ModeCounts RecomputedUnderSetting(const LayerProfile& profile, const KindCounts& counts) {
  const RecomputeSetting& setting = *profile.setting;
  ModeCounts recomputed{};
  int64_t left = setting.block > 0 ? setting.block : RecomputeSetting::kEveryLayer;
  for (size_t k = 0; k < profile.kinds.size(); ++k) {
    const LayerCost& layer = profile.kinds[k];
    const size_t mode = *ModeUnder(setting, layer);
    if (mode == 0 || counts[k] == 0) continue;
    if (layer.kind == LayerKind::kEncoder) {
      recomputed[k][mode] = counts[k];
      continue;
    }
    recomputed[k][mode] = std::min(left, counts[k]);
    left -= recomputed[k][mode];
  }
  return recomputed;
}

}  // namespace evenkeel::planner
