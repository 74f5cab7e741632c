#include "planner/partition/segment_table.h"

#include "planner/recompute/one_setting.h"

namespace evenkeel::planner {

SegmentTable::SegmentTable(const Job& job, const LayerProfile& profile, const Parallelism& p,
                           int64_t micro_batches, const Stop& stop, MemoryLimit memory)
    : Segments(job, profile, p, micro_batches, memory),
      depends_on_place_(DependsOnPlace(profile)),
      stop_(stop) {
  if (window() < 1) return;
  times_.resize(static_cast<size_t>(stages()));
  unfit_.assign(static_cast<size_t>(stages() * size()), size() + 1);
}

void SegmentTable::MakeStage(std::vector<int64_t>& times) const {
  const int64_t segments = window() * (window() + 1) / 2;
  stop_.Spend(4 * segments);
  times.assign(static_cast<size_t>(segments), -1);
}

int64_t SegmentTable::Recomputed(int64_t s, int64_t i, int64_t j) const {
  if (!Allowed(s, i, j)) return kNoPlan;
  // If the segment loses its last layer and gains an equal one in front, it has the same layers.
  const auto& chain = profile().chain;
  if (!depends_on_place_ && i > s &&
      chain[static_cast<size_t>(i - 1)] == chain[static_cast<size_t>(j - 1)] &&
      Allowed(s, i - 1, j - 1))
    return RecomputeTime(s, i - 1, j - 1);
  int64_t& unfit = unfit_[static_cast<size_t>(s * size() + i)];
  if (j >= unfit) return kNoPlan;
  stop_.Spend(kUnitsPerRecompute);
  if (const std::optional<int64_t> time = LeastRecomputeTime(s, i, j)) return *time;
  unfit = j;
  return kNoPlan;
}

}  // namespace evenkeel::planner
