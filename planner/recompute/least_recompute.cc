#include "planner/recompute/least_recompute.h"

#include <algorithm>
#include <limits>

#include "planner/base/integers.h"

namespace evenkeel::planner {
namespace {

KindCounts AllRecomputable(const LayerProfile& profile, const KindCounts& counts) {
  KindCounts all{};
  for (size_t k = 0; k < profile.kinds.size(); ++k)
    all[k] = profile.kinds[k].recomputable ? counts[k] : 0;
  return all;
}

int64_t Time(const LayerProfile& profile, const KindCounts& recomputed) {
  int64_t ns = 0;
  for (size_t k = 0; k < profile.kinds.size(); ++k)
    ns += recomputed[k] * profile.kinds[k].forward_ns;
  return ns;
}

int64_t Layers(const KindCounts& counts) {
  int64_t total = 0;
  for (const int64_t c : counts) total += c;
  return total;
}

// Tries every count of the recomputable kinds but the last, whose least count then follows from the
// bytes still short. With encoder, dense and MoE layers that is at most count^2 steps; nearly
// always at most one kind's count.
class Enumeration {
 public:
  Enumeration(const LayerProfile& profile, const KindCounts& counts, int64_t in_flight,
              int64_t allocatable)
      : profile_(profile), counts_(counts), in_flight_(in_flight), allocatable_(allocatable) {
    for (size_t k = 0; k < profile.kinds.size(); ++k) {
      if (profile.kinds[k].recomputable && counts[k] > 0) kinds_.push_back(k);
    }
  }

  std::optional<RecomputeChoice> Run() {
    if (!kinds_.empty()) Try(0, KindCounts{});
    return best_;
  }

 private:
  void Try(size_t depth, KindCounts recomputed) {
    const size_t kind = kinds_[depth];
    if (depth + 1 == kinds_.size()) {
      LeastOfLast(kind, recomputed);
      return;
    }
    for (int64_t n = 0; n <= counts_[kind]; ++n) {
      recomputed[kind] = n;
      Try(depth + 1, recomputed);
    }
  }

  void LeastOfLast(size_t kind, KindCounts recomputed) {
    recomputed[kind] = 0;
    if (Allocated(recomputed) <= allocatable_) return Offer(recomputed);
    // From the first recomputed layer on, each further one saves the same; the first may also add
    // its workspace.
    recomputed[kind] = 1;
    const LayerCost& layer = profile_.kinds[kind];
    const int64_t saved = in_flight_ * (layer.activation_bytes - layer.checkpoint_bytes);
    const int64_t excess = Allocated(recomputed) - allocatable_;
    if (excess > 0) {
      if (saved <= 0) return;
      recomputed[kind] += CeilDivide(excess, saved);
    }
    if (recomputed[kind] <= counts_[kind]) Offer(recomputed);
  }

  int64_t Allocated(const KindCounts& recomputed) const {
    return MemoryOf(profile_, counts_, recomputed, in_flight_).allocated();
  }

  void Offer(const KindCounts& recomputed) {
    const int64_t ns = Time(profile_, recomputed);
    if (best_ && (ns > best_->recompute_ns ||
                  (ns == best_->recompute_ns && Layers(recomputed) >= Layers(best_->recomputed)))) {
      return;
    }
    best_ = RecomputeChoice{recomputed, ns};
  }

  const LayerProfile& profile_;
  const KindCounts& counts_;
  const int64_t in_flight_;
  const int64_t allocatable_;
  std::vector<size_t> kinds_;
  std::optional<RecomputeChoice> best_;
};

}  // namespace

StageMemory MemoryOf(const LayerProfile& profile, const KindCounts& counts,
                     const KindCounts& recomputed, int64_t in_flight) {
  StageMemory memory;
  for (size_t k = 0; k < profile.kinds.size(); ++k) {
    if (counts[k] == 0) continue;
    const LayerCost& layer = profile.kinds[k];
    memory.static_bytes += counts[k] * layer.static_bytes();
    memory.activation_bytes += in_flight * ((counts[k] - recomputed[k]) * layer.activation_bytes +
                                            recomputed[k] * layer.checkpoint_bytes);
    // A layer that is recomputed holds all its activations again while it runs backward.
    memory.workspace_bytes =
        std::max(memory.workspace_bytes,
                 layer.workspace_bytes + (recomputed[k] > 0 ? layer.activation_bytes : 0));
  }
  return memory;
}

std::optional<RecomputeChoice> LeastRecompute(const LayerProfile& profile, const KindCounts& counts,
                                              int64_t in_flight, int64_t allocatable,
                                              RecomputePolicy policy) {
  if (policy == RecomputePolicy::kFull) {
    const KindCounts all = AllRecomputable(profile, counts);
    if (MemoryOf(profile, counts, all, in_flight).allocated() > allocatable) return std::nullopt;
    return RecomputeChoice{all, Time(profile, all)};
  }
  if (MemoryOf(profile, counts, KindCounts{}, in_flight).allocated() <= allocatable)
    return RecomputeChoice{};
  if (policy == RecomputePolicy::kForbidden) return std::nullopt;
  return Enumeration(profile, counts, in_flight, allocatable).Run();
}

KindCounts SmallestRecompute(const LayerProfile& profile, const KindCounts& counts,
                             int64_t in_flight, RecomputePolicy policy) {
  const KindCounts all = AllRecomputable(profile, counts);
  if (policy == RecomputePolicy::kForbidden) return KindCounts{};
  if (policy == RecomputePolicy::kFull) return all;
  std::array<size_t, kLayerKinds> kinds{};
  size_t present = 0;
  for (size_t k = 0; k < profile.kinds.size(); ++k) {
    if (all[k] > 0) kinds[present++] = k;
  }
  // Each kind is best kept whole or recomputed whole: memory is linear in its count beyond the
  // first layer.
  KindCounts best{};
  int64_t least = MemoryOf(profile, counts, best, in_flight).allocated();
  for (uint32_t subset = 1; subset < 1u << present; ++subset) {
    KindCounts recomputed{};
    for (size_t k = 0; k < present; ++k) {
      if ((subset >> k & 1) != 0) recomputed[kinds[k]] = all[kinds[k]];
    }
    const int64_t allocated = MemoryOf(profile, counts, recomputed, in_flight).allocated();
    if (allocated < least) least = allocated, best = recomputed;
  }
  return best;
}

int64_t LeastAllocated(const LayerProfile& profile, const KindCounts& counts, int64_t in_flight,
                       RecomputePolicy policy) {
  const KindCounts recomputed = SmallestRecompute(profile, counts, in_flight, policy);
  return MemoryOf(profile, counts, recomputed, in_flight).allocated();
}

}  // namespace evenkeel::planner
