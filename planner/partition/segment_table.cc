#include "planner/partition/segment_table.h"

namespace evenkeel::planner {

SegmentTable::SegmentTable(const Job& job, const LayerProfile& profile, const Parallelism& p,
                           int64_t micro_batches, const std::function<bool()>& stop)
    : Segments(job, profile, p, micro_batches) {
  Fill(stop);
}

void SegmentTable::Fill(const std::function<bool()>& stop) {
  if (window() < 1) {
    complete_ = true;
    return;
  }
  times_.resize(static_cast<size_t>(stages()));
  for (int64_t s = 0; s < stages(); ++s) {
    std::vector<int64_t>& times = times_[static_cast<size_t>(s)];
    times.assign(static_cast<size_t>(window() * (window() + 1) / 2), kNoPlan);
    // Every stage in front and behind takes a layer at least.
    const int64_t last_begin = s == 0 ? 0 : s + window() - 1;
    const int64_t last_end = s + window();
    for (int64_t i = s; i <= last_begin; ++i) {
      if (stop && stop()) return;
      const int64_t first_end = s + 1 == stages() ? size() : i + 1;
      for (int64_t j = first_end; j <= last_end; ++j) {
        if (!Allowed(s, i, j)) continue;
        const auto choice = Recompute(s, i, j);
        if (!choice) break;  // a longer stage needs more memory
        times[Index(s, i, j)] =
            WorkBefore(j) - WorkBefore(i) + choice->recompute_ns + 2 * SendTime(s, j);
      }
    }
  }
  complete_ = true;
}

}  // namespace evenkeel::planner
