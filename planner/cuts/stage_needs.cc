#include "planner/cuts/stage_needs.h"

#include <algorithm>
#include <numeric>

#include "planner/base/integers.h"
#include "planner/cost/memory.h"
#include "planner/cuts/host_loads.h"
#include "planner/recompute/least_recompute.h"
#include "planner/recompute/one_setting.h"

namespace evenkeel::planner {

StageNeeds::StageNeeds(const Job& job, const MemoryProspect& prospect, const Stop& stop,
                       PassLists* lists)
    : profile_(prospect.profile),
      policy_(job.constraints.recompute),
      stages_(prospect.shape.stages),
      chunks_(prospect.shape.chunks),
      peaks_(PeaksOf(prospect.shape, stop, lists)) {
  for (const std::vector<std::vector<int64_t>>& peaks : *peaks_) {
    for (const std::vector<int64_t>& held : peaks)
      most_passes_ = std::max(most_passes_, std::accumulate(held.begin(), held.end(), int64_t{0}));
  }
  for (const LayerCost& layer : profile_.classes) {
    for (size_t q = 0; q < layer.modes.size(); ++q)
      if (Allowed(layer, q)) limits_.push_back(layer.modes[q].workspace_bytes);
  }
  std::sort(limits_.begin(), limits_.end());
  limits_.erase(std::unique(limits_.begin(), limits_.end()), limits_.end());
  for (const int64_t limit : limits_) {
    modes_.emplace_back();
    for (const LayerCost& layer : profile_.classes) modes_.back().push_back(ModeOf(layer, limit));
  }
  before_.resize(static_cast<size_t>(profile_.size()) + 1);
  held_before_.resize(before_.size());
  on_host_before_.resize(before_.size());
  kept_before_.assign(modes_.size(), std::vector<int64_t>(before_.size()));
  for (size_t i = 0; i + 1 < before_.size(); ++i) AddLayer(i);
  kept_.resize(static_cast<size_t>(chunks_));
}

int64_t StageNeeds::Allocated(const std::vector<int64_t>& boundaries, int64_t stage) const {
  const Contents contents = ContentsOf(boundaries, stage);
  int64_t least = kNothingFits;
  for (size_t limit = 0; limit < modes_.size(); ++limit)
    least = std::min(least, AllocatedUnder(limit, contents, boundaries, stage, least));
  return least == kNothingFits || HasHostRoom(boundaries, stage) ? least : least + kNoHostRoom;
}

bool StageNeeds::Fits(const std::vector<int64_t>& boundaries, int64_t stage,
                      int64_t allocatable) const {
  const Contents contents = ContentsOf(boundaries, stage);
  for (size_t limit = modes_.size(); limit-- > 0;) {
    if (AllocatedUnder(limit, contents, boundaries, stage, allocatable + 1) <= allocatable)
      return HasHostRoom(boundaries, stage);
  }
  return false;
}

StageHeld StageNeeds::LeastHeld(const std::vector<int64_t>& boundaries, int64_t stage) const {
  StageHeld best;
  std::vector<ChunkLoad> loads;
  for (int64_t c = 0; c < chunks_; ++c) {
    const size_t segment = static_cast<size_t>(c * stages_ + stage);
    ChunkLoad load{.begin = boundaries[segment]};
    for (int64_t i = boundaries[segment]; i < boundaries[segment + 1]; ++i)
      ++load.counts[static_cast<size_t>(profile_.chain[static_cast<size_t>(i)])];
    loads.push_back(load);
  }
  if (on_host_before_.back().kept > 0) CountOnHost(profile_, peaks(stage), loads);
  // Under each limit of the workspace, every class is best in the mode that keeps least.
  for (const ClassModes& modes : modes_) {
    std::vector<ModeCounts> recomputed;
    std::vector<int64_t> kept;  // of one pack, by chunk
    if (!Choose(loads, modes, &recomputed, &kept)) continue;
    const std::vector<int64_t>& held = FullestMoment(peaks(stage), kept);
    for (size_t c = 0; c < held.size(); ++c) loads[c].in_flight = held[c];
    const int64_t allocated = MemoryOf(profile_, loads, recomputed).allocated() +
                              (HostHasRoom(profile_, loads) ? 0 : kNoHostRoom);
    if (best.loads.empty() || allocated < best.allocated)
      best = {loads, std::move(recomputed), allocated};
  }
  return best;
}

int64_t StageNeeds::work(int64_t stage) const {
  return chunks_ * static_cast<int64_t>(limits_.size() + peaks(stage).size());
}

LeastFull StageNeeds::FullestOf(std::vector<int64_t> boundaries) const {
  LeastFull result{.found = true, .boundaries = std::move(boundaries)};
  for (int64_t s = 0; s < stages_; ++s) {
    StageHeld held = LeastHeld(result.boundaries, s);
    if (s == 0 || held.allocated > result.held.allocated)
      result.held = std::move(held), result.stage = s;
  }
  return result;
}

int64_t StageNeeds::KeptAtLeast(const LayerCost& layer, int64_t limit) const {
  const std::optional<size_t> mode = ModeOf(layer, limit);
  return mode ? layer.modes[*mode].kept_bytes : -1;
}

StageNeeds::Contents StageNeeds::ContentsOf(const std::vector<int64_t>& boundaries,
                                            int64_t stage) const {
  Contents contents;
  for (int64_t c = 0; c < chunks_; ++c) {
    const auto [begin, end] = Segment(boundaries, stage, c);
    contents.sums.static_bytes += held_before_[end].static_bytes - held_before_[begin].static_bytes;
    contents.sums.made_bytes += held_before_[end].made_bytes - held_before_[begin].made_bytes;
    contents.sums.update_bytes += held_before_[end].update_bytes - held_before_[begin].update_bytes;
    for (size_t k = 0; k < profile_.classes.size(); ++k)
      contents.has[k] = contents.has[k] || before_[end][k] != before_[begin][k];
  }
  return contents;
}

int64_t StageNeeds::AllocatedUnder(size_t limit, const Contents& contents,
                                   const std::vector<int64_t>& boundaries, int64_t stage,
                                   int64_t enough) const {
  const ClassModes& modes = modes_[limit];
  const Sums& sums = contents.sums;
  EndBytes last{.made = sums.made_bytes, .update = sums.update_bytes};
  int64_t workspace = 0;
  for (size_t k = 0; k < profile_.classes.size(); ++k) {
    if (!contents.has[k]) continue;
    last.workspace = std::max(last.workspace, profile_.classes[k].end_workspace_bytes);
    if (!modes[k]) return kNothingFits;
    workspace = std::max(workspace, profile_.classes[k].modes[*modes[k]].workspace_bytes);
  }
  const std::vector<int64_t>& kept_before = kept_before_[limit];
  for (int64_t c = 0; c < chunks_; ++c) {
    const auto [begin, end] = Segment(boundaries, stage, c);
    kept_[static_cast<size_t>(c)] = kept_before[end] - kept_before[begin];
  }
  const int64_t kept = MostKept(stage, enough - sums.static_bytes - workspace);
  return sums.static_bytes + std::max(kept + workspace, last.total());
}

bool StageNeeds::HasHostRoom(const std::vector<int64_t>& boundaries, int64_t stage) const {
  if (profile_.host_room == kNoHostLimit) return true;
  Wide room = profile_.host_room;
  for (int64_t c = 0; c < chunks_; ++c) {
    const auto [begin, end] = Segment(boundaries, stage, c);
    room -= on_host_before_[end].fixed - on_host_before_[begin].fixed;
    kept_[static_cast<size_t>(c)] = on_host_before_[end].kept - on_host_before_[begin].kept;
  }
  if (on_host_before_.back().kept == 0) return room >= 0;
  const auto has_room = [&](const std::vector<int64_t>& held) {
    Wide bytes = 0;
    for (size_t c = 0; c < held.size(); ++c) bytes += Wide{held[c]} * kept_[c];
    return bytes <= room;
  };
  return std::all_of(peaks(stage).begin(), peaks(stage).end(), has_room);
}

void StageNeeds::AddLayer(size_t i) {
  const size_t layer_class = static_cast<size_t>(profile_.chain[i]);
  const LayerCost& layer = profile_.classes[layer_class];
  before_[i + 1] = before_[i];
  ++before_[i + 1][layer_class];
  held_before_[i + 1] = {held_before_[i].static_bytes + layer.static_bytes(),
                         held_before_[i].made_bytes + layer.made_bytes,
                         held_before_[i].update_bytes + layer.update_bytes};
  on_host_before_[i + 1] = {on_host_before_[i].fixed + layer.host_bytes,
                            on_host_before_[i].kept + layer.host_kept_bytes};
  for (size_t limit = 0; limit < modes_.size(); ++limit) {
    const std::optional<size_t> mode = modes_[limit][layer_class];
    kept_before_[limit][i + 1] =
        kept_before_[limit][i] + (mode ? layer.modes[*mode].kept_bytes : 0);
  }
}

int64_t StageNeeds::MostKept(int64_t stage, int64_t enough) const {
  const std::vector<std::vector<int64_t>>& all = peaks(stage);
  int64_t largest = 0;
  for (const int64_t kept : kept_) largest = std::max(largest, kept);
  if (largest <= kActivationBytesAtMost / std::max<int64_t>(1, most_passes_)) {
    int64_t most = 0;
    for (const std::vector<int64_t>& held : all) {
      int64_t bytes = 0;
      for (size_t c = 0; c < held.size(); ++c) bytes += held[c] * kept_[c];
      most = std::max(most, bytes);
      if (most >= enough) break;
    }
    return most;
  }
  Wide most = 0;
  for (const std::vector<int64_t>& held : all) {
    Wide bytes = 0;
    for (size_t c = 0; c < held.size(); ++c) bytes += Wide{held[c]} * kept_[c];
    most = std::max(most, bytes);
  }
  return static_cast<int64_t>(std::min(most, Wide{kActivationBytesAtMost}));
}

std::pair<size_t, size_t> StageNeeds::Segment(const std::vector<int64_t>& boundaries, int64_t stage,
                                              int64_t chunk) const {
  const size_t segment = static_cast<size_t>(chunk * stages_ + stage);
  return {static_cast<size_t>(boundaries[segment]), static_cast<size_t>(boundaries[segment + 1])};
}

bool StageNeeds::Allowed(const LayerCost& layer, size_t q) const {
  switch (policy_) {
    case RecomputePolicy::kForbidden:
      return q == 0;
    case RecomputePolicy::kFull:
    case RecomputePolicy::kAdaptive:  // which may recompute all
      return q + 1 == layer.modes.size();
    case RecomputePolicy::kWholeLayers:
      return q == 0 || q + 1 == layer.modes.size();
    case RecomputePolicy::kOneSetting:
      return !profile_.setting || ModeUnder(*profile_.setting, layer) == q;
    case RecomputePolicy::kAuto:
      break;
  }
  return true;
}

std::optional<size_t> StageNeeds::ModeOf(const LayerCost& layer, int64_t limit) const {
  std::optional<size_t> best;
  for (size_t q = 0; q < layer.modes.size(); ++q) {
    const RecomputeMode& mode = layer.modes[q];
    if (!Allowed(layer, q) || mode.workspace_bytes > limit) continue;
    if (!best || mode.kept_bytes < layer.modes[*best].kept_bytes) best = q;
  }
  return best;
}

bool StageNeeds::Choose(const std::vector<ChunkLoad>& loads, const ClassModes& modes,
                        std::vector<ModeCounts>* recomputed, std::vector<int64_t>* kept) const {
  recomputed->assign(loads.size(), {});
  kept->assign(loads.size(), 0);
  for (size_t c = 0; c < loads.size(); ++c) {
    for (size_t k = 0; k < profile_.classes.size(); ++k) {
      if (loads[c].counts[k] == 0) continue;
      const std::optional<size_t> mode = modes[k];
      if (!mode) return false;
      (*kept)[c] += loads[c].counts[k] * profile_.classes[k].modes[*mode].kept_bytes;
      if (*mode > 0) (*recomputed)[c][k][*mode] = loads[c].counts[k];
    }
  }
  return true;
}

}  // namespace evenkeel::planner
