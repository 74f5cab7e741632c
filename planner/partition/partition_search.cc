#include "planner/partition/partition_search.h"

#include <algorithm>
#include <utility>

#include "planner/base/integers.h"

namespace evenkeel::planner {
namespace {

// Dynamic programs over (stages used, boundary). They keep each cut to reconstruct the boundaries.
class Programme {
 public:
  Programme(const SegmentTable& table, int64_t micro_batches, const Stop& stop)
      : table_(table), m_(micro_batches), stop_(stop) {}

  // Returns the partition of least sum_s T_s among those with max_s T_s <= limit, or nullopt if
  // none fits or if stopped().
  std::optional<Partition> LeastSum(int64_t limit) {
    const int64_t n = table_.size(), stages = table_.stages();
    if (table_.window() < 1) return std::nullopt;
    const size_t width = static_cast<size_t>(n) + 1;
    std::vector<int64_t> value(width, kNoPlan), next(width);
    std::vector<int64_t> cuts(static_cast<size_t>(stages) * width, -1);
    value[0] = 0;
    int64_t nearest = 0, farthest = 0;  // ends of the stages before, if they have any
    for (int64_t s = 0; s < stages; ++s) {
      stopped_ = stopped_ || stop_();
      if (stopped_) return std::nullopt;
      std::fill(next.begin(), next.end(), kNoPlan);
      const int64_t first = s + 1 == stages ? n : s + 1;
      const int64_t last = s + 1 == stages ? n : n - (stages - 1 - s);
      int64_t begin = s, next_nearest = n, next_farthest = 0;
      for (int64_t j = first; j <= last; ++j) {
        const SegmentTable::Ending ending(table_, s, j);
        // Longer stages are slower.
        while (begin < j && ending.LeastTime(begin) > limit) ++begin;
        while (begin > s && ending.LeastTime(begin - 1) <= limit) --begin;
        states_ += j - begin;
        int64_t best = kNoPlan, cut = -1;
        for (int64_t i = std::min(j - 1, farthest); i >= std::max(begin, nearest); --i) {
          if (value[static_cast<size_t>(i)] >= kNoPlan) continue;
          const int64_t stage = ending.StageTime(i);
          if (stage > limit) continue;
          const int64_t candidate = value[static_cast<size_t>(i)] + stage;
          if (candidate <= best) best = candidate, cut = i;
        }
        if (cut < 0) continue;
        next[static_cast<size_t>(j)] = best;
        cuts[static_cast<size_t>(s) * width + static_cast<size_t>(j)] = cut;
        next_nearest = std::min(next_nearest, j), next_farthest = j;
      }
      nearest = next_nearest, farthest = next_farthest;
      value.swap(next);
    }
    if (value[static_cast<size_t>(n)] >= kNoPlan) return std::nullopt;
    return WalkBack(cuts, width);
  }

  int64_t states() const { return states_; }
  bool stopped() const { return stopped_; }

 private:
  Partition WalkBack(const std::vector<int64_t>& cuts, size_t width) const {
    Partition p;
    p.boundaries.assign(static_cast<size_t>(table_.stages()) + 1, table_.size());
    for (int64_t s = table_.stages() - 1; s >= 0; --s) {
      const int64_t end = p.boundaries[static_cast<size_t>(s) + 1];
      const int64_t begin = cuts[static_cast<size_t>(s) * width + static_cast<size_t>(end)];
      p.boundaries[static_cast<size_t>(s)] = begin;
      const int64_t time = table_.StageTime(s, begin, end);
      p.slowest_ns = std::max(p.slowest_ns, time);
      p.sum_ns += time;
    }
    p.closed_form_ns = (m_ - 1) * p.slowest_ns + p.sum_ns;
    return p;
  }

  const SegmentTable& table_;
  const int64_t m_;
  const Stop stop_;
  int64_t states_ = 0;
  bool stopped_ = false;
};

}  // namespace

PartitionSearchResult FindPartition(const SegmentTable& table, int64_t micro_batches,
                                    const Stop& stop) {
  Programme programme(table, micro_batches, stop);
  PartitionSearchResult result;
  std::optional<Partition>& best = result.best;
  // Finds a first incumbent by trying growing bottlenecks; segments above the limit can be ignored.
  // With one pack, only the sum counts, and no bottleneck is too large.
  const int64_t work = table.WorkBefore(table.size());
  int64_t limit = micro_batches == 1 ? kNoPlan - 1 : CeilDivide(work, table.stages());
  bool known_to_fit = false;
  while (!(best = programme.LeastSum(limit)) && !programme.stopped() && limit < kNoPlan - 1) {
    // Many limits in vain cost more than one without any.
    if (!known_to_fit && !programme.LeastSum(kNoPlan - 1)) break;
    known_to_fit = true;
    limit = limit > 4 * work ? kNoPlan - 1 : limit + limit / 16 + 1;
  }
  // The largest bottleneck that could still equal the incumbent.
  const auto useful = [&] { return (best->closed_form_ns - work) / (micro_batches - 1); };
  for (limit = best && micro_batches > 1 ? useful() : -1; limit >= 0;) {
    const std::optional<Partition> p = programme.LeastSum(limit);
    if (!p) break;
    if (std::pair(p->closed_form_ns, p->slowest_ns) <
        std::pair(best->closed_form_ns, best->slowest_ns))
      best = p;
    limit = std::min(p->slowest_ns - 1, useful());
  }
  result.states = programme.states();
  result.stopped = programme.stopped();
  return result;
}

}  // namespace evenkeel::planner
