#include "planner/packing/caps.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "planner/base/integers.h"
#include "planner/packing/pack_bound.h"
#include "planner/packing/pack_patterns.h"
#include "planner/packing/sample_groups.h"

namespace evenkeel::planner {
namespace {

constexpr double kTarget = .01;
constexpr int64_t kRanks = 64;
constexpr double kLevelled = .002;  // what levelling leaves between packs that can be equal
constexpr double kLightShare = 1. / 6;
constexpr double kFilled = .9995;
constexpr size_t kGroupsAtMost = 64;
constexpr int64_t kFillLooks = 12;  // unit caps looked at for one that fills
constexpr int64_t kUnitSteps = 32;  // between 0 and the largest sample, at most
constexpr int64_t kUsualTokenCap = 4096;
constexpr int64_t kTokenStep = 128;
constexpr int64_t kLongestPack = 32768;  // tokens; or four times the longest sample
constexpr double kRoomAboveLevel = 1.01;

// By multiplication alone: the same on every platform.
double Power(double base, int64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent /= 2, base *= base)
    if (exponent % 2 == 1) result *= base;
  return result;
}

}  // namespace

double CapsChoice::Imbalance(int64_t ranks) const {
  // E[max] = integral of P(some of the ranks is above x): packs are drawn at random.
  double expected = kLevelled;
  for (size_t i = 0; i < excess.size(); ++i) {
    const double next = i + 1 < excess.size() ? excess[i + 1].first : 0;
    const double share = std::min(1.0, excess[i].second / packs);
    expected += (excess[i].first - next) * (1 - Power(1 - share, ranks));
  }
  return expected / (1 + expected);
}

CapsRule::CapsRule(SampleTypes types, const Caps& given) : types_(std::move(types)), given_(given) {
  for (const SampleType& t : types_) {
    const double count = static_cast<double>(t.count);
    samples_ += count;
    units_ += count * t.units;
    tokens_ += count * t.tokens;
    most_units_ = std::max<int64_t>(most_units_, t.units);
    most_tokens_ = std::max<int64_t>(most_tokens_, t.tokens);
  }
  step_ = std::max<int64_t>(1, most_units_ / kUnitSteps);
  std::vector<SampleType> light;
  for (const SampleType& t : types_)
    if (t.units > 0) light.push_back(t);
  std::sort(light.begin(), light.end(), [](const SampleType& a, const SampleType& b) {
    const int64_t x = int64_t{a.tokens} * b.units, y = int64_t{b.tokens} * a.units;
    return x != y ? x < y : a.units < b.units;
  });
  double units = 0, tokens = 0;
  for (const SampleType& t : light) {
    units += static_cast<double>(t.units) * static_cast<double>(t.count);
    tokens += static_cast<double>(t.tokens) * static_cast<double>(t.count);
    if (units >= kLightShare * units_) break;
  }
  light_tokens_ = units > 0 ? tokens / units : 0;
}

CapsChoice CapsRule::At(int64_t unit_cap) const {
  CapsChoice choice;
  choice.caps.units = unit_cap;
  double longest = static_cast<double>(most_tokens_);
  if (units_ > 0) {
    choice.packs = std::max(1.0, units_ / static_cast<double>(unit_cap));
    choice.level_tokens = tokens_ / choice.packs;
    std::vector<std::pair<double, double>> excess;
    for (const SampleType& t : types_) {
      const double room = static_cast<double>(std::max<int64_t>(0, unit_cap - t.units));
      const double least = t.tokens + room * light_tokens_;
      longest = std::max(longest, std::min(least, t.tokens + choice.level_tokens));
      const double above = least / choice.level_tokens - 1;
      if (above > 0) excess.emplace_back(above, static_cast<double>(t.count));
    }
    std::sort(excess.rbegin(), excess.rend());
    for (size_t i = 1; i < excess.size(); ++i) excess[i].second += excess[i - 1].second;
    choice.excess = std::move(excess);
    longest = std::max(longest, kRoomAboveLevel * choice.level_tokens);
    choice.caps.tokens = RoundUp(static_cast<int64_t>(std::ceil(longest)), kTokenStep);
  } else {
    choice.caps.tokens = std::max(kUsualTokenCap, RoundUp(most_tokens_, kTokenStep));
  }
  if (given_.tokens > 0) choice.caps.tokens = given_.tokens;
  if (units_ == 0 || choice.level_tokens > static_cast<double>(choice.caps.tokens)) {
    choice.packs = std::max(1.0, tokens_ / static_cast<double>(choice.caps.tokens));
    choice.level_tokens = tokens_ / choice.packs;
  }
  choice.samples_per_pack = samples_ / choice.packs;
  return choice;
}

