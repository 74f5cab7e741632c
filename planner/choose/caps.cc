#include "planner/choose/caps.h"

#include <absl/strings/str_format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/base/integers.h"
#include "planner/candidates/parallelisms.h"
#include "planner/choose/keep_batch.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kTriesInVain = 3;  // of sizes in a row, before no more are tried
constexpr int64_t kTriesBetween = 2;
// A share of full packs above which they count as full. Less would round the next packs' units up.
constexpr double kFull = 0.99;
// Lengths that may keep the batch where doubled ones do not, in quarters of the rule's: whole
// multiples first, because those of a sample's length only gain from these.
constexpr int64_t kQuarters[] = {12, 20, 28, 24, 40, 56, 48, 36, 6, 5, 7, 10, 14, 44, 52, 60};
constexpr size_t kQuartersTried = 8, kQuartersTriedBriefly = 2;  // of those that keep it

class Chooser {
 public:
  Chooser(const Job& job, int64_t alternatives, const PlanHooks& hooks,
          const WorkLimits& limits = {})
      : job_(job),
        hooks_(hooks),
        searches_(job, alternatives, hooks, limits),
        rule_(CapsRuleOf(job, hooks.stop)),
        level_(OneMicroBatch(rule_.Balanced())) {}

  CapsSearchResult Run() {
    if (!DerivesCaps(job_)) return searches_.Whole(level_.caps, "");
    CapsSearchResult level = searches_.Whole(level_.caps, BalanceReason(level_));
    if (level.stopped) return level;
    if (level_.by_tokens) return KeepingTheBatch(ByTokens(std::move(level)));
    if (TooManyMicroBatches(level.batching)) return level;
    CapsSearchResult best = Sized(std::move(level));
    if (best.stopped || best.plans.best.empty()) return best;
    if (best.caps() == level_.caps) best = Longer(std::move(best));
    return KeepingTheBatch(std::move(best));
  }

  // Returns whether anything fits under the caps that Run looks at.
  bool AnyFits() const {
    const auto fits = [this](const Caps& caps) {
      return FitsWithPacks(job_, MakeBatching(job_, caps, "", hooks_.stop), hooks_.stop);
    };
    if (fits(level_.caps)) return true;
    if (!DerivesCaps(job_)) return false;
    if (!level_.by_tokens) return fits(rule_.Least().caps);
    if (job_.training.token_cap > 0) return false;
    Caps caps = level_.caps;
    const auto fits_with = [&](int64_t tokens) {
      caps.tokens = tokens;
      return fits(caps);
    };
    const std::vector<int64_t> shorter = ShorterTokens(true);
    return (2 * level_.caps.tokens <= kTokenCapAtMost && fits_with(2 * level_.caps.tokens)) ||
           std::any_of(shorter.begin(), shorter.end(), fits_with);
  }

 private:
  // Packs of other sizes than level ones.
  struct Sizes {
    CapsSearchResult best;
    double packs = 0;     // of a step, that gave the best
    bool better = false;  // whether a try was better than the first
    double fill = 1;      // the samples of the last packs, over those by volume
    int64_t in_vain = 0;  // tries since the last that was better
    Caps tried;           // last
  };

  // Packs of other lengths than the rule's.
  struct LengthTries {
    CapsSearchResult best;
    bool missed = false;        // whether the last lengths were left out because of the batch
    std::vector<double> tried;  // samples per pack
  };

  // Returns whether a fused step, with its one micro-batch for each rank, has no degrees for these
  // packs.
  bool TooManyMicroBatches(const Batching& batching) const {
    return job_.training.fused_step &&
           Parallelisms(job_, batching.packs_per_step(job_.training.global_batch_samples)).empty();
  }

  // Takes the first longer packs of which a fused step has few enough, where `level` has too many.
  CapsChoice OneMicroBatch(CapsChoice level) const {
    if (!job_.training.fused_step || !level.by_tokens || job_.training.token_cap > 0) return level;
    CapsChoice longer = level;
    while (TooManyMicroBatches(MakeBatching(job_, longer.caps, "", hooks_.stop))) {
      longer.caps.tokens *= 2;
      if (longer.caps.tokens > kTokenCapAtMost) return level;
      longer.basis = TokenCapBasis::kOneMicroBatch;
    }
    return longer;
  }

