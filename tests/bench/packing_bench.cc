// Runs every packer on the same samples and prints packs against the proven bound, fill, balance in
// random order, and seconds; or measures the memory of one packer on very many samples. It judges
// by quality and bytes, never by time.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "planner/packing/caps.h"
#include "planner/packing/deal.h"
#include "planner/packing/metrics.h"
#include "planner/packing/pack_bound.h"
#include "planner/packing/packer.h"
#include "planner/packing/sample_types.h"
#include "tests/bench/length_sets.h"
#include "tests/planner/packing/native_sizes.h"

namespace evenkeel::planner {
namespace {

constexpr Packer kPackers[] = {Packer::kBalanced,           Packer::kIsf,
                               Packer::kFirstFitDecreasing, Packer::kBestFitDecreasing,
                               Packer::kGreedyKnapsack,     Packer::kNextFit};

constexpr int64_t kNativeTokens = 16384;

struct Settings {
  std::string lengths;  // folder; empty for the shipped set
  std::vector<std::string> caps = {"9x4096", "10x4096", "13x4416", "18x6016", "20x6656", "derived"};
  std::vector<int64_t> ranks = {8, 64};
  int64_t samples = 0;  // if > 0, measure memory
  int64_t native = 0;   // if > 0, compare on so many samples at native resolution
  int64_t few = 0;      // if > 0, also at native resolution, in packs of few samples
  std::string packer = "balanced";
  double max_bound_ratio = 1.001;
  double max_bytes = 24;
};

Caps ReadCaps(const std::string& text, const LengthSet& set) {
  if (text == "derived") return CapsRule(SortByType(set.lengths()).types, {}).Balanced().caps;
  const size_t x = text.find('x');
  return {std::stoll(text), std::stoll(text.substr(x + 1))};
}

PackRule RuleOf(Packer packer, const Caps& caps) {
  PackRule rule;
  rule.packer = packer;
  rule.caps = caps;
  SetDefaultKeep(&rule);
  rule.seed = 1;
  return rule;
}

template <typename Work>
double Seconds(Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int64_t Sum(const std::vector<int32_t>& values) {
  int64_t sum = 0;
  for (const int32_t v : values) sum += v;
  return sum;
}

// Prints the DistRatios of packs dealt in random order, one to each rank and step.
void PrintBalance(const std::vector<PackSums>& sums, const std::vector<int64_t>& ranks) {
  const std::vector<PackWork> work = WorkOf(sums, {});
  for (const int64_t n : ranks) {
    DealRule deal;
    deal.ranks = n;
    deal.seed = 1;
    const Balance balance = BalanceOf(sums, work, Deal(work, deal), n, 1);
    std::printf("  %.4f %.4f", balance.dist_ratio_units, balance.dist_ratio_tokens);
  }
}

// Runs all packers at one pair of caps. Returns whether ours is good enough.
bool Compare(const LengthSet& set, const Caps& caps, const Settings& settings) {
  const Lengths lengths = set.lengths();
  PackBound bound;
  const double bound_seconds =
      Seconds([&] { bound = LowerBound(SortByType(lengths).types, caps); });
  std::printf("\n%s, caps (%lld, %lld): at least %lld packs (%s, %.2f s)\n", set.name.c_str(),
              static_cast<long long>(caps.units), static_cast<long long>(caps.tokens),
              static_cast<long long>(bound.packs), bound.method, bound_seconds);
  size_t ours = 0, best = SIZE_MAX;
  for (const Packer packer : kPackers) {
    Packing packing;
    const double seconds = Seconds([&] { packing = Pack(lengths, RuleOf(packer, caps)); });
    const double packs = static_cast<double>(packing.size());
    const auto fill = [&](const std::vector<int32_t>& values, int64_t cap) {
      return cap == 0 ? 0 : static_cast<double>(Sum(values)) / (packs * static_cast<double>(cap));
    };
    std::printf("  %-22s %8zu  %+8.3f%%  %.4f %.4f", PackerName(packer), packing.size(),
                100 * (packs / static_cast<double>(bound.packs) - 1), fill(set.units, caps.units),
                fill(set.tokens, caps.tokens));
    PrintBalance(SumsOf(lengths, packing), settings.ranks);
    std::printf("  %8.3f\n", seconds);
    std::fflush(stdout);
    if (packer == Packer::kBalanced) ours = packing.size();
    best = std::min(best, packing.size());
  }
  const double allowed = std::max(static_cast<double>(bound.packs) + 1,
                                  settings.max_bound_ratio * static_cast<double>(bound.packs));
  if (ours > best) std::printf("  TOO MANY: another packer makes %zu\n", best);
  if (static_cast<double>(ours) > allowed) std::printf("  TOO MANY: allowed are %.0f\n", allowed);
  return ours <= best && static_cast<double>(ours) <= allowed;
}

// Deals our packs at the derived caps, one to each rank, in every order, and measures balance and
// randomness. The required figures are judged in random order on 200,000 samples or more, and with
// windows.
bool JudgeOrders(const LengthSet& set) {
  const Caps caps = ReadCaps("derived", set);
  const Packing packing = Pack(set.lengths(), RuleOf(Packer::kBalanced, caps));
  const std::vector<PackSums> sums = SumsOf(set.lengths(), packing);
  const std::vector<PackWork> work = WorkOf(sums, {});
  const bool large = set.units.size() >= 200'000;
  std::printf(
      "\n%s, derived caps (%lld, %lld): ranks, window, DistRatio units and tokens, idle, "
      "step spread, step trend\n",
      set.name.c_str(), static_cast<long long>(caps.units), static_cast<long long>(caps.tokens));
  bool all_good = true;
  for (const int64_t ranks : {8, 64}) {
    for (const int64_t window : {1, 16, 256, 0}) {
      const DealRule deal{.ranks = ranks, .window = window, .seed = 1};
      const Balance b = BalanceOf(sums, work, Deal(work, deal), ranks, 1);
      bool good = b.holed_steps <= 1;
      if (window == 1 && large) {
        good &= b.dist_ratio_units <= .001 && b.dist_ratio_tokens <= (ranks == 8 ? .01 : .02);
      }
      if (window == 16) good &= b.idle <= .005;
      if (window == 0) {
        good &= b.dist_ratio_units <= (large ? .0002 : .001) &&
                b.dist_ratio_tokens <= (large ? .001 : .005);
      }
      std::printf("  %3lld %6s  %.5f %.5f  %.5f  %6.2f %+.3f%s\n", static_cast<long long>(ranks),
                  window == 0 ? "all" : std::to_string(window).c_str(), b.dist_ratio_units,
                  b.dist_ratio_tokens, b.idle, b.step_spread, b.step_trend,
                  good ? "" : "  ABOVE WHAT IS ASKED");
      all_good &= good;
    }
  }
  return all_good;
}

int RunComparison(const Settings& settings) {
  std::vector<LengthSet> sets = BaseSets(settings.lengths);
  if (sets.empty()) {
    std::fprintf(stderr, "no .json files in %s\n", settings.lengths.c_str());
    return 2;
  }
  if (sets.size() > 1) sets.push_back(Union(sets));
  const LengthSet base = sets.back();
  sets.push_back(Draw(base, 200'000));
  sets.push_back(Draw(base, 1'200'000));
  std::printf("packer, packs, above the bound, unit fill, token fill");
  for (const int64_t n : settings.ranks)
    std::printf(", DistRatio units and tokens at DP %lld", static_cast<long long>(n));
  std::printf(" in random order, seconds\n");
  bool good = true;
  for (const LengthSet& set : sets) {
    for (const std::string& caps : settings.caps)
      good &= Compare(set, ReadCaps(caps, set), settings);
    good &= JudgeOrders(set);
  }
  return good ? 0 : 1;
}

// Compares on images of many sizes, without and with audio: at the derived caps, and where units
// and tokens fill packs alike, and where units leave a tenth of room.
int RunNative(Settings settings) {
  settings.max_bound_ratio = 1.002;
  bool good = true;
  for (const bool audio : {false, true}) {
    const NativeSizes sizes = DrawNativeSizes(static_cast<size_t>(settings.native), audio, 1);
    const LengthSet set{audio ? "native, audio" : "native", sizes.units, sizes.tokens};
    const int64_t even = Sum(set.units) * kNativeTokens / Sum(set.tokens);
    for (const Caps& caps :
         {ReadCaps("derived", set), Caps{even, kNativeTokens}, Caps{even * 11 / 10, kNativeTokens}})
      good &= Compare(set, caps, settings);
  }
  return good ? 0 : 1;
}

// Compares on packs of two to four samples on average: where units and tokens fill packs alike,
// where either leaves a tenth of room, and where only one counts.
int RunFew(Settings settings) {
  settings.max_bound_ratio = 1.016;
  bool good = true;
  for (const bool audio : {false, true}) {
    const NativeSizes sizes = DrawNativeSizes(static_cast<size_t>(settings.few), audio, 1);
    const LengthSet set{audio ? "native, audio" : "native", sizes.units, sizes.tokens};
    for (const int64_t tenths : {20, 23, 26, 30, 35, 40}) {
      const int64_t units = tenths * Sum(set.units) / (10 * settings.few);
      const int64_t tokens = tenths * Sum(set.tokens) / (10 * settings.few);
      for (const Caps& caps :
           {Caps{units, tokens}, Caps{units, tokens * 11 / 10}, Caps{units * 11 / 10, tokens},
            Caps{units, 2 * tokens}, Caps{2 * units, tokens}})
        good &= Compare(set, caps, settings);
    }
  }
  return good ? 0 : 1;
}

double PeakBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

int RunMemory(const Settings& settings) {
  const std::vector<LengthSet> sets = BaseSets(settings.lengths);
  const LengthSet set = Draw(Union(sets), static_cast<size_t>(settings.samples));
  const Caps caps = ReadCaps(settings.caps.front(), set);
  for (const Packer packer : kPackers) {
    if (settings.packer != PackerName(packer)) continue;
    const double before = PeakBytes();  // includes the input; no freed memory is reused
    Packing packing;
    const double seconds = Seconds([&] { packing = Pack(set.lengths(), RuleOf(packer, caps)); });
    const double bytes = (PeakBytes() - before) / static_cast<double>(settings.samples);
    std::printf("%s, %lld samples, caps (%lld, %lld): %zu packs, %.1f s, %.1f bytes per sample\n",
                settings.packer.c_str(), static_cast<long long>(settings.samples),
                static_cast<long long>(caps.units), static_cast<long long>(caps.tokens),
                packing.size(), seconds, bytes);
    return bytes > settings.max_bytes ? 1 : 0;
  }
  std::fprintf(stderr, "no packer %s\n", settings.packer.c_str());
  return 2;
}

}  // namespace
}  // namespace evenkeel::planner

int main(int argc, char** argv) {
  evenkeel::planner::Settings settings;
  CLI::App app("All packers on the same samples");
  app.add_option("--lengths", settings.lengths,
                 "Folder of per-sample length files, [{\"vit_num\": .., \"token_num\": ..}, ..]")
      ->check(CLI::ExistingDirectory);
  app.add_option("--caps", settings.caps, "UNITSxTOKENS or 'derived', several")
      ->capture_default_str();
  app.add_option("--ranks", settings.ranks, "Data parallel, several")->capture_default_str();
  app.add_option("--max-bound-ratio", settings.max_bound_ratio,
                 "Most packs of ours that are good, over the bound (or bound + 1)")
      ->capture_default_str();
  app.add_option("--samples", settings.samples,
                 "Measure the peak memory of one packer on so many samples, at the first caps");
  app.add_option("--native", settings.native,
                 "Compare on so many samples with images at native resolution");
  app.add_option("--few", settings.few, "The same in packs of two to four samples");
  app.add_option("--packer", settings.packer, "... of this one")->capture_default_str();
  app.add_option("--max-bytes", settings.max_bytes,
                 "Most that is good, per sample beyond the input")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (settings.native > 0) return evenkeel::planner::RunNative(settings);
  if (settings.few > 0) return evenkeel::planner::RunFew(settings);
  return settings.samples > 0 ? evenkeel::planner::RunMemory(settings)
                              : evenkeel::planner::RunComparison(settings);
}
