#include "planner/packing/pack_dataset.h"

#include <algorithm>
#include <utility>

#include "planner/packing/caps.h"
#include "planner/packing/sample_types.h"
#include "planner/packing/time_level.h"

namespace evenkeel::planner {
namespace {

PackBound BoundOfPart(const Lengths& part, const PackRule& rule, int64_t reached) {
  SampleTypes types = SortByType(part, rule.stop).types;
  if (rule.oversize == OversizePolicy::kReject) {
    std::erase_if(types, [&](const SampleType& t) { return !rule.caps.Hold(t.units, t.tokens); });
  }
  return types.empty() ? PackBound{} : LowerBound(types, rule.caps, reached, rule.stop);
}

// The bounds of datasets that stay apart add up. The method is that of the largest bound.
PackBound BoundOf(const Lengths& lengths, const PackRule& rule, int64_t packs) {
  if (rule.apart.size() <= 1) return BoundOfPart(lengths, rule, packs);
  PackBound all, largest;
  size_t first = 0;
  for (const int64_t samples : rule.apart) {
    const size_t count = static_cast<size_t>(samples);
    const PackBound part = BoundOfPart(
        {lengths.units.subspan(first, count), lengths.tokens.subspan(first, count)}, rule, 0);
    if (part.packs > largest.packs) largest = part;
    all.packs += part.packs;
    first += count;
  }
  all.method = largest.method;
  return all;
}

void FillMetrics(const Caps& caps, PackingResult& result) {
  if (result.packing.size() == 0) return;
  result.samples_per_pack = static_cast<double>(result.packing.members.size()) /
                            static_cast<double>(result.packing.size());
  double packs = 0, units = 0, tokens = 0;
  for (const PackSums& sum : result.sums) {
    if (!caps.Hold(sum.units, sum.tokens)) continue;
    ++packs;
    units += static_cast<double>(sum.units);
    tokens += static_cast<double>(sum.tokens);
  }
  if (packs == 0) return;
  if (caps.units > 0) result.unit_fill = units / (packs * static_cast<double>(caps.units));
  result.token_fill = tokens / (packs * static_cast<double>(caps.tokens));
}

void DeriveCaps(const Lengths& lengths, const Stop& stop, PackingResult& result) {
  PackRule& rule = result.rule;
  const bool units = std::any_of(lengths.units.begin(), lengths.units.end(),
                                 [](int32_t count) { return count > 0; });
  if (lengths.size() == 0 || (rule.caps.tokens > 0 && (rule.caps.units > 0 || !units))) return;
  const CapsChoice choice = CapsRule(SortByType(lengths, stop).types, rule.caps, stop).Balanced();
  rule.caps = choice.caps;
  SetDefaultKeep(&rule);
  result.caps_reason = BalanceReason(choice);
}

// Fills in the metrics from the sums of the packs' caps and contents, without oversize packs.
void FillGroupMetrics(std::span<const LengthGroup> groups, const std::vector<int64_t>& first_pack,
                      PackingResult& result) {
  if (result.packing.size() == 0) return;
  result.samples_per_pack = static_cast<double>(result.packing.members.size()) /
                            static_cast<double>(result.packing.size());
  double units = 0, unit_room = 0, tokens = 0, token_room = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    const Caps& caps = groups[g].caps;
    for (int64_t p = first_pack[g]; p < first_pack[g + 1]; ++p) {
      const PackSums& sum = result.sums[static_cast<size_t>(p)];
      if (!caps.Hold(sum.units, sum.tokens)) continue;
      tokens += static_cast<double>(sum.tokens);
      token_room += static_cast<double>(caps.tokens);
      if (caps.units == kNoUnitCap) continue;
      units += static_cast<double>(sum.units);
      unit_room += static_cast<double>(caps.units);
    }
  }
  if (unit_room > 0) result.unit_fill = units / unit_room;
  if (token_room > 0) result.token_fill = tokens / token_room;
}

PackingResult PackAndDealGroups(const Lengths& lengths, const PackingJob& job, const Stop& stop) {
  PackingResult result;
  result.rule = job.pack;
  result.window = job.deal.window;
  result.rule.caps = job.groups.back().caps;
  if (result.rule.caps.units == kNoUnitCap) result.rule.caps.units = 0;
  PackRule rule = job.pack;
  rule.stop = stop;
  GroupedPacking packed = PackByGroups(lengths, job.groups, rule);
  stop.Ask();
  result.sums = SumsOf(lengths, packed.packing);
  DealRule deal = job.deal;
  deal.stop = stop;
  GroupedOrder order = DealByGroups(GroupWorkOf(result.sums, job.times), packed.first_pack,
                                    job.groups, deal, job.curriculum_steps);
  stop.Ask();
  result.groups = FiguresOf(lengths, packed, order, job.groups, result.sums,
                            WorkOf(result.sums, job.times), job.loss_tokens, &result.balance, stop);
  stop.Ask();
  result.packing = std::move(packed.packing);
  result.order = std::move(order.order);
  FillGroupMetrics(job.groups, packed.first_pack, result);
  return result;
}

// Returns the packs' work in both parts.
std::vector<PackWork> PackAndDealParts(const Lengths& lengths, const PackRule& rule,
                                       const PackingJob& job, const Stop& stop,
                                       PackingResult& result) {
  result.packing = Pack(lengths, rule);
  stop.Ask();
  std::vector<PackSums> sums = SumsOf(lengths, result.packing);
  stop.Ask();
  std::vector<PackWork> work = WorkOf(sums, job.times);
  sums = {};
  stop.Ask();
  DealRule deal = job.deal;
  deal.stop = stop;
  result.order = Deal(work, deal);
  return work;
}

std::vector<PackWork> LevelByTime(const Lengths& lengths, const PackRule& rule,
                                  const PackingJob& job, const Stop& stop, PackingResult& result) {
  DealRule deal = job.deal;
  deal.stop = stop;
  TimeLevelled made = PackAndDealByTime(lengths, rule, deal, job.times, job.window_is_free);
  result.packing = std::move(made.packing);
  result.order = std::move(made.order);
  result.window = made.window;
  result.order_gap = made.order_gap;
  result.idle_by_tokens = made.idle_by_tokens;
  return WorkOf(SumsOf(lengths, result.packing), job.times);
}

PackingResult PackAndDealAll(const Lengths& lengths, const PackingJob& job, const Stop& stop) {
  if (!job.groups.empty()) return PackAndDealGroups(lengths, job, stop);
  PackingResult result;
  result.rule = job.pack;
  result.window = job.deal.window;
  DeriveCaps(lengths, stop, result);
  stop.Ask();
  PackRule rule = result.rule;
  rule.stop = stop;
  std::vector<PackWork> work = job.by_time ? LevelByTime(lengths, rule, job, stop, result)
                                           : PackAndDealParts(lengths, rule, job, stop, result);
  stop.Ask();
  if (job.bound) {
    result.bound = BoundOf(lengths, rule, static_cast<int64_t>(result.packing.size()));
    stop.Ask();
  }
  // Computed again rather than kept, because memory is scarcest while many samples are dealt.
  result.sums = SumsOf(lengths, result.packing);
  stop.Ask();
  result.balance =
      BalanceOf(result.sums, work, result.order, job.deal.ranks, job.deal.packs_per_rank, stop);
  FillMetrics(result.rule.caps, result);
  return result;
}

}  // namespace

PackingResult PackAndDeal(const Lengths& lengths, const PackingJob& job, const Stop& stop) {
  PackingResult result;
  const bool whole = RunsThrough(stop, [&] {
    stop.Ask();
    result = PackAndDealAll(lengths, job, stop);
  });
  if (whole) return result;
  PackingResult stopped;
  stopped.stopped = true;
  return stopped;
}

}  // namespace evenkeel::planner