bool CapsRule::TokensAllow(const CapsChoice& choice) const {
  const int64_t most = given_.tokens > 0 ? given_.tokens : std::max(kLongestPack, 4 * most_tokens_);
  const double level = units_ / static_cast<double>(choice.caps.units);
  return kRoomAboveLevel * tokens_ / std::max(1.0, level) <= static_cast<double>(most);
}

double CapsRule::UnitFill(const CapsChoice& choice) const {
  return choice.packs / static_cast<double>(CheapLowerBound(types_, choice.caps).packs);
}

double CapsRule::LevelFill(const CapsChoice& choice) const {
  const std::vector<SampleGroup> groups = GroupSamples(types_, choice.caps.tokens, kGroupsAtMost);
  if (groups.empty()) return UnitFill(choice);
  const int64_t level = static_cast<int64_t>(kRoomAboveLevel * choice.level_tokens);
  const Caps caps{choice.caps.units, std::min(choice.caps.tokens, level)};
  return choice.packs /
         static_cast<double>(DesignPacks(groups, caps, choice.level_tokens, 1).packs);
}

CapsChoice CapsRule::BestFilled(const CapsChoice& choice, FillOf fill_of) const {
  if (units_ == 0 || given_.units > 0) return choice;
  CapsChoice best = choice;
  double best_fill = 0;
  for (int64_t i = 0; i < kFillLooks; ++i) {
    const CapsChoice next = At(choice.caps.units + i * step_);
    if (i > 0 && !TokensAllow(next)) break;
    const double fill = (this->*fill_of)(next);
    // What a last pack lacks is no fault of the cap.
    if (fill >= std::min(kFilled, next.packs / std::ceil(next.packs))) return next;
    if (fill > best_fill) best = next, best_fill = fill;
  }
  return best;
}

CapsChoice CapsRule::Filled(const CapsChoice& choice) const {
  return BestFilled(choice, &CapsRule::UnitFill);
}

CapsChoice CapsRule::Balanced() const {
  if (units_ == 0 || given_.units > 0) return At(given_.units);
  CapsChoice choice = At(most_units_);
  while (choice.Imbalance(kRanks) > kTarget && choice.packs > 1) {
    const CapsChoice next = At(choice.caps.units + step_);
    if (!TokensAllow(next)) break;
    choice = next;
  }
  return BestFilled(choice, &CapsRule::LevelFill);
}

std::vector<CapsChoice> CapsRule::Shorter(const CapsChoice& longest) const {
  std::vector<CapsChoice> choices;
  for (double units = static_cast<double>(most_units_);
       units_ > 0 && given_.units == 0 && units < static_cast<double>(longest.caps.units);
       units = std::max(units * 1.15, units + static_cast<double>(step_)))
    choices.push_back(At(static_cast<int64_t>(units)));
  choices.push_back(longest);
  return choices;
}

std::string BalanceReason(const CapsChoice& choice) {
  char text[160];
  std::snprintf(text, sizeof text,
                "the shortest packs that come out level, as far as a given cap allows: %.1f%% "
                "imbalance of tokens expected over 64 ranks of one pack each in random order",
                100 * choice.Imbalance(64));
  return text;
}

}  // namespace evenkeel::planner
