#include "planner/groups/length_classes.h"

#include <algorithm>

#include "planner/base/integers.h"
#include "planner/packing/batch_rule.h"
#include "planner/packing/pack_bound.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kShortestLength = 8192;  // as published by HBP
constexpr int64_t kLengthStep = 128;

std::vector<int64_t> CandidateLengths(const Job& job, int64_t longest) {
  std::vector<int64_t> lengths;
  for (const int64_t length : job.training.group_lengths)
    if (length < longest) lengths.push_back(length);
  if (job.training.group_lengths.empty()) {
    int64_t length = kShortestLength;
    // If there are too many, only the longest are kept.
    while (length << (kGroupLengthsAtMost - 1) < longest) length *= 2;
    for (; length < longest; length *= 2) lengths.push_back(length);
  }
  lengths.push_back(longest);
  return lengths;
}

}  // namespace

ClassSums& ClassSums::operator+=(const ClassSums& o) {
  samples += o.samples, sum += o.sum, scaled_units += o.scaled_units;
  longest = std::max(longest, o.longest);
  return *this;
}

LengthClasses::LengthClasses(const Job& job, const Stop& stop) : job_(job), stop_(stop) {
  const int64_t longest = std::max<int64_t>(1, job.dataset.totals().longest_tokens);
  lengths_ = CandidateLengths(job, RoundUp(longest, kLengthStep));
  sums_.resize(lengths_.size());
  for (const LengthBin& bin : job.dataset.bins) {
    const auto at = std::lower_bound(lengths_.begin(), lengths_.end(), bin.llm_tokens);
    const double n = static_cast<double>(bin.count), t = static_cast<double>(bin.llm_tokens);
    sums_[static_cast<size_t>(at - lengths_.begin())] +=
        ClassSums{n,
                  {n * bin.units.As<double>(), n * t, n * t * t},
                  n * static_cast<double>(job.dataset.ScaledUnits(bin)),
                  bin.llm_tokens};
  }
  packs_.resize(size() * size());
  for (size_t from = 0; from < size(); ++from)
    for (size_t to = from; to < size(); ++to) packs_[from * size() + to] = PacksOf(from, to);
}

ClassSums LengthClasses::Sums(size_t from, size_t to) const {
  ClassSums all;
  for (size_t k = from; k <= to; ++k) all += sums_[k];
  return all;
}

Dataset LengthClasses::Samples(size_t from, size_t to) const {
  const int64_t above = from == 0 ? 0 : lengths_[from - 1];
  Dataset part = job_.dataset;
  part.bins.clear();
  for (const LengthBin& bin : job_.dataset.bins) {
    if (bin.llm_tokens > above && bin.llm_tokens <= lengths_[to]) part.bins.push_back(bin);
  }
  return part;
}

Caps LengthClasses::CapsOf(size_t to) const {
  Caps caps{job_.training.unit_cap, lengths_[to]};
  if (caps.units > 0) return caps;
  // Units do not limit packs, so the cap is that of a pack of the samples richest in units, whether
  // these are its own or fillers.
  for (const LengthBin& bin : job_.dataset.bins) {
    if (bin.llm_tokens > lengths_[to]) continue;
    const int64_t units = job_.dataset.ScaledUnits(bin);
    caps.units = std::max({caps.units, units, caps.tokens * units / bin.llm_tokens});
  }
  return caps;
}

ClassPacks LengthClasses::PacksOf(size_t from, size_t to) const {
  ClassPacks packs{.own = Sums(from, to)};
  packs.caps = CapsOf(to);
  if (packs.own.samples == 0) return packs;
  packs.packs =
      static_cast<double>(CheapLowerBound(TypesOf(Samples(from, to)), packs.caps, stop_).packs);
  const double length = static_cast<double>(lengths_[to]);
  ClassSums all = packs.own;
  if (from > 0) {
    const ClassSums shorter = Sums(0, from - 1);
    const double tokens = shorter.sum.tokens;
    if (tokens > 0) {
      packs.filler_tokens = std::max(0.0, std::min(packs.packs * length - all.sum.tokens, tokens));
      const double units = packs.packs * static_cast<double>(packs.caps.units) - all.scaled_units;
      if (shorter.scaled_units > 0)
        packs.filler_tokens =
            std::min(packs.filler_tokens, std::max(0.0, units) * tokens / shorter.scaled_units);
      const double share = packs.filler_tokens / tokens;
      all += {share * shorter.samples,
              {share * shorter.sum.units, packs.filler_tokens, share * shorter.sum.squared},
              share * shorter.scaled_units,
              0};
    }
  }
  packs.mean = all.sum / packs.packs;
  packs.largest = {UnitsAtMost(job_.dataset, packs.caps), length,
                   length * static_cast<double>(packs.own.longest)};
  return packs;
}

}  // namespace evenkeel::planner
