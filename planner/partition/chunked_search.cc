#include "planner/partition/chunked_search.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "planner/base/integers.h"
#include "planner/cost/memory.h"
#include "planner/cost/network.h"
#include "planner/partition/methods.h"
#include "planner/partition/segment_table.h"
#include "planner/partition/step_costs.h"

namespace evenkeel::planner {
namespace {

// What choosing the recompute of a stage costs, in passes simulated.
constexpr int64_t kPassesPerRecompute = 200;

// A cut with what follows from it.
struct Cut {
  std::vector<int64_t> boundaries;
  std::vector<ModeCounts> recomputed;  // by segment
  std::vector<int64_t> load;           // by stage: all chunks' work of one pack, ns
};

class Chunking {
 public:
  Chunking(const Job& job, const LayerProfile& profile, const Parallelism& p, Schedule schedule,
           int64_t micro_batches, const PackShape& mean, const ChunkedLimits& limits,
           const std::function<bool()>& stop)
      : job_(job),
        profile_(profile),
        p_(p),
        shape_{schedule, p.pipeline, p.virtual_stages, micro_batches},
        segments_(job, profile, AllSegments(p), micro_batches),
        network_(job.cluster),
        mean_(mean),
        limits_(limits),
        stop_(stop),
        allocatable_(AllocatableBytes(job.cluster)) {}

  ChunkedPartition Run() {
    const bool given = !job_.constraints.stage_layers.empty();
    if (segments_.window() < 1 || profile_.transformer_layers < shape_.virtual_stages() ||
        (given && shape_.chunks > 1))
      return std::move(found_);
    found_.lower_bound_ns = LowerBound();
    order_ = WorkOrder(shape_);
    for (int64_t s = 0; s < shape_.stages; ++s) held_.push_back(HeldAtOnce(shape_, s));
    for (const std::vector<int64_t>& start :
         {EvenChunks(), SplitByLayers(profile_, shape_.virtual_stages())}) {
      if (Stopped()) break;
      if (std::optional<Cut> cut = Fill(start)) {
        Even(*cut);
        Improve(std::move(*cut));
      }
    }
    if (!found_.boundaries.empty())
      found_.lower_bound_ns = std::min(found_.lower_bound_ns, found_.step_ns);
    return std::move(found_);
  }

 private:
  static Parallelism AllSegments(Parallelism p) {
    p.pipeline *= p.virtual_stages;
    return p;
  }

  bool Stopped() {
    found_.stopped = found_.stopped || (stop_ && stop_());
    return found_.stopped;
  }

  bool Spent() const { return passes_ > limits_.passes; }

  // Chunks of the least slowest one, without recompute; of equal cuts the one in front.
  std::vector<int64_t> EvenChunks() const {
    const int64_t n = segments_.size(), count = shape_.virtual_stages();
    const size_t width = static_cast<size_t>(n) + 1;
    std::vector<int64_t> value(width, kNoPlan);
    std::vector<std::vector<int64_t>> cuts(static_cast<size_t>(count),
                                           std::vector<int64_t>(width, -1));
    value[0] = 0;
    for (int64_t q = 0; q < count; ++q) {
      std::vector<int64_t> next(width, kNoPlan);
      for (int64_t j = q + 1; j <= n; ++j) {
        const size_t end = static_cast<size_t>(j);
        for (int64_t i = j - 1; i >= q; --i) {
          const int64_t work = segments_.WorkBefore(j) - segments_.WorkBefore(i);
          if (work > next[end]) break;
          if (value[static_cast<size_t>(i)] >= kNoPlan || !segments_.Allowed(q, i, j)) continue;
          const int64_t slowest = std::max(value[static_cast<size_t>(i)], work);
          if (slowest <= next[end]) next[end] = slowest, cuts[static_cast<size_t>(q)][end] = i;
        }
      }
      value = std::move(next);
    }
    std::vector<int64_t> boundaries(static_cast<size_t>(count) + 1, n);
    for (size_t q = static_cast<size_t>(count); q-- > 0;)
      boundaries[q] = cuts[q][static_cast<size_t>(boundaries[q + 1])];
    return boundaries;
  }

