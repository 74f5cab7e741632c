#include "planner/search/choose_caps.h"

#include <absl/strings/str_format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/base/integers.h"
#include "planner/search/ladder.h"
#include "planner/search/parallelisms.h"

namespace evenkeel::planner {
namespace {

constexpr double kBatchTolerance = 0.05;
constexpr double kSameError = 0.02;  // beyond the tolerance: alike enough for time to decide
constexpr int64_t kTriesInVain = 3;  // of shorter packs, before no more are tried
constexpr int64_t kTriesBetween = 2;
constexpr double kLongestOfLevel = 1.5;  // packs longer than level ones that may mend the batch

class Chooser {
 public:
  Chooser(const Job& job, int64_t alternatives, const PlanHooks& hooks,
          const SearchWork& limits = {})
      : job_(job),
        alternatives_(alternatives),
        hooks_(hooks),
        limits_(limits),
        side_limits_(limits.segments < kWorkForSideQuestion.segments ? limits
                                                                     : kWorkForSideQuestion),
        rule_(CapsRuleOf(job, hooks.stop)),
        level_(OneMicroBatch(rule_.Balanced())) {}

  CapsSearch Run() {
    if (!DerivesCaps(job_)) return Search(level_, "");
    const std::string reason = BalanceReason(level_);
    if (level_.by_tokens) return ByTokens(reason);
    CapsSearch level = Search(level_, reason);
    if (level.stopped || TooManyMicroBatches(level.batching)) return level;
    CapsSearch best = Shorter(std::move(level));
    if (best.stopped || best.found.best.empty() || CapsOf(best) != level_.caps) return best;
    return Longer(std::move(best));
  }