  // Returns the best of level packs and of others. Shorter ones need less memory, and so less
  // recompute or model parallelism, and give more ranks a pack of a step; but they are less level.
  // Longer ones may mend the batch, and cost less where each pack has its own charge.
  CapsSearchResult Sized(CapsSearchResult level) const {
    const bool level_fits = !level.plans.best.empty();
    Sizes sizes{.best = level_fits
                            ? std::move(level)
                            : searches_.Whole(rule_.Least().caps,
                                              LevelDoesNotFit() + "; these are the shortest")};
    CapsSearchResult& best = sizes.best;
    if (best.stopped || best.plans.best.empty()) return best;
    sizes.packs = PacksOf(best);
    const CapsSearchResult first = best;
    if (level_fits && (searches_.MissesBatch(best) || Thorough()))
      Octaves(sizes, PacksOfSteps(/*longer=*/true), [&] { return sizes.in_vain < kTriesInVain; });
    // Without a plan for long packs, there is nothing that all shorter ones could be worse than.
    Octaves(sizes, PacksOfSteps(/*longer=*/false), [&] {
      return SizeMatters(best) && (sizes.in_vain < kTriesInVain || (!level_fits && !sizes.better));
    });
    if (level_fits && SizeMatters(best) && searches_.Take(best, Brief(rule_.Least().caps, best)))
      sizes.packs = PacksOf(best), sizes.better = true;
    Between(sizes);
    TryFewerTokens(best);
    if (best.stopped || best.caps() == first.caps()) return best;
    best.batching.rule.caps_reason = level_fits ? OtherReason(best, first) : LevelDoesNotFit();
    searches_.FindWhole(best);
    return best;
  }

  // Tries these numbers of packs of a step while `goes_on`.
  template <typename GoesOn>
  void Octaves(Sizes& sizes, const std::vector<double>& counts, GoesOn goes_on) const {
    sizes.in_vain = 0;
    for (const double packs : counts) {
      if (!goes_on()) return;
      Improve(sizes, packs);
    }
  }

  // Tries sizes between the best and its neighbours.
  void Between(Sizes& sizes) const {
    const double level = LevelPacks();
    for (bool better = true; better && (SizeMatters(sizes.best) || Thorough());) {
      const double best = sizes.packs;
      better = Improve(sizes, 1.5 * best);
      for (const double fewer : {0.75 * best, best / 1.5})
        better = better || (fewer > level && Improve(sizes, fewer));
    }
    if (!sizes.better) return;
    double fewer = sizes.packs * 3 / 4;
    for (int64_t i = 0; i < kTriesBetween && SizeMatters(sizes.best); ++i) {
      const double between = (fewer + sizes.packs) / 2;
      if (!Improve(sizes, between)) fewer = between;
    }
  }

  // Returns whether each pack costs time whatever it holds: gathering weights, or the products of
  // experts, which get few rows of short packs.
  bool PacksAreCharged() const {
    return job_.training.zero_stage == ZeroStage::kWeights ||
           job_.model.language_model.moe.has_value();
  }

  // Returns whether many lengths are tried. Searches of many sizes of a job do not.
  bool Thorough() const { return PacksAreCharged() && !searches_.brief(); }

  std::string Level() const {
    return absl::StrFormat("balanced packs of %d units and %d tokens", level_.caps.units,
                           level_.caps.tokens);
  }
  std::string LevelDoesNotFit() const { return Level() + " do not fit in memory"; }

  // Returns the best of all sizes, with plans of other sizes that keep the batch.
  CapsSearchResult KeepingTheBatch(CapsSearchResult best) const {
    if (best.stopped || best.plans.best.empty()) return best;
    std::optional<CapsSearchResult> kept = searches_.KeepingTheBatch(best);
    if (!kept || (!kept->stopped && kept->plans.best.empty())) return best;
    if (!kept->stopped) kept->batching.rule.caps_reason = OtherReason(*kept, best);
    return *std::move(kept);
  }