  // Of equal layers the recompute is that of `known`, a cut that is filled already.
  std::optional<Cut> Fill(std::vector<int64_t> boundaries, const Cut* known = nullptr) {
    Cut cut{.boundaries = std::move(boundaries)};
    const size_t count = static_cast<size_t>(shape_.virtual_stages());
    for (size_t q = 0; q < count; ++q) {
      const int64_t i = cut.boundaries[q], j = cut.boundaries[q + 1];
      if (i >= j || !segments_.Allowed(static_cast<int64_t>(q), i, j)) return std::nullopt;
    }
    cut.recomputed.resize(count);
    cut.load.resize(static_cast<size_t>(shape_.stages));
    for (int64_t s = 0; s < shape_.stages; ++s) {
      if (known != nullptr && SameLayers(s, *known, cut)) {
        cut.load[static_cast<size_t>(s)] = known->load[static_cast<size_t>(s)];
        for (size_t q = static_cast<size_t>(s); q < count; q += static_cast<size_t>(shape_.stages))
          cut.recomputed[q] = known->recomputed[q];
      } else if (!FillStage(s, cut)) {
        return std::nullopt;
      }
    }
    return cut;
  }

  bool SameLayers(int64_t s, const Cut& a, const Cut& b) const {
    for (int64_t c = 0; c < shape_.chunks; ++c) {
      const size_t q = static_cast<size_t>(shape_.virtual_stage(s, c));
      if (segments_.Counts(a.boundaries[q], a.boundaries[q + 1]) !=
          segments_.Counts(b.boundaries[q], b.boundaries[q + 1]))
        return false;
    }
    return true;
  }

  // Least recompute of the stage's chunks, and its load. False: they do not fit.
  bool FillStage(int64_t s, Cut& cut) {
    passes_ += kPassesPerRecompute;
    const auto& moments = held_[static_cast<size_t>(s)];
    std::vector<ChunkLoad> chunks;
    int64_t load = 0;
    for (int64_t c = 0; c < shape_.chunks; ++c) {
      const size_t q = static_cast<size_t>(shape_.virtual_stage(s, c));
      const int64_t i = cut.boundaries[q], j = cut.boundaries[q + 1];
      chunks.push_back({segments_.Counts(i, j), 0});
      load += segments_.WorkBefore(j) - segments_.WorkBefore(i);
    }
    const auto hold = [&](const std::vector<int64_t>& moment) {
      for (size_t c = 0; c < chunks.size(); ++c) chunks[c].in_flight = moment[c];
    };
    // Chosen for the fullest moment; where another is then too full, for both at once.
    std::vector<ModeCounts> recomputed(chunks.size());
    std::vector<int64_t> planned = Fullest(moments, chunks, recomputed);
    while (true) {
      hold(planned);
      const auto choice =
          LeastRecompute(profile_, chunks, allocatable_, job_.constraints.recompute);
      if (!choice) return false;
      recomputed = choice->recomputed;
      const std::vector<int64_t> worst = Fullest(moments, chunks, recomputed);
      hold(worst);
      if (MemoryOf(profile_, chunks, recomputed).allocated() <= allocatable_) {
        load += choice->recompute_ns;
        break;
      }
      for (size_t c = 0; c < planned.size(); ++c) planned[c] = std::max(planned[c], worst[c]);
    }
    for (int64_t c = 0; c < shape_.chunks; ++c)
      cut.recomputed[static_cast<size_t>(shape_.virtual_stage(s, c))] =
          recomputed[static_cast<size_t>(c)];
    cut.load[static_cast<size_t>(s)] = load;
    return true;
  }

  // The moment when the chunks hold most.
  std::vector<int64_t> Fullest(const std::vector<std::vector<int64_t>>& moments,
                               std::vector<ChunkLoad> chunks,
                               const std::vector<ModeCounts>& recomputed) const {
    const std::vector<int64_t>* fullest = &moments.front();
    int64_t most = -1;
    for (const std::vector<int64_t>& moment : moments) {
      for (size_t c = 0; c < chunks.size(); ++c) chunks[c].in_flight = moment[c];
      const int64_t bytes = MemoryOf(profile_, chunks, recomputed).allocated();
      if (bytes > most) most = bytes, fullest = &moment;
    }
    return *fullest;
  }

