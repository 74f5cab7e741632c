#include "planner/packing/caps.h"

#include <absl/strings/str_format.h>

#include <algorithm>
#include <cmath>

#include "planner/base/integers.h"
#include "planner/packing/pack_bound.h"
#include "planner/packing/pack_patterns.h"
#include "planner/packing/sample_groups.h"

namespace evenkeel::planner {
namespace {

constexpr double kTarget = .01;
constexpr int64_t kRanks = 64;
constexpr double kLevelled = .002;  // imbalance that levelling leaves between equal packs
constexpr double kLightShare = 1. / 6;
constexpr double kFilled = .9995;
constexpr int64_t kFillLooks = 12;  // unit caps examined for one that fills
constexpr int64_t kUnitSteps = 32;  // most steps between 0 and the largest sample
constexpr int64_t kDefaultTokenCap = 4096;
constexpr int64_t kLongestPack = 32768;  // tokens; more only if the longest sample has more
// A sample longer than kLongestPack is packed alone if it is more than this many times as long as
// 999 of 1000 samples.
constexpr int64_t kOutlier = 16;
// Work limits for deriving caps, in units of planner::Stop: a few tenths of a second each.
constexpr int64_t kSeekWork = 200'000'000;  // to find packs that are level
constexpr int64_t kFillWork = 200'000'000;  // to find packs that fill
constexpr double kRoomAboveLevel = 1.01;

// Computes by multiplication only, so that the result is the same on every platform.
double Power(double base, int64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent /= 2, base *= base)
    if (exponent % 2 == 1) result *= base;
  return result;
}

int64_t LongestWithoutOutliers(const SampleTypes& types) {
  std::vector<std::pair<int64_t, int64_t>> lengths;  // tokens, samples
  int64_t samples = 0;
  for (const SampleType& t : types) {
    lengths.emplace_back(t.tokens, t.count);
    samples += t.count;
  }
  std::sort(lengths.begin(), lengths.end());
  int64_t usual = 0, below = 0;
  for (const auto& [tokens, count] : lengths) {
    if (below >= samples - samples / 1000) break;
    usual = tokens;
    below += count;
  }
  return std::max(kLongestPack, kOutlier * usual);
}

}  // namespace

double CapsChoice::Imbalance(int64_t ranks) const {
  // E[max] = integral of P(some rank is above x), since packs are drawn at random.
  double expected = kLevelled;
  for (size_t i = 0; i < excess.size(); ++i) {
    const double next = i + 1 < excess.size() ? excess[i + 1].first : 0;
    const double share = std::min(1.0, excess[i].second / packs);
    expected += (excess[i].first - next) * (1 - Power(1 - share, ranks));
  }
  return expected / (1 + expected);
}

