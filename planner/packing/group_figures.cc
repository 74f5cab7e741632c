#include "planner/packing/group_figures.h"

#include <algorithm>
#include <cstddef>

namespace evenkeel::planner {
namespace {

double Double(int64_t count) { return static_cast<double>(count); }

// Measures the steps of each group separately, and all steps together.
class StepMeter {
 public:
  StepMeter(std::span<const PackSums> sums, std::span<const PackWork> work,
            std::span<const LengthGroup> groups, const Stop& stop)
      : stop_(stop),
        sums_(sums),
        work_(work),
        groups_(groups),
        orders_(groups.size()),
        all_(sums, work) {}

  void Add(const GroupedOrder& order) {
    auto from = order.order.begin();
    for (const int32_t g : order.step_group) {
      const LengthGroup& group = groups_[static_cast<size_t>(g)];
      stop_.Spend(20 * group.step_packs());
      const auto to = from + group.step_packs();
      all_.AddStep({from, to}, static_cast<size_t>(group.ranks), Double(group.context));
      std::vector<int64_t>& own = orders_[static_cast<size_t>(g)];
      own.insert(own.end(), from, to);
      from = to;
    }
  }

  Balance Of(size_t group) const {
    return BalanceOf(sums_, work_, orders_[group], groups_[group].ranks,
                     groups_[group].packs_per_rank, stop_);
  }
  Balance OfAll() const { return all_.Take(); }

 private:
  const Stop stop_;
  const std::span<const PackSums> sums_;
  const std::span<const PackWork> work_;
  const std::span<const LengthGroup> groups_;
  std::vector<std::vector<int64_t>> orders_;
  BalanceMeter all_;
};

void AddTotals(const GroupedPacking& packed, std::span<const PackSums> sums,
               std::span<const int64_t> loss_tokens, size_t g, GroupFigure* figure) {
  figure->fillers = packed.fillers[g];
  figure->packs = packed.first_pack[g + 1] - packed.first_pack[g];
  if (figure->packs == 0) return;
  double tokens = 0, loss = 0;
  for (auto p = static_cast<size_t>(packed.first_pack[g]);
       p < static_cast<size_t>(packed.first_pack[g + 1]); ++p) {
    tokens += Double(sums[p].tokens);
    loss += Double(loss_tokens[p]);
  }
  figure->mean_tokens = tokens / Double(figure->packs);
  figure->mean_loss_tokens = loss / Double(figure->packs);
}

void SetShares(GroupFigures* figures) {
  double all = 0;
  for (const GroupFigure& f : figures->of) all += Double(f.packs * f.group.context);
  if (all == 0) return;
  for (GroupFigure& f : figures->of) {
    f.share = Double(f.packs * f.group.context) / all;
    if (f.group.context > 1) figures->communication_ratio += f.share;
  }
}

}  // namespace

std::vector<int64_t> LossTokensOf(const Packing& packing, const Lengths& lengths,
                                  std::span<const int32_t> loss_tokens) {
  const std::span<const int32_t> per_sample = loss_tokens.empty() ? lengths.tokens : loss_tokens;
  std::vector<int64_t> per_pack(packing.size());
  for (size_t p = 0; p < per_pack.size(); ++p)
    for (const uint32_t i : packing[p]) per_pack[p] += per_sample[i];
  return per_pack;
}

std::vector<double> LossNormalizers(std::span<const int64_t> loss_tokens, const GroupedOrder& order,
                                    std::span<const LengthGroup> groups) {
  std::vector<double> normalizers;
  normalizers.reserve(order.step_group.size());
  auto from = order.order.begin();
  for (const int32_t g : order.step_group) {
    const int64_t packs = groups[static_cast<size_t>(g)].step_packs();
    int64_t tokens = 0;
    std::for_each(from, from + packs, [&](int64_t pack) {
      if (pack >= 0) tokens += loss_tokens[static_cast<size_t>(pack)];
    });
    normalizers.push_back(Double(tokens) / Double(packs));
    from += packs;
  }
  return normalizers;
}

GroupFigures FiguresOf(const Lengths& lengths, const GroupedPacking& packed,
                       const GroupedOrder& order, std::span<const LengthGroup> groups,
                       std::span<const PackSums> sums, std::span<const PackWork> work,
                       std::span<const int32_t> loss_tokens, Balance* all, const Stop& stop) {
  const std::vector<int64_t> pack_loss = LossTokensOf(packed.packing, lengths, loss_tokens);
  GroupFigures figures;
  figures.loss_normalizers = LossNormalizers(pack_loss, order, groups);
  figures.step_group = order.step_group;
  figures.curriculum_steps = order.curriculum_steps;
  stop.Ask();
  StepMeter meter(sums, work, groups, stop);
  meter.Add(order);
  *all = meter.OfAll();
  for (size_t g = 0; g < groups.size(); ++g) {
    GroupFigure figure;
    figure.group = groups[g];
    figure.balance = meter.Of(g);
    AddTotals(packed, sums, pack_loss, g, &figure);
    const double weight = Double(figure.balance.steps) / Double(std::max<int64_t>(1, all->steps));
    all->step_spread += weight * figure.balance.step_spread;
    all->step_trend += weight * figure.balance.step_trend;
    figures.of.push_back(figure);
  }
  for (const int32_t tokens : lengths.tokens) {
    stop.Spend(20);
    ++figures.of[GroupOf(groups, tokens)].samples;
  }
  SetShares(&figures);
  return figures;
}

}  // namespace evenkeel::planner