  // Returns whether anything fits under the caps that Run looks at.
  bool SomethingFits() const {
    const auto fits = [this](const Caps& caps) {
      return planner::SomethingFits(job_, MakeBatching(job_, caps, "", hooks_.stop), hooks_.stop);
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

  // Makes packs under these caps and searches for the best plans for them.
  CapsSearch Search(const CapsChoice& choice, std::string reason) const {
    CapsSearch search;
    Enter(Phase::kBatchRule);
    search.batching = MakeBatching(job_, choice.caps, std::move(reason), hooks_.stop);
    search.stopped = hooks_.stop && hooks_.stop();
    if (search.stopped) return search;
    Enter(Phase::kSearch);
    FindAll(search);
    return search;
  }
  // Searches for the plan and its alternatives.
  void FindAll(CapsSearch& search) const { Find(search, alternatives_, 0, limits_); }
  void Find(CapsSearch& search, int64_t alternatives, int64_t beat_ns,
            const SearchWork& limits) const {
    search.found =
        planner::Search(job_, search.batching, alternatives, hooks_.stop, beat_ns, limits);
    search.stopped = search.found.stopped;
  }
  void Enter(Phase phase) const {
    if (hooks_.enter) hooks_.enter(phase);
  }

  // Returns the best of level packs and of shorter ones. These need less memory, and so less
  // recompute or model parallelism, and give more ranks a pack of a step; but they are less level.
  CapsSearch Shorter(CapsSearch level) const {
    const bool level_fits = !level.found.best.empty();
    Sizes sizes{
        .best = level_fits ? std::move(level)
                           : Search(rule_.Least(), LevelDoesNotFit() + "; these are the shortest")};
    CapsSearch& best = sizes.best;
    if (best.stopped || best.found.best.empty()) return best;
    const Caps first = CapsOf(best);
    const double first_days = GpuDaysOf(best);
    for (const double packs : PacksOfSteps(ExcessBatchError(best) > 0)) {
      // Without a plan for long packs, there is nothing that all shorter ones could be worse than.
      if (sizes.in_vain >= kTriesInVain && (level_fits || sizes.packs > 0)) break;
      Improve(sizes, packs);
    }
    if (sizes.packs > 0) {
      double fewer = sizes.packs * 3 / 4;
      for (int64_t i = 0; i < kTriesBetween; ++i) {
        const double between = (fewer + sizes.packs) / 2;
        if (!Improve(sizes, between)) fewer = between;
      }
    }
    TryFewerTokens(best);
    if (best.stopped || CapsOf(best) == first) return best;
    best.batching.rule.caps_reason =
        level_fits ? ShorterReason(1 - GpuDaysOf(best) / first_days) : LevelDoesNotFit();
    FindAll(best);
    return best;
  }

  std::string Level() const {
    return absl::StrFormat("balanced packs of %d units and %d tokens", level_.caps.units,
                           level_.caps.tokens);
  }
  std::string LevelDoesNotFit() const { return Level() + " do not fit in memory"; }
  // `gain` is in GPU-days, as a share of those with level packs.
  std::string ShorterReason(double gain) const {
    if (gain > 0) return absl::StrFormat("%.1f%% fewer GPU-days than with %s", 100 * gain, Level());
    return "steps come nearer to the batch that was asked for than with " + Level();
  }

  // Packs of other sizes than level ones.
  struct Sizes {
    CapsSearch best;
    double packs = 0;     // of a step, that gave the best; 0 for the first
    double fill = 1;      // the samples of the last packs, over those by volume
    int64_t in_vain = 0;  // tries since the last that was better
    Caps tried;           // last
  };

  // Searches packs of which a step has so many, and takes them if they are better.
  bool Improve(Sizes& sizes, double packs) const {
    CapsSearch& best = sizes.best;
    if (best.stopped || !SizeMatters(best)) return false;
    const std::optional<CapsChoice> choice = rule_.OfSamples(
        static_cast<double>(job_.training.global_batch_samples) / (packs * sizes.fill));
    if (!choice || choice->caps == CapsOf(best) || choice->caps == sizes.tried) return false;
    sizes.tried = choice->caps;
    CapsSearch other = SideSearch(*choice, best);
    sizes.fill = std::min(1.0, other.batching.rule.samples_per_pack / choice->samples_per_pack);
    if (!Take(best, std::move(other))) {
      ++sizes.in_vain;
      return false;
    }
    sizes.packs = packs;
    sizes.in_vain = 0;
    return true;
  }

  // Other packs can only make up for recompute, model parallelism and a wrong batch.
  bool SizeMatters(const CapsSearch& best) const {
    return Recomputes(best) || best.found.memory_binds || ExcessBatchError(best) > 0 ||
           best.found.best.front().parallelism.data < job_.cluster.gpu_count;
  }

  // Returns ascending numbers of packs of a step, from those of level packs on, or with `longer`
  // from two thirds of these. Many numbers of ranks divide them, so that steps come out as large as
  // the batch.
  std::vector<double> PacksOfSteps(bool longer) const {
    const double level = static_cast<double>(job_.training.global_batch_samples) /
                         level_.samples_per_pack / (longer ? kLongestOfLevel : 1);
    int64_t packs = job_.cluster.gpu_count;
    while (packs % 2 == 0 && static_cast<double>(packs) > level) packs /= 2;
    std::vector<double> counts;
    for (; packs <= job_.training.global_batch_samples; packs *= 2) {
      const double whole = static_cast<double>(packs);
      for (const double count : {whole, 1.5 * whole})
        if (count > level) counts.push_back(count);
    }
    return counts;
  }

  // With a lower token cap, packs of long samples hold fewer units, but memory is planned for the
  // cap.
  void TryFewerTokens(CapsSearch& best) const {
    if (job_.training.token_cap > 0) return;
    CapsChoice choice = level_;
    for (const double room : {1.2, 1.05}) {
      if (best.stopped || !(Recomputes(best) || best.found.memory_binds)) return;
      const double tokens = room * best.batching.mean.tokens;
      choice.caps = {CapsOf(best).units,
                     std::max(LongestSample(), RoundUp(static_cast<int64_t>(tokens), kTokenStep))};
      if (choice.caps.tokens >= CapsOf(best).tokens) continue;
      Take(best, SideSearch(choice, best));
      if (choice.caps.tokens == LongestSample()) return;
    }
  }

  // Searches packs of these caps briefly, for plans quicker than the best of `than`.
  CapsSearch SideSearch(const CapsChoice& choice, const CapsSearch& than) const {
    return Beating(choice, than, "", 0, side_limits_);
  }

  static Caps CapsOf(const CapsSearch& search) {
    return {search.batching.rule.unit_cap, search.batching.rule.token_cap};
  }

  // Without units, only the longest sample says how long packs must be. Packs twice as long run
  // longer products and fewer collectives, but take more memory and longer to fill a pipeline.
  // Doubles the rule's choice while that is better (with experts, until two doublings in a row are
  // not: packs of four times the length may be better where those of twice the length are not), and
  // tries half as much more of the best; if none is better, halves it. Doubled packs that miss the
  // batch end the doubling, and those that keep it are tried (KeepTheBatch).
  CapsSearch ByTokens(const std::string& reason) const {
    CapsSearch best = Search(level_, reason);
    if (job_.training.token_cap > 0) return best;
    const int64_t level = level_.caps.tokens;
    bool longer = false;
    const auto improve = [&](int64_t tokens) {
      if (best.stopped) return false;
      return Take(best, Tokens(tokens, best));
    };
    for (int64_t tokens = 2 * level; tokens <= kTokenCapAtMost; tokens *= 2) {
      if (best.stopped) break;
      CapsSearch next = Tokens(tokens, best);
      const bool misses = MissesTheBatch(next, best);
      if (Take(best, std::move(next))) {
        longer = true;
      } else if (misses) {
        longer = KeepTheBatch(best) || longer;
        break;
      } else if (2 * tokens > kTokenCapAtMost || !LooksBetter(2 * tokens, best)) {
        break;
      }
    }
    if (longer) improve(best.batching.rule.token_cap / 2 * 3);
    if (longer || best.stopped) return best;
    for (const int64_t tokens : ShorterTokens(best.found.best.empty()))
      if (!improve(tokens) && !best.found.best.empty()) break;
    return best;
  }

  bool MissesTheBatch(const CapsSearch& search, const CapsSearch& than) const {
    return !search.found.best.empty() && !than.found.best.empty() &&
           ExcessBatchError(search) > ExcessBatchError(than) + kSameError;
  }

  // Packs k times as long keep the batch if k divides the micro-batches of a rank; doubling may
  // not, where the ranks are no power of two. Takes such packs, or half as long ones, as long as
  // they are better. Returns whether some were.
  bool KeepTheBatch(CapsSearch& best) const {
    bool longer = false;
    while (!best.stopped && !best.found.best.empty()) {
      const int64_t tokens = best.batching.rule.token_cap;
      const int64_t k = LeastOddDivisor(best.found.best.front().micro_batches);
      const auto take = [&](int64_t longest) {
        return longest <= kTokenCapAtMost && Take(best, Tokens(longest, best));
      };
      if (k == 1 || !(take(k * tokens) || take(RoundUp(k * tokens / 2, kTokenStep)))) break;
      longer = true;
    }
    return longer;
  }

  // Returns the least odd divisor of n above 1, or 1 if there is none.
  static int64_t LeastOddDivisor(int64_t n) {
    while (n % 2 == 0) n /= 2;
    for (int64_t k = 3; k * k <= n; k += 2)
      if (n % k == 0) return k;
    return n;
  }

  // Samples of equally many units, such as recordings padded to one length, are level however many
  // a pack holds. Doubles what it holds while that is better and every rank still gets a pack.
  CapsSearch Longer(CapsSearch best) const {
    CapsChoice choice = level_;
    while (const std::optional<CapsChoice> doubled = rule_.Doubled(choice)) {
      choice = *doubled;
      const double ranks = static_cast<double>(best.found.best.front().parallelism.data);
      if (choice.samples_per_pack * ranks > static_cast<double>(job_.training.global_batch_samples))
        break;
      const BatchRule& than = best.batching.rule;
      CapsSearch longer =
          Beating(choice, best,
                  absl::StrFormat(
                      "the same batch has a shorter step than with packs of %d units and %d tokens",
                      than.unit_cap, than.token_cap),
                  alternatives_, limits_);
      if (!Take(best, std::move(longer)) || best.stopped) break;
    }
    return best;
  }

  static bool Recomputes(const CapsSearch& search) {
    const std::vector<StageWork>& stages = search.found.best.front().stages;
    return std::any_of(stages.begin(), stages.end(),
                       [](const StageWork& stage) { return stage.recompute_ns > 0; });
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

  // Searches packs of at most `tokens` tokens for plans quicker than the best of `than`.
  CapsSearch Tokens(int64_t tokens, const CapsSearch& than) const {
    CapsChoice choice = level_;
    choice.caps.tokens = tokens;
    const std::string text = std::to_string(than.batching.rule.token_cap);
    return Beating(choice, than,
                   than.found.best.empty()
                       ? "packs of " + text + " tokens do not fit in memory"
                       : "the same batch has a shorter step than with packs of " + text + " tokens",
                   alternatives_, limits_);
  }

  // Returns whether a brief search finds a better plan than `than` for packs of `tokens` tokens.
  // Short searches do not look. Nor do those of models without experts: experts get few rows each,
  // so that their products gain most from longer packs.
  bool LooksBetter(int64_t tokens, const CapsSearch& than) const {
    const bool experts = job_.model.language_model.moe.has_value();
    if (than.stopped || !experts || limits_.segments < SearchWork{}.segments) return false;
    CapsChoice choice = level_;
    choice.caps.tokens = tokens;
    const CapsSearch look = Beating(choice, than, "", 0, side_limits_);
    return !look.stopped && Better(look, than);
  }

  // Makes packs under these caps and searches for plans quicker than the best of `than`.
  CapsSearch Beating(const CapsChoice& choice, const CapsSearch& than, std::string reason,
                     int64_t alternatives, const SearchWork& limits) const {
    CapsSearch search;
    Enter(Phase::kBatchRule);
    search.batching = MakeBatching(job_, choice.caps, std::move(reason), hooks_.stop);
    const bool any = than.found.best.empty() || ExcessBatchError(than) > 0;
    Enter(Phase::kSearch);
    Find(search, alternatives, any ? 0 : than.found.best.front().simulated_ns, limits);
    return search;
  }

  int64_t LongestSample() const {
    int64_t longest = 1;
    for (const LengthBin& bin : job_.dataset.bins) longest = std::max(longest, bin.llm_tokens);
    return longest;
  }

  // Takes `other` if it is better or was stopped.
  bool Take(CapsSearch& best, CapsSearch other) const {
    if (!other.stopped && !Better(other, best)) return false;
    best = std::move(other);
    return true;
  }

  // Returns whether `search` found a better plan than `than`. The batch is the caller's: no gain in
  // time makes up for another one.
  bool Better(const CapsSearch& search, const CapsSearch& than) const {
    if (search.found.best.empty()) return false;
    if (than.found.best.empty()) return true;
    const double error = ExcessBatchError(search), other = ExcessBatchError(than);
    if (std::abs(error - other) > kSameError) return error < other;
    return GpuDaysOf(search) < GpuDaysOf(than);
  }

  // Returns by how much more than the tolerance the step's samples differ from those asked for, as
  // a share of the latter.
  double ExcessBatchError(double samples) const {
    const double error =
        std::abs(samples / static_cast<double>(job_.training.global_batch_samples) - 1);
    return std::max(0.0, error - kBatchTolerance);
  }
  double ExcessBatchError(const CapsSearch& search) const {
    const Candidate& c = search.found.best.front();
    return ExcessBatchError(static_cast<double>(c.micro_batches * c.parallelism.data) *
                            search.batching.rule.samples_per_pack);
  }

  double GpuDaysOf(const CapsSearch& search) const {
    const Candidate& c = search.found.best.front();
    return GpuDays(job_, c.step.total_ns(), static_cast<double>(search.batching.rule.packs), c);
  }

  const Job& job_;
  int64_t alternatives_;
  const PlanHooks& hooks_;
  const SearchWork limits_, side_limits_;
  CapsRule rule_;
  CapsChoice level_;
};

bool Pads(const Job& job) { return job.training.micro_batch_samples > 0; }

// Searches plans for the job's padded micro-batches: there are no caps to choose.
CapsSearch SearchPadded(const Job& job, int64_t alternatives, const PlanHooks& hooks,
                        const SearchWork& limits) {
  CapsSearch search;
  if (hooks.enter) hooks.enter(Phase::kBatchRule);
  search.batching = MakeBatching(job, hooks.stop);
  search.stopped = hooks.stop && hooks.stop();
  if (search.stopped) return search;
  if (hooks.enter) hooks.enter(Phase::kSearch);
  search.found = Search(job, search.batching, alternatives, hooks.stop, 0, limits);
  search.stopped = search.found.stopped;
  return search;
}

}  // namespace

CapsSearch ChooseCaps(const Job& job, int64_t alternatives, const PlanHooks& hooks,
                      const SearchWork& limits) {
  if (Pads(job)) return SearchPadded(job, alternatives, hooks, limits);
  return Chooser(job, alternatives, hooks, limits).Run();
}

bool SomethingFits(const Job& job, const Stop& stop) {
  if (Pads(job)) return SomethingFits(job, MakeBatching(job, stop), stop);
  const PlanHooks hooks{.stop = stop};
  return Chooser(job, 0, hooks).SomethingFits();
}

}  // namespace evenkeel::planner