  // Says why `other` is better than `first`, which fits.
  std::string OtherReason(const CapsSearchResult& other, const CapsSearchResult& first) const {
    const std::string packs =
        level_.by_tokens ? absl::StrFormat("packs of %d tokens", first.batching.rule.token_cap)
                         : Level();
    const double gain = 1 - searches_.GpuDaysOf(other) / searches_.GpuDaysOf(first);
    if (gain > 0) return absl::StrFormat("%.1f%% fewer GPU-days than with %s", 100 * gain, packs);
    return "steps come nearer to the batch that was asked for than with " + packs;
  }

  // Searches packs of which a step has so many, and takes them if they are better.
  bool Improve(Sizes& sizes, double packs) const {
    CapsSearchResult& best = sizes.best;
    if (best.stopped) return false;
    const std::optional<CapsChoice> choice = rule_.OfSamples(
        static_cast<double>(job_.training.global_batch_samples) / (packs * sizes.fill));
    if (!choice || choice->caps == best.caps() || choice->caps == sizes.tried) return false;
    sizes.tried = choice->caps;
    CapsSearchResult other = Brief(choice->caps, best);
    const double fill = other.batching.rule.samples_per_pack / choice->samples_per_pack;
    sizes.fill = fill > kFull ? 1 : fill;
    if (other.misses_batch) return false;
    if (!searches_.Take(best, std::move(other))) {
      ++sizes.in_vain;
      return false;
    }
    sizes.packs = packs;
    sizes.better = true;
    sizes.in_vain = 0;
    return true;
  }

  // Other packs can only make up for recompute, model parallelism and a wrong batch.
  bool SizeMatters(const CapsSearchResult& best) const {
    return !best.stopped &&
           (Recomputes(best) || best.plans.memory_binds || searches_.MissesBatch(best) ||
            best.plans.best.front().parallelism.data < job_.cluster.gpu_count);
  }

  // Both return packs of a step.
  double LevelPacks() const {
    return static_cast<double>(job_.training.global_batch_samples) / level_.samples_per_pack;
  }
  double PacksOf(const CapsSearchResult& search) const {
    return search.batching.packs_per_step(job_.training.global_batch_samples);
  }

  // Returns numbers of packs of a step: twice as many each time, from those of level packs on, or
  // with `longer` half as many each time. Many numbers of ranks divide them, so that steps come out
  // as large as the batch.
  std::vector<double> PacksOfSteps(bool longer) const {
    const double level = LevelPacks();
    const int64_t gpus = job_.cluster.gpu_count;
    int64_t packs = gpus;
    while (packs % 2 == 0 && static_cast<double>(packs) > level) packs /= 2;
    std::vector<double> counts;
    for (; packs <= job_.training.global_batch_samples; packs *= 2)
      if ((static_cast<double>(packs) > level) != longer)
        counts.push_back(static_cast<double>(packs));
    if (!longer) return counts;
    std::reverse(counts.begin(), counts.end());
    for (double more = counts.empty() ? level : counts.back(); more >= 2; more /= 2)
      counts.push_back(more / 2);
    return counts;
  }

  // With a lower token cap, packs of long samples hold fewer units, but memory is planned for the
  // cap.
  void TryFewerTokens(CapsSearchResult& best) const {
    if (job_.training.token_cap > 0) return;
    CapsChoice choice = level_;
    for (const double room : {1.2, 1.05}) {
      if (best.stopped || !(Recomputes(best) || best.plans.memory_binds)) return;
      const double tokens = room * best.batching.mean.tokens;
      choice.caps = {best.caps().units,
                     std::max(LongestSample(), RoundUp(static_cast<int64_t>(tokens), kTokenStep))};
      if (choice.caps.tokens >= best.caps().tokens) continue;
      searches_.Take(best, Brief(choice.caps, best));
      if (choice.caps.tokens == LongestSample()) return;
    }
  }

  // Searches packs of these caps briefly, for plans quicker than the best of `than`.
  CapsSearchResult Brief(const Caps& caps, const CapsSearchResult& than) const {
    return searches_.Brief(searches_.Packed(caps, than), than);
  }