CapsRule::CapsRule(SampleTypes types, const Caps& given, const Stop& stop)
    : types_(std::move(types)), given_(given), stop_(stop) {
  const int64_t longest = LongestWithoutOutliers(types_);
  for (const SampleType& t : types_) alone_ += t.tokens > longest ? t.count : 0;
  std::erase_if(types_, [&](const SampleType& t) { return t.tokens > longest; });
  for (const SampleType& t : types_) {
    const double count = static_cast<double>(t.count);
    samples_ += count;
    units_ += count * t.units;
    tokens_ += count * t.tokens;
    most_units_ = std::max<int64_t>(most_units_, t.units);
    most_tokens_ = std::max<int64_t>(most_tokens_, t.tokens);
  }
  least_units_ = most_units_;
  for (const SampleType& t : types_) least_units_ = std::min<int64_t>(least_units_, t.units);
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

CapsChoice CapsRule::At(int64_t unit_cap, int64_t token_cap) const {
  stop_.Spend(WorkOfLook());
  CapsChoice choice;
  choice.alone = alone_;
  choice.caps.units = unit_cap;
  choice.packs = std::max(1.0, units_ / static_cast<double>(unit_cap));
  choice.level_tokens = tokens_ / choice.packs;
  double longest =
      std::max(static_cast<double>(most_tokens_), kRoomAboveLevel * choice.level_tokens);
  for (const SampleType& t : types_) {
    const double room = static_cast<double>(std::max<int64_t>(0, unit_cap - t.units));
    const double least = t.tokens + room * light_tokens_;
    longest = std::max(longest, std::min(least, t.tokens + choice.level_tokens));
    const double above = least / choice.level_tokens - 1;
    if (above > 0) choice.excess.emplace_back(above, static_cast<double>(t.count));
  }
  std::sort(choice.excess.rbegin(), choice.excess.rend());
  for (size_t i = 1; i < choice.excess.size(); ++i)
    choice.excess[i].second += choice.excess[i - 1].second;
  choice.caps.tokens =
      token_cap > 0 ? token_cap : RoundUp(static_cast<int64_t>(std::ceil(longest)), kTokenStep);
  if (choice.level_tokens > static_cast<double>(choice.caps.tokens)) {
    choice.packs = std::max(1.0, tokens_ / static_cast<double>(choice.caps.tokens));
    choice.level_tokens = tokens_ / choice.packs;
  }
  choice.samples_per_pack = samples_ / choice.packs;
  return choice;
}

CapsChoice CapsRule::ByTokens() const {
  CapsChoice choice;
  choice.alone = alone_;
  choice.by_tokens = true;
  choice.caps.tokens = given_.tokens > 0
                           ? given_.tokens
                           : std::max(kDefaultTokenCap, RoundUp(most_tokens_, kTokenStep));
  if (given_.tokens > 0)
    choice.basis = TokenCapBasis::kGiven;
  else if (most_tokens_ <= kDefaultTokenCap)
    choice.basis = TokenCapBasis::kDefault;
  choice.caps.units = given_.units;
  if (given_.units == 0) {
    for (const SampleType& t : types_)
      choice.caps.units =
          std::max({choice.caps.units, int64_t{t.units}, choice.caps.tokens * t.units / t.tokens});
  }
  choice.packs = std::max(1.0, tokens_ / static_cast<double>(choice.caps.tokens));
  choice.level_tokens = tokens_ / choice.packs;
  choice.samples_per_pack = samples_ / choice.packs;
  return choice;
}

bool CapsRule::TokensAllow(const CapsChoice& choice) const {
  const int64_t most = given_.tokens > 0 ? given_.tokens : std::max(kLongestPack, most_tokens_);
  const double level = units_ / static_cast<double>(choice.caps.units);
  return kRoomAboveLevel * tokens_ / std::max(1.0, level) <= static_cast<double>(most);
}

double CapsRule::LevelFill(const CapsChoice& choice, int64_t* work_left) const {
  const std::vector<SampleGroup> groups =
      GroupSamples(types_, choice.caps.tokens, kGroupsAtMost, stop_);
  *work_left -= WorkOfLook();
  if (groups.empty())
    return choice.packs / static_cast<double>(CheapLowerBound(types_, choice.caps, stop_).packs);
  const int64_t level = static_cast<int64_t>(kRoomAboveLevel * choice.level_tokens);
  const Caps caps{choice.caps.units, std::min(choice.caps.tokens, level)};
  const PackDesign design =
      DesignPacks(groups, caps, choice.level_tokens, 1, stop_, std::max<int64_t>(1, *work_left));
  *work_left -= design.work;
  return choice.packs / static_cast<double>(design.packs);
}

CapsChoice CapsRule::BestFilled(const CapsChoice& choice) const {
  CapsChoice best = choice;
  double best_fill = 0;
  int64_t work_left = kFillWork;
  for (int64_t i = 0; i < kFillLooks; ++i) {
    const CapsChoice next = At(choice.caps.units + i * step_);
    if (i > 0 && !TokensAllow(next)) break;
    const double fill = LevelFill(next, &work_left);
    // A last pack that is not full is not the cap's fault.
    if (fill >= std::min(kFilled, next.packs / std::ceil(next.packs))) return next;
    if (fill > best_fill) best = next, best_fill = fill;
    best.cut_short = work_left <= 0;
    if (best.cut_short) break;
  }
  return best;
}

std::optional<CapsChoice> CapsRule::Doubled(const CapsChoice& choice) const {
  if (choice.by_tokens || given_.units > 0 || least_units_ < most_units_) return std::nullopt;
  CapsChoice doubled = At(2 * choice.caps.units);
  if (!TokensAllow(doubled)) return std::nullopt;
  return doubled;
}

CapsChoice CapsRule::Balanced() const {
  if (units_ == 0) return ByTokens();
  if (given_.units > 0) return At(given_.units);
  CapsChoice choice = At(most_units_);
  if (!TokensAllow(choice)) return ByTokens();
  int64_t work_left = kSeekWork;
  while (choice.Imbalance(kRanks) > kTarget && choice.packs > 1 && work_left > 0) {
    const CapsChoice next = At(choice.caps.units + step_);
    if (!TokensAllow(next)) break;
    choice = next;
    work_left -= WorkOfLook();
  }
  CapsChoice filled = BestFilled(choice);
  filled.cut_short = filled.cut_short || work_left <= 0;
  return filled;
}

CapsChoice CapsRule::Least() const {
  return At(given_.units > 0 ? given_.units : most_units_,
            given_.tokens > 0 ? given_.tokens : RoundUp(most_tokens_, kTokenStep));
}

std::optional<CapsChoice> CapsRule::OfSamples(double samples_per_pack) const {
  if (given_.units > 0 || units_ == 0) return std::nullopt;
  const double units = std::ceil(samples_per_pack * units_ / samples_ * (1 - 1e-9));
  if (units > units_) return std::nullopt;
  CapsChoice choice = At(std::max(most_units_, static_cast<int64_t>(units)));
  if (!TokensAllow(choice)) return std::nullopt;
  return choice;
}

namespace {

const char* TokenCapReason(TokenCapBasis basis) {
  switch (basis) {
    case TokenCapBasis::kLongestSample:
      return "the longest sample decides";
    case TokenCapBasis::kDefault:
      return "the default: no sample is longer";
    case TokenCapBasis::kGiven:
      return "the given token cap decides";
    case TokenCapBasis::kOneMicroBatch:
      return "a fused step has one micro-batch, which needs packs of this length";
  }
  return "";
}

}  // namespace

std::string BalanceReason(const CapsChoice& choice) {
  std::string reason;
  if (choice.by_tokens) {
    reason = TokenCapReason(choice.basis);
    const bool of_data =
        choice.basis == TokenCapBasis::kLongestSample || choice.basis == TokenCapBasis::kDefault;
    if (choice.caps.units > 0 && of_data) reason += ": units are too rare to fill packs evenly";
  } else {
    reason = absl::StrFormat(
        "these are the shortest balanced packs, as far as a given cap allows: with one random pack "
        "on each of %d ranks, a token imbalance of %.1f%% is expected",
        kRanks, 100 * choice.Imbalance(kRanks));
  }
  if (choice.cut_short) reason += "; the work ran out before all caps were examined";
  if (choice.alone > 0)
    reason +=
        "; " + std::to_string(choice.alone) + " samples far longer than the rest are packed alone";
  return reason;
}

}  // namespace evenkeel::planner
