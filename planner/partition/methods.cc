#include "planner/partition/methods.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "planner/base/integers.h"
#include "planner/partition/certified_search.h"
#include "planner/partition/step_costs.h"
#include "planner/simulate/equal_packs.h"
#include "planner/space/own_stages.h"

namespace evenkeel::planner {
namespace {

// Splits greedily by equal weight: each stage ends at the cut nearest to its share of the whole.
template <typename Weight>
std::vector<int64_t> SplitEvenly(const LayerProfile& profile, int64_t stages, Weight weight) {
  Wide total = 0;
  for (int64_t i = 0; i < profile.size(); ++i) total += weight(profile.at(i));
  std::vector<int64_t> boundaries{0};
  Wide before = 0;
  int64_t position = 0, layers_left = profile.transformer_layers;
  for (int64_t s = 0; s + 1 < stages; ++s) {
    const int64_t stages_after = stages - s - 1;
    const Wide target = total * (s + 1) / stages;
    int64_t layers = 0;
    while (true) {
      const LayerCost& layer = profile.at(position);
      const bool transformer = IsTransformerLayer(layer.kind);
      const bool held = s == 0 && position < profile.first_stage_layers;
      // Leave a transformer layer for each later stage, take at least one, and stop at the cut
      // nearest to the target.
      if (transformer && layers_left <= stages_after) break;
      if (layers > 0 && !held && 2 * (target - before) < weight(layer)) break;
      before += weight(layer);
      ++position;
      if (transformer) ++layers, --layers_left;
    }
    boundaries.push_back(position);
  }
  boundaries.push_back(profile.size());
  return boundaries;
}

// Returns the times of the stages of a partition, or nullopt if one does not fit.
std::optional<std::vector<StageTimes>> TimesOfCut(const SegmentTable& table, StepCosts& costs,
                                                  const std::vector<int64_t>& boundaries) {
  std::vector<StageTimes> stages;
  for (int64_t s = 0; s < table.stages(); ++s) {
    const int64_t i = boundaries[static_cast<size_t>(s)],
                  j = boundaries[static_cast<size_t>(s) + 1];
    if (i >= j || table.StageTime(s, i, j) >= kNoPlan) return std::nullopt;
    stages.push_back(costs.At(s, i, j));
  }
  return stages;
}

// Ranks all cuts near the anchor at once. Since the mean is given, the variance is a sum over
// stages, so a dynamic program that keeps the best few per boundary finds the same cuts as trying
// all of them.
class Jitter {
 public:
  Jitter(const SegmentTable& table, const BmpSettings& settings, const Stop& stop)
      : table_(table), settings_(settings), stop_(stop) {}

  // Returns the best cuts, best first.
  std::vector<std::vector<int64_t>> Ranked() {
    const std::vector<int64_t> anchor = SplitEvenly(
        table_.profile(), table_.stages(), [](const LayerCost& l) { return l.forward_ns; });
    std::vector<Ranking> partial{{0, {0}}};
    for (int64_t s = 0; s < table_.stages(); ++s) {
      const bool last = s + 1 == table_.stages();
      const int64_t end = anchor[static_cast<size_t>(s) + 1];
      std::vector<Ranking> longer;
      for (int64_t j = end - (last ? 0 : settings_.radius);
           j <= end + (last ? 0 : settings_.radius); ++j) {
        std::vector<Ranking> ending;
        for (const Ranking& before : partial) Extend(before, s, j, &ending);
        std::sort(ending.begin(), ending.end());
        if (static_cast<int64_t>(ending.size()) > settings_.runs)
          ending.resize(static_cast<size_t>(settings_.runs));
        longer.insert(longer.end(), ending.begin(), ending.end());
      }
      partial = std::move(longer);
    }
    std::sort(partial.begin(), partial.end());
    std::vector<std::vector<int64_t>> cuts;
    for (Ranking& r : partial) cuts.push_back(std::move(r.second));
    return cuts;
  }

 private:
  // P times the rank value so far, in us^2 and bytes (equivalent to ms^2 and MB), and the
  // boundaries.
  using Ranking = std::pair<Wide, std::vector<int64_t>>;

  void Extend(const Ranking& before, int64_t s, int64_t j, std::vector<Ranking>* longer) const {
    const int64_t i = before.second.back();
    stop_.Spend(500);
    if (j <= i || j > table_.size() || !table_.Allowed(s, i, j)) return;
    const Wide us = (table_.ForwardBefore(j) - table_.ForwardBefore(i)) / 1000;
    const int64_t bytes =
        s + 1 == table_.stages() ? 0 : table_.profile().at(j - 1).mean_output_bytes;
    Ranking next = before;
    next.first += us * us + Wide{table_.stages()} * bytes;
    next.second.push_back(j);
    longer->push_back(std::move(next));
  }