  // Without units, only the longest sample says how long packs must be. Longer packs run longer
  // products and fewer collectives, but take more memory and longer to fill a pipeline. Doubles the
  // rule's choice while that is better; where packs are charged, packs of eight times the length
  // may be better where those of twice the length are not. Then tries lengths that keep the batch
  // better than powers of two, and half as much more or a quarter less than the best. If none is
  // better, or the rule's do not fit or miss the batch, tries shorter ones.
  CapsSearchResult ByTokens(CapsSearchResult level) const {
    if (job_.training.token_cap > 0) return level;
    const CapsSearchResult first = level;
    LengthTries lengths{.best = std::move(level)};
    CapsSearchResult& best = lengths.best;
    lengths.tried.push_back(best.batching.rule.samples_per_pack);
    const bool misses = !best.plans.best.empty() && searches_.MissesBatch(best);
    if (!best.plans.best.empty()) TryLonger(lengths);
    if (misses || best.caps() == level_.caps) {
      for (const int64_t tokens : ShorterTokens(best.plans.best.empty()))
        if (!Try(lengths, tokens) && !lengths.missed && !best.plans.best.empty()) break;
    }
    if (best.stopped || best.caps() == level_.caps || best.plans.best.empty()) return best;
    best.batching.rule.caps_reason =
        first.plans.best.empty()
            ? absl::StrFormat("packs of %d tokens do not fit in memory", level_.caps.tokens)
            : OtherReason(best, first);
    searches_.FindWhole(best);
    return best;
  }

  void TryLonger(LengthTries& lengths) const {
    Double(lengths, 2 * level_.caps.tokens);
    bool missed = lengths.missed;
    if (Thorough()) {
      Double(lengths, RoundUp(level_.caps.tokens * 3 / 2, kTokenStep));
      missed = missed || lengths.missed;
    }
    if (lengths.best.stopped) return;
    if (missed || searches_.MissesBatch(lengths.best)) Mend(lengths);
    if (Thorough() || lengths.best.caps() != level_.caps) Neighbours(lengths);
  }

  // Searches packs of at most `tokens` tokens briefly, and takes them if they are better.
  bool Try(LengthTries& lengths, int64_t tokens) const {
    lengths.missed = false;
    if (lengths.best.stopped || tokens > LongestOfUse() || tokens < LongestSample()) return false;
    CapsChoice choice = level_;
    choice.caps.tokens = tokens;
    CapsSearchResult other = searches_.Packed(choice.caps, lengths.best);
    lengths.missed = other.misses_batch;
    const double samples = other.batching.rule.samples_per_pack;
    const bool known =
        std::find(lengths.tried.begin(), lengths.tried.end(), samples) != lengths.tried.end();
    if (lengths.missed || known) return false;
    lengths.tried.push_back(samples);
    return searches_.Take(lengths.best, searches_.Brief(std::move(other), lengths.best));
  }

  // Doubles a length while that is better or, where packs are charged, until some in a row are not.
  // Lengths that miss the batch say nothing about longer ones.
  void Double(LengthTries& lengths, int64_t tokens) const {
    const int64_t most = Thorough() ? kTriesInVain + 1 : 1;
    bool missed = false;
    for (int64_t in_vain = 0; tokens <= LongestOfUse() && in_vain < most && !lengths.best.stopped;
         tokens *= 2) {
      const bool better = Try(lengths, tokens);
      missed = missed || lengths.missed;
      if (!lengths.missed) in_vain = better ? 0 : in_vain + 1;
    }
    lengths.missed = missed;
  }

  // Tries lengths that keep the batch where doubled ones do not, and doubles the best of them.
  void Mend(LengthTries& lengths) const {
    const size_t before = lengths.tried.size();
    bool better = false;
    for (const int64_t quarters : kQuarters) {
      if (lengths.tried.size() - before >=
          (searches_.brief() ? kQuartersTriedBriefly : kQuartersTried))
        break;
      better = Try(lengths, RoundUp(level_.caps.tokens * quarters / 4, kTokenStep)) || better;
    }
    if (better) Double(lengths, 2 * lengths.best.batching.rule.token_cap);
  }

