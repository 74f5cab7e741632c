#include "planner/groups/group_batching.h"

#include <algorithm>
#include <cmath>

#include "planner/base/integers.h"

namespace evenkeel::planner {
namespace {

// Draws samples of the group's own lengths and packs them as PackByGroups does.
Batching OwnPacks(const Job& job, const LengthClasses& classes, const ChosenGroup& group,
                  const Stop& stop) {
  Job part = job;
  part.dataset = classes.Samples(group.from, group.to);
  return MakeGroupBatching(part, classes.Packs(group.from, group.to).caps, stop);
}

// Fills the room that is left in each pack with shorter samples, in the same mix for all.
void FillUp(const ClassSums& shorter, const Caps& caps, Batching& batching) {
  PackShape all;
  const double units = shorter.scaled_units, tokens = shorter.sum.tokens;
  for (PackSums& pack : batching.packs) {
    double room = std::max(0.0, D(caps.tokens - pack.tokens));
    if (units > 0)
      room = std::min(room, std::max(0.0, D(caps.units - pack.units)) * tokens / units);
    if (tokens > 0) {
      pack.tokens += Nearest(room);
      pack.units += static_cast<int64_t>(room * units / tokens);
      pack.encoder_units += (room * shorter.sum.units / tokens).As<int64_t>();
      pack.squared += Nearest(room * shorter.sum.squared / tokens);
    }
    all += ShapeOf(pack);
  }
  batching.mean = all / D(static_cast<int64_t>(batching.packs.size()));
}

// Fills whole steps of packs with shorter samples. `others` is the tokens left of those; if they
// are too few, takes all of them. Returns the tokens taken.
double Fill(const ClassSums& shorter, double others, const ClassSums& own, double left,
            int64_t step_packs, GroupData& data) {
  Batching& batching = data.batching;
  const Caps caps{batching.rule.unit_cap, batching.rule.token_cap};
  const double own_tokens = left * own.sum.tokens;
  const int64_t whole = RoundUp(data.packs, step_packs);
  double taken = others;
  if (others > D(whole * caps.tokens) - own_tokens) {
    data.packs = whole;
    FillUp(shorter, caps, batching);
    taken = std::clamp(D(whole) * batching.mean.tokens - own_tokens, 0.0, others);
  } else {
    const double share = shorter.sum.tokens > 0 ? others / shorter.sum.tokens : 0;
    const PackShape all{left * own.sum.units + share * shorter.sum.units, own_tokens + others,
                        left * own.sum.squared + share * shorter.sum.squared};
    const double units = left * own.scaled_units + share * shorter.scaled_units;
    const auto packs = [](double sum, int64_t cap) {
      return cap > 0 ? static_cast<int64_t>(std::ceil(sum / D(cap))) : 0;
    };
    data.packs = std::max({data.packs, packs(all.tokens, caps.tokens), packs(units, caps.units)});
    batching.mean = all / D(data.packs);
  }
  batching.rule.mean_units = batching.mean.units.Dot(batching.rule.unit_scales.As<double>());
  batching.rule.mean_tokens = batching.mean.tokens;
  if (shorter.sum.tokens > 0) data.fillers = Nearest(taken * shorter.samples / shorter.sum.tokens);
  return taken;
}

}  // namespace

std::vector<GroupData> MakeGroupData(const Job& job, const LengthClasses& classes,
                                     const GroupSet& set, const Stop& stop) {
  std::vector<GroupData> all(set.groups.size());
  double taken = 0;  // tokens taken as fillers, from the shortest samples up
  for (size_t g = set.groups.size(); g-- > 0;) {
    const ChosenGroup& group = set.groups[g];
    GroupData& data = all[g];
    const ClassSums own = classes.Sums(group.from, group.to);
    const ClassSums shorter = group.from > 0 ? classes.Sums(0, group.from - 1) : ClassSums{};
    // Fillers come from the shortest samples first.
    const double left =
        std::max(0.0, 1 - std::max(0.0, taken - shorter.sum.tokens) / own.sum.tokens);
    taken = std::min(taken, shorter.sum.tokens);
    data.samples = Nearest(own.samples);
    data.batching = OwnPacks(job, classes, group, stop);
    BatchRule& rule = data.batching.rule;
    const int64_t step_packs = group.step.micro_batches * group.step.parallelism.data;
    data.packs = static_cast<int64_t>(std::ceil(left * D(rule.packs)));
    if (left * own.samples < 1) data.packs = 0;
    if (g > 0 && data.packs > 0)
      taken += Fill(shorter, shorter.sum.tokens - taken, own, left, step_packs, data);
    data.steps = CeilDivide(data.packs, step_packs);
    rule.packs = data.packs;
    if (data.packs > 0)
      rule.samples_per_pack = std::max(1.0, (left * own.samples + D(data.fillers)) / D(data.packs));
  }
  return all;
}

}  // namespace evenkeel::planner
