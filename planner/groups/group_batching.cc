#include "planner/groups/group_batching.h"

#include <algorithm>
#include <cmath>

#include "planner/base/integers.h"

namespace evenkeel::planner {
namespace {

double D(int64_t v) { return static_cast<double>(v); }

// Packs of the group's own samples, drawn and packed as PackByGroups does.
Batching OwnPacks(const Job& job, const LengthClasses& classes, const ChosenGroup& group) {
  Job part = job;
  part.dataset = classes.Samples(group.from, group.to);
  return MakeGroupBatching(part, classes.Packs(group.from, group.to).caps);
}

// What shorter samples, alike in every pack, add to a share of the room that is left.
void FillUp(const ClassSums& shorter, const Caps& caps, double share, Batching& batching) {
  double units = 0, tokens = 0, squared = 0;
  for (PackSums& pack : batching.packs) {
    double room = std::max(0.0, D(caps.tokens - pack.tokens));
    if (shorter.units > 0)
      room = std::min(room,
                      std::max(0.0, D(caps.units - pack.units)) * shorter.tokens / shorter.units);
    room *= share;
    if (shorter.tokens > 0) {
      pack.tokens += Nearest(room);
      pack.units += static_cast<int64_t>(room * shorter.units / shorter.tokens);
      pack.squared += Nearest(room * shorter.squared / shorter.tokens);
    }
    units += D(pack.units), tokens += D(pack.tokens), squared += D(pack.squared);
  }
  const double n = D(static_cast<int64_t>(batching.packs.size()));
  batching.mean = {units / n, tokens / n, squared / n};
  batching.rule.mean_units = batching.mean.units;
  batching.rule.mean_tokens = batching.mean.tokens;
}

// Whole steps of full packs, or all tokens of `others` that are left of what is shorter, where
// those are not enough. The tokens taken.
double Fill(const ClassSums& shorter, double others, double own_tokens, int64_t step_packs,
            GroupData& data) {
  const int64_t cap = data.batching.rule.token_cap;
  const int64_t whole = RoundUp(data.packs, step_packs);
  double share = 1, taken = others;
  if (others > D(whole * cap) - own_tokens) {
    data.packs = whole;
  } else {
    data.packs =
        std::max(data.packs, static_cast<int64_t>(std::ceil((own_tokens + others) / D(cap))));
    const double room = D(data.packs * cap) - own_tokens;
    share = room > 0 ? std::min(1.0, others / room) : 0;
  }
  FillUp(shorter, {data.batching.rule.unit_cap, cap}, share, data.batching);
  if (share == 1)
    taken = std::min(others, std::max(0.0, D(data.packs) * data.batching.mean.tokens - own_tokens));
  if (shorter.tokens > 0) data.fillers = Nearest(taken * shorter.samples / shorter.tokens);
  return taken;
}

}  // namespace

std::vector<GroupData> MakeGroupData(const Job& job, const LengthClasses& classes,
                                     const GroupSet& set) {
  std::vector<GroupData> all(set.groups.size());
  double taken = 0;  // tokens, from the shortest samples up
  for (size_t g = set.groups.size(); g-- > 0;) {
    const ChosenGroup& group = set.groups[g];
    GroupData& data = all[g];
    const ClassSums own = classes.Sums(group.from, group.to);
    const ClassSums shorter = group.from > 0 ? classes.Sums(0, group.from - 1) : ClassSums{};
    // Fillers come from the shortest samples first.
    const double left = std::max(0.0, 1 - std::max(0.0, taken - shorter.tokens) / own.tokens);
    taken = std::min(taken, shorter.tokens);
    data.samples = Nearest(own.samples);
    data.batching = OwnPacks(job, classes, group);
    BatchRule& rule = data.batching.rule;
    const int64_t step_packs = group.step.micro_batches * group.step.parallelism.data;
    data.packs = static_cast<int64_t>(std::ceil(left * D(rule.packs)));
    if (left * own.samples < 1) data.packs = 0;
    if (g > 0 && data.packs > 0)
      taken += Fill(shorter, shorter.tokens - taken, left * own.tokens, step_packs, data);
    data.steps = CeilDivide(data.packs, step_packs);
    rule.packs = data.packs;
    if (data.packs > 0)
      rule.samples_per_pack = std::max(1.0, (left * own.samples + D(data.fillers)) / D(data.packs));
  }
  return all;
}

}  // namespace evenkeel::planner