  // Moves a layer from a chunk of the busiest stage towards a chunk of another, as long as the
  // busiest of both gets quicker. What lies between moves on by a layer.
  void Even(Cut& cut) {
    for (bool better = true; better && !Stopped() && !Spent();) {
      better = false;
      const size_t busiest = static_cast<size_t>(
          std::max_element(cut.load.begin(), cut.load.end()) - cut.load.begin());
      const int64_t count = shape_.virtual_stages();
      std::optional<Cut> best;
      const auto highest = [](const Cut& c) {
        return *std::max_element(c.load.begin(), c.load.end());
      };
      for (int64_t from = static_cast<int64_t>(busiest); from < count; from += shape_.stages) {
        for (int64_t to = 0; to < count; ++to) {
          if (to % shape_.stages == static_cast<int64_t>(busiest)) continue;
          std::vector<int64_t> boundaries = cut.boundaries;
          for (int64_t b = std::min(from, to) + 1; b <= std::max(from, to); ++b)
            boundaries[static_cast<size_t>(b)] += to > from ? -1 : 1;
          std::optional<Cut> moved = Fill(std::move(boundaries), &cut);
          if (moved && highest(*moved) < highest(best ? *best : cut)) best = std::move(moved);
        }
      }
      if (best) cut = std::move(*best), better = true;
    }
  }

  // Boundary by boundary, while the simulated step gets shorter.
  void Improve(Cut cut) {
    int64_t step = Step(cut);
    for (bool better = true; better && !Spent();) {
      better = false;
      for (size_t b = 1; b + 1 < cut.boundaries.size(); ++b) {
        for (const int64_t move : {-1, 1}) {
          if (Spent() || Stopped()) break;
          std::vector<int64_t> boundaries = cut.boundaries;
          boundaries[b] += move;
          std::optional<Cut> moved = Fill(std::move(boundaries), &cut);
          if (!moved) continue;
          const int64_t shorter = Step(*moved);
          if (shorter >= step) continue;
          step = shorter, cut = std::move(*moved), better = true;
        }
      }
    }
    if (!found_.boundaries.empty() && step >= found_.step_ns) return;
    found_.step_ns = step;
    found_.segments = Works(cut);
    found_.boundaries = std::move(cut.boundaries);
    found_.recomputed = std::move(cut.recomputed);
  }

  std::vector<StageWork> Works(const Cut& cut) const {
    std::vector<StageWork> works = StageWorks(job_, profile_, p_, cut.boundaries, cut.recomputed);
    for (size_t q = 0; q + 1 < works.size(); ++q)
      works[q].send_ns =
          network_.StageSend(p_, static_cast<int64_t>(q) % shape_.stages, works[q].send_bytes);
    return works;
  }

  int64_t Step(const Cut& cut) {
    ++found_.simulations;
    passes_ += static_cast<int64_t>(order_.size());
    const std::vector<StageWork> works = Works(cut);
    PipelineSpec spec{.shape = shape_};
    std::vector<StageTimes> after;
    for (int64_t s = 0; s < shape_.stages; ++s) {
      StageWork stage;
      for (int64_t c = 0; c < shape_.chunks; ++c) {
        const StageWork& work = works[static_cast<size_t>(shape_.virtual_stage(s, c))];
        spec.forward_ns.push_back(work.forward_ns);
        spec.backward_ns.push_back(work.backward_ns + work.recompute_ns);
        if (shape_.schedule == Schedule::kZeroBubble)
          spec.weight_gradient_ns.push_back(std::min(work.backward_ns, WeightGradient(work)));
        stage.forward_ns += work.forward_ns, stage.backward_ns += work.backward_ns;
        stage.recompute_ns += work.recompute_ns;
        stage.gradient_bytes += work.gradient_bytes;
        stage.trained_weight_bytes += work.trained_weight_bytes;
        stage.trained_parameters += work.trained_parameters;
      }
      after.push_back(TimesOf(job_, p_, stage));
    }
    for (const StageWork& work : works) spec.send_ns.push_back(work.send_ns);
    return EqualPackStep(after, std::vector<int64_t>(after.size(), PipelineEnd(spec, order_)));
  }

  int64_t WeightGradient(const StageWork& work) const {
    int64_t ns = 0;
    for (size_t k = 0; k < profile_.kinds.size(); ++k) {
      if (work.counts[k] > 0)
        ns += work.counts[k] * Nearest(profile_.kinds[k].weight_gradient.at(mean_));
    }
    return ns;
  }

  // Least figures of the chain, ns.
  struct Least {
    int64_t layer = kNoPlan, forward = kNoPlan;  // of a transformer layer
    int64_t longest = 0;                         // of any layer
    int64_t send = 0;
    double share = 1;  // forward of forward and backward, any layer
  };

