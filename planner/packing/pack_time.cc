#include "planner/packing/pack_time.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "planner/base/integers.h"

namespace evenkeel::planner {
namespace {

constexpr int kSampleBits = 28;
constexpr int kWorkBits = 30;

// Without the dummies of a pack.
double SampleSeconds(const Lengths& lengths, size_t sample, const PackTimes& times) {
  const auto tokens = static_cast<double>(lengths.tokens[sample]);
  const PerEncoder<int64_t> units = lengths.UnitsOf(sample);
  return times.vision_per_unit.Dot(units.As<double>()) + times.language_per_token * tokens +
         times.language_per_squared_token * tokens * tokens;
}

// Returns the power of two that gives the longest sample kSampleBits, or 0 if none takes time.
double TimeScale(const Lengths& lengths, const PackTimes& times) {
  double longest = 0;
  for (size_t i = 0; i < lengths.size(); ++i)
    longest = std::max(longest, SampleSeconds(lengths, i, times));
  return longest > 0 ? std::ldexp(1.0, kSampleBits - 1 - std::ilogb(longest)) : 0;
}

}  // namespace

double SecondsOf(const PackSums& sums, const PackTimes& times) {
  double vision = 0;
  for (size_t e = 0; e < kEncodersAtMost; ++e) {
    const int64_t units = sums.encoder_units[e];
    vision += times.vision_per_unit[e] * static_cast<double>(units > 0 ? units : times.dummy_units);
  }
  return vision + times.language_per_token * static_cast<double>(sums.tokens) +
         times.language_per_squared_token * static_cast<double>(sums.squared);
}

std::vector<int32_t> SampleTimes(const Lengths& lengths, const PackTimes& times) {
  const double scale = TimeScale(lengths, times);
  std::vector<int32_t> result(lengths.size());
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = static_cast<int32_t>(SampleSeconds(lengths, i, times) * scale + 0.5);
  return result;
}

std::vector<int64_t> PackTimesOf(const Lengths& lengths, std::span<const PackSums> sums,
                                 const PackTimes& times) {
  const double scale = TimeScale(lengths, times);
  std::vector<int64_t> result;
  result.reserve(sums.size());
  for (const PackSums& sum : sums)
    result.push_back(static_cast<int64_t>(SecondsOf(sum, times) * scale + 0.5));
  return result;
}

std::vector<PackWork> WorkByTime(std::span<const int64_t> pack_times) {
  int64_t longest = 0;
  for (const int64_t time : pack_times) longest = std::max(longest, time);
  const int bits = std::bit_width(static_cast<uint64_t>(longest));
  std::vector<PackWork> work;
  work.reserve(pack_times.size());
  for (const int64_t time : pack_times) {
    const int64_t scaled = bits > kWorkBits ? time >> (bits - kWorkBits) : time;
    work.push_back({0, static_cast<int32_t>(scaled)});
  }
  return work;
}

Epoch EpochOf(std::span<const int64_t> pack_times, std::span<const int64_t> order,
              const DealRule& rule) {
  Epoch epoch;
  int64_t whole = 0, waited = 0;  // of steps without holes
  const auto slots = static_cast<size_t>(rule.packs_per_rank);
  const size_t step_packs = static_cast<size_t>(rule.ranks) * slots;
  for (size_t begin = 0; begin < order.size(); begin += step_packs) {
    rule.stop.Spend(static_cast<int64_t>(2 * step_packs));
    int64_t longest = 0, sum = 0;
    bool holed = false;
    for (size_t i = begin; i < begin + step_packs; i += slots) {
      int64_t rank = 0;
      holed |= order[i] < 0;  // the packs of a rank come first
      for (const int64_t pack : order.subspan(i, slots))
        rank += pack < 0 ? 0 : pack_times[static_cast<size_t>(pack)];
      longest = std::max(longest, rank);
      sum += rank;
    }
    epoch.time += longest;
    if (holed) continue;
    whole += longest;
    waited += longest - CeilDivide(sum, rule.ranks);
  }
  if (whole > 0) epoch.idle = static_cast<double>(waited) / static_cast<double>(whole);
  return epoch;
}

int64_t EpochTimeBound(std::vector<int64_t> pack_times, const DealRule& rule) {
  std::sort(pack_times.begin(), pack_times.end(), std::greater<>());
  const auto step_packs = static_cast<size_t>(rule.ranks * rule.packs_per_rank);
  int64_t all = 0, longest = 0;
  for (const int64_t time : pack_times) all += time;
  // Steps in descending order of their longest packs: k steps hold at most k x step_packs packs, so
  // the next step's longest is not below the pack at that place.
  for (size_t i = 0; i < pack_times.size(); i += step_packs) longest += pack_times[i];
  return std::max(longest, CeilDivide(all, rule.ranks));
}

}  // namespace evenkeel::planner
