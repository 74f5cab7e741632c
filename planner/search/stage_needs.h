// What the stages of a cut hold at least: shared by the searches for cuts that fit.
#ifndef EVENKEEL_PLANNER_SEARCH_STAGE_NEEDS_H_
#define EVENKEEL_PLANNER_SEARCH_STAGE_NEEDS_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "planner/cost/memory.h"
#include "planner/recompute/least_recompute.h"
#include "planner/search/least_memory.h"
#include "planner/simulate/held_passes.h"

namespace evenkeel::planner {

// What the stages of a shard hold under any cut.
class StageNeeds {
 public:
  StageNeeds(const Job& job, const Shard& shard)
      : profile_(shard.profile),
        policy_(job.constraints.recompute),
        stages_(shard.shape.stages),
        chunks_(shard.shape.chunks) {
    for (int64_t s = 0; s < stages_; ++s) peaks_.push_back(PeaksHeld(shard.shape, s));
    for (const LayerCost& layer : profile_.kinds) {
      for (size_t q = 0; q < layer.modes.size(); ++q)
        if (Allowed(layer, q)) limits_.push_back(layer.modes[q].workspace_bytes);
    }
    std::sort(limits_.begin(), limits_.end());
    limits_.erase(std::unique(limits_.begin(), limits_.end()), limits_.end());
  }

  StageHeld Of(const std::vector<int64_t>& boundaries, int64_t stage) const {
    StageHeld best;
    std::vector<ChunkLoad> loads;
    for (int64_t c = 0; c < chunks_; ++c) {
      const size_t segment = static_cast<size_t>(c * stages_ + stage);
      ChunkLoad load;
      for (int64_t i = boundaries[segment]; i < boundaries[segment + 1]; ++i)
        ++load.counts[static_cast<size_t>(profile_.chain[static_cast<size_t>(i)])];
      loads.push_back(load);
    }
    // Under each limit of the workspace every kind is best whole in the mode that keeps least.
    for (const int64_t limit : limits_) {
      std::vector<ModeCounts> recomputed;
      std::vector<int64_t> kept;  // of one pack, by chunk
      if (!Choose(loads, limit, &recomputed, &kept)) continue;
      Wide most = -1;
      for (const std::vector<int64_t>& held : peaks_[static_cast<size_t>(stage)]) {
        Wide bytes = 0;
        for (size_t c = 0; c < held.size(); ++c) bytes += Wide{held[c]} * kept[c];
        if (bytes <= most) continue;
        most = bytes;
        for (size_t c = 0; c < held.size(); ++c) loads[c].in_flight = held[c];
      }
      const int64_t allocated = MemoryOf(profile_, loads, recomputed).allocated();
      if (best.loads.empty() || allocated < best.allocated)
        best = {loads, std::move(recomputed), allocated};
    }
    return best;
  }

  // What looking at one stage takes, in chunks.
  int64_t work(int64_t stage) const {
    return chunks_ * static_cast<int64_t>(limits_.size() + peaks(stage).size());
  }

  // The fullest stage of a cut.
  LeastFull FullestOf(std::vector<int64_t> boundaries) const {
    LeastFull result{.found = true, .boundaries = std::move(boundaries)};
    for (int64_t s = 0; s < stages_; ++s) {
      StageHeld held = Of(result.boundaries, s);
      if (s == 0 || held.allocated > result.held.allocated)
        result.held = std::move(held), result.stage = s;
    }
    return result;
  }

  // What a layer of the kind keeps of one pack at least, with workspaces up to the limit; -1: it
  // needs a larger one.
  int64_t KeptAtLeast(const LayerCost& layer, int64_t limit) const {
    const std::optional<size_t> mode = ModeOf(layer, limit);
    return mode ? layer.modes[*mode].kept_bytes : -1;
  }
  const std::vector<int64_t>& limits() const { return limits_; }
  const std::vector<std::vector<int64_t>>& peaks(int64_t stage) const {
    return peaks_[static_cast<size_t>(stage)];
  }

 private:
  __extension__ using Wide = __int128;

  bool Allowed(const LayerCost& layer, size_t q) const {
    switch (policy_) {
      case RecomputePolicy::kForbidden:
        return q == 0;
      case RecomputePolicy::kFull:
      case RecomputePolicy::kAdaptive:  // which may recompute all
        return q + 1 == layer.modes.size();
      case RecomputePolicy::kWholeLayers:
        return q == 0 || q + 1 == layer.modes.size();
      case RecomputePolicy::kAuto:
        break;
    }
    return true;
  }

  std::optional<size_t> ModeOf(const LayerCost& layer, int64_t limit) const {
    std::optional<size_t> best;
    for (size_t q = 0; q < layer.modes.size(); ++q) {
      const RecomputeMode& mode = layer.modes[q];
      if (!Allowed(layer, q) || mode.workspace_bytes > limit) continue;
      if (!best || mode.kept_bytes < layer.modes[*best].kept_bytes) best = q;
    }
    return best;
  }

  // False: some layer needs a larger workspace.
  bool Choose(const std::vector<ChunkLoad>& loads, int64_t limit,
              std::vector<ModeCounts>* recomputed, std::vector<int64_t>* kept) const {
    recomputed->assign(loads.size(), {});
    kept->assign(loads.size(), 0);
    for (size_t c = 0; c < loads.size(); ++c) {
      for (size_t k = 0; k < profile_.kinds.size(); ++k) {
        if (loads[c].counts[k] == 0) continue;
        const std::optional<size_t> mode = ModeOf(profile_.kinds[k], limit);
        if (!mode) return false;
        (*kept)[c] += loads[c].counts[k] * profile_.kinds[k].modes[*mode].kept_bytes;
        if (*mode > 0) (*recomputed)[c][k][*mode] = loads[c].counts[k];
      }
    }
    return true;
  }

  const LayerProfile& profile_;
  const RecomputePolicy policy_;
  const int64_t stages_, chunks_;
  std::vector<std::vector<std::vector<int64_t>>> peaks_;  // by stage
  std::vector<int64_t> limits_;                           // workspaces, ascending
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_STAGE_NEEDS_H_
