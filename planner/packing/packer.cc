#include "planner/packing/packer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "planner/packing/balanced.h"
#include "planner/packing/best_fit.h"
#include "planner/packing/first_fit.h"
#include "planner/packing/isf.h"
#include "planner/packing/next_fit.h"
#include "planner/packing/pack_time.h"

namespace evenkeel::planner {
namespace {

// REQUIRES: every sample fits the caps alone.
Packing PackFitting(const Lengths& lengths, const PackRule& rule) {
  if (rule.by_time)
    return PackByTime(lengths, rule.caps, SampleTimes(lengths, rule.times), *rule.by_time,
                      rule.stop);
  switch (rule.packer) {
    case Packer::kBalanced:
      return PackBalanced(lengths, rule.caps, rule.effort, rule.stop);
    case Packer::kIsf:
      return PackByIsf(lengths, rule.caps,
                       {rule.keep_units, rule.keep_tokens, rule.iterations, rule.seed}, rule.stop);
    case Packer::kFirstFitDecreasing:
      return PackFirstFit(lengths, rule.caps, TypeOrder::kLargerShare, rule.stop);
    case Packer::kBestFitDecreasing:
      return PackBestFit(lengths, rule.caps, TypeOrder::kLargerShare, rule.stop);
    case Packer::kGreedyKnapsack:
      return PackFirstFit(lengths, rule.caps, TypeOrder::kTokens, rule.stop);
    case Packer::kNextFit:
      return PackNextFit(lengths, rule.caps, rule.seed, rule.stop);
  }
  return {};
}

bool Fits(const Lengths& lengths, const Caps& caps, size_t i) {
  return caps.Hold(lengths.units[i], lengths.tokens[i]);
}

Packing PackFittingAmong(const Lengths& lengths, size_t fitting, const PackRule& rule) {
  const size_t encoders = lengths.encoders();
  std::vector<int32_t> units, tokens, encoder_units;
  units.reserve(fitting);
  tokens.reserve(fitting);
  encoder_units.reserve(fitting * encoders);
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (!Fits(lengths, rule.caps, i)) continue;
    units.push_back(lengths.units[i]);
    tokens.push_back(lengths.tokens[i]);
    for (size_t e = 0; e < encoders; ++e)
      encoder_units.push_back(lengths.encoder_units[i * encoders + e]);
  }
  return PackFitting({units, tokens, encoder_units}, rule);
}

// Packs one dataset.
Packing PackPart(const Lengths& lengths, const PackRule& rule) {
  rule.stop.Spend(static_cast<int64_t>(10 * lengths.size()));
  std::vector<uint32_t> oversize;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (!Fits(lengths, rule.caps, i)) oversize.push_back(static_cast<uint32_t>(i));
  }
  if (oversize.empty()) return PackFitting(lengths, rule);
  const size_t fitting = lengths.size() - oversize.size();
  Packing packing = PackFittingAmong(lengths, fitting, rule);
  if (rule.by_time && fitting > 0 && packing.size() == 0) return packing;
  // Converts back to the indices of all samples. The map is made here, after the copy of the
  // lengths is freed, to save memory.
  std::vector<uint32_t> index;
  index.reserve(fitting);
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (Fits(lengths, rule.caps, i)) index.push_back(static_cast<uint32_t>(i));
  }
  for (uint32_t& member : packing.members) member = index[member];
  if (rule.oversize == OversizePolicy::kReject) {
    packing.rejected = oversize;
  } else {
    for (const uint32_t sample : oversize) {
      packing.members.push_back(sample);
      packing.ClosePack();
    }
  }
  packing.oversize = std::move(oversize);
  return packing;
}

// Adds packs of samples whose indices begin at `first`.
void Append(const Packing& part, uint32_t first, Packing& all) {
  const int64_t before = static_cast<int64_t>(all.members.size());
  const auto shifted = [&](const std::vector<uint32_t>& from, std::vector<uint32_t>& to) {
    std::transform(from.begin(), from.end(), std::back_inserter(to),
                   [&](uint32_t sample) { return sample + first; });
  };
  std::transform(part.offsets.begin() + 1, part.offsets.end(), std::back_inserter(all.offsets),
                 [&](int64_t offset) { return before + offset; });
  shifted(part.members, all.members);
  shifted(part.oversize, all.oversize);
  shifted(part.rejected, all.rejected);
}

}  // namespace

const char* PackerName(Packer packer) {
  switch (packer) {
    case Packer::kBalanced:
      return "balanced";
    case Packer::kIsf:
      return "isf";
    case Packer::kFirstFitDecreasing:
      return "first_fit_decreasing";
    case Packer::kBestFitDecreasing:
      return "best_fit_decreasing";
    case Packer::kGreedyKnapsack:
      return "greedy_knapsack";
    case Packer::kNextFit:
      return "next_fit";
  }
  return "";
}

void SetDefaultKeep(PackRule* rule) {
  rule->keep_units = rule->caps.units;
  rule->keep_tokens = DefaultKeepTokens(rule->caps.tokens);
}

Packing Pack(const Lengths& lengths, const PackRule& rule) {
  if (rule.apart.size() <= 1) return PackPart(lengths, rule);
  Packing all;
  all.members.reserve(lengths.size());
  size_t first = 0;
  for (const int64_t samples : rule.apart) {
    const size_t count = static_cast<size_t>(samples);
    const Lengths part = {lengths.units.subspan(first, count),
                          lengths.tokens.subspan(first, count)};
    const Packing packed = PackPart(part, rule);
    if (rule.by_time && packed.size() == 0 && packed.rejected.empty()) return {};
    Append(packed, static_cast<uint32_t>(first), all);
    first += count;
  }
  return all;
}

}  // namespace evenkeel::planner