  Least LeastOf() const {
    Least least{.send = shape_.virtual_stages() > 1 ? kNoPlan : 0};
    for (int64_t i = 0; i < segments_.size(); ++i) {
      const LayerCost& cost = profile_.at(i);
      const int64_t both = cost.forward_ns + cost.backward_ns;
      least.longest = std::max(least.longest, both);
      if (both > 0)
        least.share =
            std::min(least.share, static_cast<double>(cost.forward_ns) / static_cast<double>(both));
      if (IsTransformerLayer(cost.kind)) {
        least.layer = std::min(least.layer, both);
        least.forward = std::min(least.forward, cost.forward_ns);
      }
      for (int64_t s = 0; s < shape_.stages && i + 1 < segments_.size() && least.send > 0; ++s)
        least.send = std::min(least.send, network_.StageSend(p_, s, cost.mean_output_bytes));
    }
    return least;
  }

  // A stage can not be quicker than all its work and what must come before it: a pack's way through
  // the first chunks in front, and, where weight gradients are not put off, its way back. With one
  // chunk per stage the first chunks are the stages' own work; with several they are a transformer
  // layer each at least, and the mean over the stages counts. Nor is a stage with its share of the
  // layers quicker, nor one pack through the model and back. Behind that come data sync and
  // optimizer of a stage with its share.
  int64_t LowerBound() const {
    const Least least = LeastOf();
    const StageWork all =
        StageWorks(job_, profile_, p_, {0, segments_.size()}, {ModeCounts{}}).front();
    const int64_t work = segments_.WorkBefore(segments_.size()), m = shape_.micro_batches;
    const int64_t stages = shape_.stages;
    const bool split = shape_.schedule == Schedule::kZeroBubble;
    const int64_t once = work - (split ? std::min(all.backward_ns, WeightGradient(all)) : 0);
    int64_t filled = 0;
    if (shape_.chunks == 1) {
      filled = FilledStages(split ? least.share : 1, split ? least.send : 2 * least.send);
    } else {
      const int64_t fill = least.layer + 2 * least.send;
      filled = (m * work + fill * (stages * (stages - 1) / 2)) / stages;
    }
    const int64_t pipeline = std::max(
        {filled,
         m * std::max(least.longest, CeilDivide(profile_.transformer_layers, stages) * least.layer),
         once + 2 * (shape_.virtual_stages() - 1) * least.send});
    StageWork share;
    share.gradient_bytes = all.gradient_bytes / stages;
    share.trained_weight_bytes = all.trained_weight_bytes / stages;
    share.trained_parameters = all.trained_parameters / stages;
    const StageTimes after = TimesOf(job_, p_, share);
    return pipeline + after.after_all[0] + after.after_all[1];
  }

  // The least V at which stages of m T_s <= V - sum_{i<s} (part T_i + send) can hold all the work:
  // each takes what it can, for what it takes costs those behind less than that.
  int64_t FilledStages(double part, int64_t send) const {
    const double m = static_cast<double>(shape_.micro_batches);
    double held = 0, held_less = 0;    // the work held is held * V - held_less
    double front = 0, front_more = 0;  // what a stage waits for is front * V + front_more
    for (int64_t s = 0; s < shape_.stages; ++s) {
      const double own = (1 - front) / m, own_less = front_more / m;
      held += own, held_less += own_less;
      front += part * own, front_more += static_cast<double>(send) - part * own_less;
    }
    const double work = static_cast<double>(segments_.WorkBefore(segments_.size()));
    return static_cast<int64_t>((work + held_less) / held * (1 - 1e-9));
  }

  const Job& job_;
  const LayerProfile& profile_;
  const Parallelism p_;
  const PipelineShape shape_;
  const Segments segments_;  // one per chunk
  const Network network_;
  const PackShape mean_;
  const ChunkedLimits limits_;
  const std::function<bool()>& stop_;
  const int64_t allocatable_;
  std::vector<Pass> order_;
  std::vector<std::vector<std::vector<int64_t>>> held_;  // by stage: HeldAtOnce
  int64_t passes_ = 0;
  ChunkedPartition found_;
};

}  // namespace

ChunkedPartition PartitionChunks(const Job& job, const LayerProfile& profile, const Parallelism& p,
                                 Schedule schedule, int64_t micro_batches, const PackShape& mean,
                                 const ChunkedLimits& limits, const std::function<bool()>& stop) {
  return Chunking(job, profile, p, schedule, micro_batches, mean, limits, stop).Run();
}

}  // namespace evenkeel::planner