  void Neighbours(LengthTries& lengths) const {
    for (bool better = true; better;) {
      const int64_t tokens = lengths.best.batching.rule.token_cap;
      better = Try(lengths, RoundUp(tokens * 3 / 2, kTokenStep)) ||
               Try(lengths, RoundUp(tokens * 3 / 4, kTokenStep));
    }
  }

  // Returns the longest packs that a step can have: those that hold the whole batch.
  int64_t LongestOfUse() const {
    const double batch = level_.level_tokens / level_.samples_per_pack *
                         static_cast<double>(job_.training.global_batch_samples);
    return std::min<int64_t>(kTokenCapAtMost, Nearest((1 + kBatchTolerance) * batch));
  }

  // Samples of equally many units, such as recordings padded to one length, are level however many
  // a pack holds. Doubles what it holds while that is better and every rank still gets a pack.
  CapsSearchResult Longer(CapsSearchResult best) const {
    CapsChoice choice = level_;
    while (const std::optional<CapsChoice> doubled = rule_.Doubled(choice)) {
      choice = *doubled;
      const double ranks = static_cast<double>(best.plans.best.front().parallelism.data);
      if (choice.samples_per_pack * ranks > static_cast<double>(job_.training.global_batch_samples))
        break;
      const BatchRule& than = best.batching.rule;
      CapsSearchResult packed = searches_.Packed(
          choice.caps, best,
          absl::StrFormat(
              "the same batch has a shorter step than with packs of %d units and %d tokens",
              than.unit_cap, than.token_cap));
      CapsSearchResult longer = searches_.Beating(std::move(packed), best);
      if (!searches_.Take(best, std::move(longer)) || best.stopped) break;
    }
    return best;
  }

  static bool Recomputes(const CapsSearchResult& search) {
    const std::vector<SegmentWork>& stages = search.plans.best.front().segments;
    return std::any_of(stages.begin(), stages.end(),
                       [](const SegmentWork& stage) { return stage.recompute_ns > 0; });
  }

  // Returns halves of the level, as long as every sample fits; with `all`, the longest sample, too.
  std::vector<int64_t> ShorterTokens(bool all) const {
    const int64_t longest = LongestSample();
    std::vector<int64_t> shorter;
    for (int64_t tokens = level_.caps.tokens / 2; tokens >= longest; tokens /= 2)
      shorter.push_back(tokens);
    if (all && (shorter.empty() ? level_.caps.tokens : shorter.back()) > longest)
      shorter.push_back(longest);
    return shorter;
  }

  int64_t LongestSample() const {
    return std::max<int64_t>(1, job_.dataset.totals().longest_tokens);
  }

  const Job& job_;
  const PlanHooks& hooks_;
  const SizeSearch searches_;
  CapsRule rule_;
  CapsChoice level_;
};

bool Pads(const Job& job) { return job.training.micro_batch_samples > 0; }

// Searches plans for the job's padded micro-batches: there are no caps to choose.
CapsSearchResult SearchPadded(const Job& job, int64_t alternatives, const PlanHooks& hooks,
                              const WorkLimits& limits) {
  CapsSearchResult search;
  hooks.Enter(Phase::kBatchRule);
  search.batching = MakeBatching(job, hooks.stop);
  search.stopped = hooks.stop();
  if (search.stopped) return search;
  hooks.Enter(Phase::kSearch);
  BatchSearchResult of_batch =
      SearchForBatch(job, search.batching, alternatives, hooks.stop, {}, limits);
  search.plans = std::move(of_batch.found);
  search.keeps_batch = of_batch.keeps_batch;
  search.stopped = search.plans.stopped;
  return search;
}

}  // namespace

CapsSearchResult ChooseCaps(const Job& job, int64_t alternatives, const PlanHooks& hooks,
                            const WorkLimits& limits) {
  if (Pads(job)) return SearchPadded(job, alternatives, hooks, limits);
  return Chooser(job, alternatives, hooks, limits).Run();
}

bool FitsWithAnyPacks(const Job& job, const Stop& stop) {
  if (Pads(job)) return FitsWithPacks(job, MakeBatching(job, stop), stop);
  const PlanHooks hooks{.stop = stop};
  return Chooser(job, 0, hooks).AnyFits();
}

}  // namespace evenkeel::planner
