#include "planner/partition/partition_search.h"

#include <algorithm>

namespace evenkeel::planner {
namespace {

// Dynamic programmes over (stages used, boundary), with the cut kept for the way back.
class Programme {
 public:
  Programme(const SegmentTable& table, int64_t micro_batches, const std::function<bool()>& stop)
      : table_(table), m_(micro_batches), stop_(stop) {}

  // The partition of least max_s T_s. nullopt: none fits, or stopped().
  std::optional<Partition> LeastBottleneck() {
    return Run(kNoPlan - 1, [](int64_t before, int64_t stage, int64_t, int64_t, int64_t) {
      return std::max(before, stage);
    });
  }

  // The partition of least sum_s T_s among those with max_s T_s <= limit.
  std::optional<Partition> LeastSum(int64_t limit) {
    return Run(limit, [](int64_t before, int64_t stage, int64_t, int64_t, int64_t) {
      return before + stage;
    });
  }

  // The least of max_s [work before stage s + m (T_s - p2p)] over all partitions: no 1F1B of any of
  // them is faster. A stage can not begin before the first pack has run through those in front, nor
  // the step end before the last pack has run back through them.
  int64_t PipelineBound() {
    int64_t bound = 0;
    const auto later = [this](int64_t before, int64_t stage, int64_t s, int64_t i, int64_t j) {
      const int64_t works = table_.WorkBefore(i) + m_ * (stage - 2 * table_.SendTime(s, j));
      return std::max(before, works);
    };
    Run(kNoPlan - 1, later, &bound);
    return bound;
  }

  int64_t states() const { return states_; }
  bool stopped() const { return stopped_; }

 private:
  // `combine(value of the stages before, T, s, i, j)` values [i, j) as stage s; the least value of
  // the whole is kept.
  template <typename Combine>
  std::optional<Partition> Run(int64_t limit, Combine combine, int64_t* least = nullptr) {
    const int64_t n = table_.size(), stages = table_.stages();
    const size_t width = static_cast<size_t>(n) + 1;
    std::vector<int64_t> value(width, kNoPlan), next(width);
    std::vector<int64_t> cuts(static_cast<size_t>(stages) * width, -1);
    value[0] = 0;
    for (int64_t s = 0; s < stages; ++s) {
      stopped_ = stopped_ || (stop_ && stop_());
      if (stopped_) return std::nullopt;
      std::fill(next.begin(), next.end(), kNoPlan);
      const int64_t first = s + 1 == stages ? n : s + 1;
      const int64_t last = s + 1 == stages ? n : n - (stages - 1 - s);
      for (int64_t j = first; j <= last; ++j) {
        int64_t best = kNoPlan, cut = -1;
        for (int64_t i = s; i < j; ++i) {
          const int64_t stage = table_.StageTime(s, i, j);
          if (stage > limit || value[static_cast<size_t>(i)] >= kNoPlan) continue;
          const int64_t candidate = combine(value[static_cast<size_t>(i)], stage, s, i, j);
          if (candidate < best) best = candidate, cut = i;
        }
        states_ += j - s;
        next[static_cast<size_t>(j)] = best;
        cuts[static_cast<size_t>(s) * width + static_cast<size_t>(j)] = cut;
      }
      value.swap(next);
    }
    if (value[static_cast<size_t>(n)] >= kNoPlan) return std::nullopt;
    if (least != nullptr) *least = value[static_cast<size_t>(n)];
    return WalkBack(cuts, width);
  }

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
  const std::function<bool()>& stop_;
  int64_t states_ = 0;
  bool stopped_ = false;
};

}  // namespace

PartitionSearch FindPartition(const SegmentTable& table, int64_t micro_batches,
                              const std::function<bool()>& stop) {
  Programme programme(table, micro_batches, stop);
  PartitionSearch result;
  result.best = programme.LeastSum(kNoPlan - 1);
  std::optional<Partition>& best = result.best;
  const auto finish = [&] {
    result.states = programme.states();
    result.stopped = programme.stopped();
    return std::move(result);
  };
  if (!best) return finish();
  const int64_t least_sum = best->sum_ns;
  result.pipeline_bound_ns = std::max(least_sum, programme.PipelineBound());
  // Of equal closed forms the one with the quicker bottleneck: it waits less for the spread of
  // packs.
  const auto offer = [&](const std::optional<Partition>& p) {
    if (!p || p->closed_form_ns > best->closed_form_ns) return;
    if (p->closed_form_ns < best->closed_form_ns || p->slowest_ns < best->slowest_ns) best = p;
  };
  const std::optional<Partition> quickest = programme.LeastBottleneck();
  if (!quickest) return finish();  // stopped
  const int64_t least_bottleneck = quickest->slowest_ns;
  offer(programme.LeastSum(least_bottleneck));
  // The largest bottleneck that could still beat the incumbent. With one pack only the sum counts.
  const auto useful = [&] {
    return micro_batches == 1 ? 0 : (best->closed_form_ns - least_sum - 1) / (micro_batches - 1);
  };
  for (int64_t limit = useful(); limit > least_bottleneck;) {
    const std::optional<Partition> p = programme.LeastSum(limit);
    if (!p) break;
    offer(p);
    limit = std::min(p->slowest_ns - 1, useful());
  }
  return finish();
}

std::vector<int64_t> SplitByLayers(const LayerProfile& profile, int64_t stages) {
  std::vector<int64_t> boundaries{0};
  int64_t position = 0, layers = 0;
  for (int64_t s = 0; s + 1 < stages; ++s) {
    // What does not divide goes to the stages in front.
    const int64_t each = profile.transformer_layers / stages,
                  rest = profile.transformer_layers % stages;
    const int64_t target = each * (s + 1) + std::min(s + 1, rest);
    for (; layers < target; ++position)
      layers += IsTransformerLayer(profile.at(position).kind) ? 1 : 0;
    // The projector goes with the encoder.
    while (profile.at(position).kind == LayerKind::kProjector) ++position;
    boundaries.push_back(position);
  }
  boundaries.push_back(profile.size());
  return boundaries;
}

std::vector<int64_t> SplitByParameters(const LayerProfile& profile, int64_t stages) {
  int64_t total = 0;
  for (int64_t i = 0; i < profile.size(); ++i) total += profile.at(i).parameters;
  std::vector<int64_t> boundaries{0};
  int64_t position = 0, before = 0, layers_left = profile.transformer_layers;
  for (int64_t s = 0; s + 1 < stages; ++s) {
    const int64_t stages_after = stages - s - 1;
    const int64_t target = total * (s + 1) / stages;
    int64_t layers = 0;
    while (true) {
      const LayerCost& layer = profile.at(position);
      const bool transformer = IsTransformerLayer(layer.kind);
      // Leave a transformer layer for each stage behind, take at least one, and stop at the cut
      // nearest to the target.
      if (transformer && layers_left <= stages_after) break;
      if (layers > 0 && 2 * (target - before) < layer.parameters) break;
      before += layer.parameters;
      ++position;
      if (transformer) ++layers, --layers_left;
    }
    boundaries.push_back(position);
  }
  boundaries.push_back(profile.size());
  return boundaries;
}

}  // namespace evenkeel::planner