  const SegmentTable& table_;
  const BmpSettings settings_;
  const Stop stop_;
};

// Minimises the slowest stage or send by dynamic programming, among cuts in which neither takes
// longer than `limit`. Among equal cuts, the foremost wins. Returns no boundaries if no cut fits or
// if stopped.
std::vector<int64_t> LeastBottleneck(const SegmentTable& table, int64_t limit, const Stop& stop) {
  const size_t width = static_cast<size_t>(table.size()) + 1;
  const size_t stages = static_cast<size_t>(table.stages());
  std::vector<int64_t> value(width, kNoPlan);
  std::vector<std::vector<int64_t>> cuts(stages, std::vector<int64_t>(width, -1));
  value[0] = 0;
  int64_t farthest = 0;  // end of the stages before
  for (int64_t s = 0; s < table.stages(); ++s) {
    std::vector<int64_t> next(width, kNoPlan);
    if (stop()) return {};
    int64_t next_farthest = 0;
    for (int64_t j = s + 1; j <= table.size(); ++j) {
      const SegmentTable::Ending ending(table, s, j);
      const int64_t send = 2 * table.SendTime(s, j);
      int64_t best = limit, cut = -1;
      for (int64_t i = std::min(j - 1, farthest); i >= s; --i) {
        if (ending.LeastTime(i) - send > best) break;  // longer stages are even slower
        const int64_t before = value[static_cast<size_t>(i)];
        if (before > best) continue;
        const int64_t stage = ending.StageTime(i);
        if (stage >= kNoPlan) continue;
        const int64_t slowest = std::max({before, stage - send, send});
        if (slowest <= best) best = slowest, cut = i;
      }
      if (cut < 0) continue;
      next[static_cast<size_t>(j)] = best;
      cuts[static_cast<size_t>(s)][static_cast<size_t>(j)] = cut;
      next_farthest = j;
    }
    value = std::move(next);
    farthest = next_farthest;
  }
  if (value.back() >= kNoPlan) return {};
  std::vector<int64_t> boundaries(stages + 1, table.size());
  for (size_t s = stages; s-- > 0;) boundaries[s] = cuts[s][static_cast<size_t>(boundaries[s + 1])];
  return boundaries;
}

// Tries growing bottlenecks, so that most segments need not be looked at.
std::vector<int64_t> LeastBottleneck(const SegmentTable& table, const Stop& stop) {
  constexpr int64_t kLongest = kNoPlan - 1;
  const int64_t work = table.WorkBefore(table.size());
  for (int64_t limit = CeilDivide(work, table.stages());; limit += limit / 8 + 1) {
    if (limit > 2 * work) limit = kLongest;
    std::vector<int64_t> cut = LeastBottleneck(table, limit, stop);
    if (!cut.empty() || limit == kLongest || stop.stopped()) return cut;
  }
}

// Returns the boundaries of LayersByWeights, or an empty vector if that returns one.
std::vector<int64_t> OwnCut(const SegmentTable& table) {
  const LayerProfile& profile = table.profile();
  const std::vector<int64_t> layers =
      LayersByWeights(table.job().model.language_model, profile.transformer_layers, table.stages());
  return layers.empty() ? layers : CutAfter(profile, layers);
}

}  // namespace

std::vector<int64_t> PartitionBy(PartitionMethod method, const SegmentTable& table,
                                 const Stop& stop) {
  switch (method) {
    case PartitionMethod::kExact:
      return CertifyPartition(table, {}, {}, stop).boundaries;
    case PartitionMethod::kBmp:
      return BmpPartition(table, {}, {}, stop);
    case PartitionMethod::kParameters:
      return SplitByParameters(table.profile(), table.stages());
    case PartitionMethod::kLayers:
      return SplitByLayers(table.profile(), table.stages());
    case PartitionMethod::kProfile:
      return LeastBottleneck(table, stop);
    case PartitionMethod::kLayersLast:
      return SplitByLayers(table.profile(), table.stages(), Longer::kLast);
    case PartitionMethod::kWeights:
      return OwnCut(table);
  }
  return {};
}

std::vector<std::vector<int64_t>> CutsNamed(PartitionMethod method, const SegmentTable& table) {
  switch (method) {
    case PartitionMethod::kBmp:
      return Jitter(table, {}, {}).Ranked();
    case PartitionMethod::kParameters:
    case PartitionMethod::kLayers:
    case PartitionMethod::kLayersLast:
    case PartitionMethod::kWeights:
      if (std::vector<int64_t> cut = PartitionBy(method, table, {}); !cut.empty())
        return {std::move(cut)};
      break;
    case PartitionMethod::kExact:
    case PartitionMethod::kProfile:
      break;
  }
  return {};
}

std::vector<int64_t> BmpPartition(const SegmentTable& table, const BmpSettings& settings,
                                  const std::function<int64_t(const std::vector<int64_t>&)>& run,
                                  const Stop& stop) {
  std::vector<std::vector<int64_t>> cuts = Jitter(table, settings, stop).Ranked();
  StepCosts costs(table);
  EqualPacks simulation(stop);
  std::vector<int64_t> best;
  int64_t least = kNoPlan, runs = 0;
  for (std::vector<int64_t>& cut : cuts) {
    if (runs++ == settings.runs) break;
    const auto stages = TimesOfCut(table, costs, cut);
    if (!stages) continue;
    const int64_t step = run ? run(cut) : simulation.Step(*stages, table.micro_batches());
    if (step < least) least = step, best = std::move(cut);
  }
  return best;
}

std::vector<int64_t> SplitByLayers(const LayerProfile& profile, int64_t stages, Longer longer) {
  std::vector<int64_t> boundaries{0};
  int64_t position = 0, left = profile.transformer_layers;
  for (int64_t s = 0; s + 1 < stages; ++s) {
    const int64_t taken =
        longer == Longer::kFirst ? CeilDivide(left, stages - s) : left / (stages - s);
    const int64_t behind = left - taken;
    while (left > behind || position < profile.first_stage_layers)
      left -= IsTransformerLayer(profile.at(position++).kind) ? 1 : 0;
    // The projector goes with the encoder.
    while (profile.at(position).kind == LayerKind::kProjector) ++position;
    boundaries.push_back(position);
  }
  boundaries.push_back(profile.size());
  return boundaries;
}

std::vector<int64_t> SplitByParameters(const LayerProfile& profile, int64_t stages) {
  return SplitEvenly(profile, stages, [](const LayerCost& l) { return l.parameters; });
}

}  // namespace evenkeel::planner
