#include "planner/search/choose_caps.h"

#include <absl/strings/str_format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/search/ladder.h"
#include "planner/search/parallelisms.h"
#include "planner/search/stage_plans.h"

namespace evenkeel::planner {
namespace {

constexpr double kBatchTolerance = 0.05;

// Expected losses of a choice of packs, as shares of a step without bubble and imbalance.
struct Loss {
  double bubble = 0;     // by the closed form
  double imbalance = 0;  // of the language part: stages wait for the longest pack in the
                         // pipeline, and ranks for each other by one pack of a step
  double rounding = 0;   // micro-batches are whole
  double total() const { return (1 + bubble) * (1 + imbalance) * (1 + rounding); }
};

class Chooser {
 public:
  Chooser(const Job& job, int64_t alternatives, const PlanHooks& hooks,
          const SearchWork& limits = {})
      : job_(job),
        alternatives_(alternatives),
        hooks_(hooks),
        limits_(limits),
        rule_(CapsRuleOf(job, hooks.stop)),
        level_(OneMicroBatch(rule_.Balanced())) {}

  CapsSearch Run() {
    if (!DerivesCaps(job_)) return Search(level_, "");
    const std::string reason = BalanceReason(level_);
    if (level_.by_tokens) return ByTokens(reason);
    CapsSearch level = Search(level_, reason);
    if (level.stopped || TooManyMicroBatches(level.batching)) return level;
    if (level.found.best.empty()) return WithoutLevel();
    CapsSearch best = NotLonger(level);
    if (best.stopped || best.batching.rule.unit_cap < level_.caps.units) return best;
    return Longer(std::move(best));
  }

  // Returns whether anything fits under the caps that Run looks at.
  bool SomethingFits() const {
    const auto fits = [this](const Caps& caps) {
      return planner::SomethingFits(job_, MakeBatching(job_, caps, "", hooks_.stop), hooks_.stop);
    };
    if (fits(level_.caps)) return true;
    if (!DerivesCaps(job_)) return false;
    if (!level_.by_tokens) return fits(rule_.Filled(rule_.Shorter(level_).front()).caps);
    if (job_.training.token_cap > 0) return false;
    Caps caps = level_.caps;
    const auto fits_with = [&](int64_t tokens) {
      caps.tokens = tokens;
      return fits(caps);
    };
    const std::vector<int64_t> shorter = ShorterTokens(true);
    return fits_with(2 * level_.caps.tokens) ||
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
    Find(search);
    return search;
  }
  void Find(CapsSearch& search, int64_t beat_ns = 0) const {
    Enter(Phase::kSearch);
    search.found =
        planner::Search(job_, search.batching, alternatives_, hooks_.stop, beat_ns, limits_);
    search.stopped = search.found.stopped;
  }
  void Enter(Phase phase) const {
    if (hooks_.enter) hooks_.enter(phase);
  }

  // Returns the better of level packs and of the shorter ones of least loss. If its steps miss the
  // batch, also tries those of least loss among the ones that come nearest to it.
  CapsSearch NotLonger(const CapsSearch& level) const {
    CapsSearch best = level;
    Caps tried = level_.caps;
    // Returns whether the best became another.
    const auto improve = [&](bool by_batch) {
      const std::optional<CapsChoice> shorter = Shorter(level, level_.caps.tokens, by_batch);
      if (!shorter || shorter->caps == level_.caps || shorter->caps == tried) return false;
      tried = shorter->caps;
      CapsSearch other = Search(*shorter, by_batch ? BatchReason(best) : Reason(level, *shorter));
      if (!other.stopped && !Better(other, best)) return false;
      best = std::move(other);
      return true;
    };
    improve(/*by_batch=*/false);
    best = LessRecompute(std::move(best));
    if (!best.stopped && ExcessBatchError(best) > 0 && improve(/*by_batch=*/true))
      best = LessRecompute(std::move(best));
    return best;
  }

  // Without units, only the longest sample says how long packs must be. Packs twice as long run
  // longer products and fewer collectives, but take more memory and longer to fill a pipeline.
  // Doubles the rule's choice while that is better; if it never is, halves it.
  CapsSearch ByTokens(const std::string& reason) const {
    CapsSearch best = Search(level_, reason);
    if (job_.training.token_cap > 0) return best;
    const int64_t level = level_.caps.tokens;
    bool longer = false;
    const auto improve = [&](int64_t tokens) {
      if (best.stopped) return false;
      CapsSearch other = Tokens(tokens, best);
      const bool better = other.stopped || (!other.found.best.empty() &&
                                            (best.found.best.empty() || Better(other, best)));
      if (better) best = std::move(other);
      return better;
    };
    for (int64_t tokens = 2 * level; improve(tokens); tokens *= 2) longer = true;
    if (longer || best.stopped) return best;
    for (const int64_t tokens : ShorterTokens(best.found.best.empty()))
      if (!improve(tokens) && !best.found.best.empty()) break;
    return best;
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
                      than.unit_cap, than.token_cap));
      if (!longer.stopped && !Better(longer, best)) break;
      best = std::move(longer);
      if (best.stopped) break;
    }
    return best;
  }

  static bool Recomputes(const CapsSearch& search) {
    const std::vector<StageWork>& stages = search.found.best.front().stages;
    return std::any_of(stages.begin(), stages.end(),
                       [](const StageWork& stage) { return stage.recompute_ns > 0; });
  }

  // Shorter packs may need less recompute, or fit with other degrees, which no expected loss
  // counts. Halves the units while that is better, then tries a number between the best and the
  // next larger.
  CapsSearch LessRecompute(CapsSearch best) const {
    const std::vector<CapsChoice> choices = rule_.Shorter(level_);
    int64_t larger = best.batching.rule.unit_cap;
    const auto improve = [&](int64_t units) {
      if (best.stopped || !(Recomputes(best) || best.found.memory_binds)) return false;
      const BatchRule& than = best.batching.rule;
      const CapsChoice choice = rule_.Filled(*Nearest(choices, units));
      if (choice.caps.units == than.unit_cap || choice.caps.units >= larger) return false;
      CapsSearch other = Beating(
          choice, best,
          absl::StrFormat("the same batch has a shorter step than with packs of "
                          "%d units and %d tokens, which %s more",
                          than.unit_cap, than.token_cap, Recomputes(best) ? "recompute" : "hold"));
      if (!other.stopped && !Better(other, best)) return false;
      if (choice.caps.units < than.unit_cap) larger = than.unit_cap;
      best = std::move(other);
      return true;
    };
    for (++larger; improve(best.batching.rule.unit_cap / 2);) {
    }
    improve((best.batching.rule.unit_cap + larger) / 2);
    return best;
  }

  static std::vector<CapsChoice>::const_iterator Nearest(const std::vector<CapsChoice>& choices,
                                                         int64_t units) {
    return std::min_element(
        choices.begin(), choices.end(), [units](const CapsChoice& a, const CapsChoice& b) {
          return std::abs(a.caps.units - units) < std::abs(b.caps.units - units);
        });
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
    return Beating(
        choice, than,
        than.found.best.empty()
            ? "packs of " + text + " tokens do not fit in memory"
            : "the same batch has a shorter step than with packs of " + text + " tokens");
  }

  // Makes packs under these caps and searches for plans quicker than the best of `than`.
  CapsSearch Beating(const CapsChoice& choice, const CapsSearch& than, std::string reason) const {
    CapsSearch search;
    Enter(Phase::kBatchRule);
    search.batching = MakeBatching(job_, choice.caps, std::move(reason), hooks_.stop);
    const bool any = than.found.best.empty() || ExcessBatchError(than) > 0;
    Find(search, any ? 0 : than.found.best.front().simulated_ns);
    return search;
  }

  int64_t LongestSample() const {
    int64_t longest = 1;
    for (const LengthBin& bin : job_.dataset.bins) longest = std::max(longest, bin.llm_tokens);
    return longest;
  }

  // Searches the shortest packs, as level ones do not fit, and longer ones if those leave memory.
  CapsSearch WithoutLevel() const {
    const CapsChoice least = rule_.Filled(rule_.Shorter(level_).front());
    CapsSearch shortest = Search(least, "balanced packs of " + std::to_string(level_.caps.units) +
                                            " units do not fit in memory; these are the shortest");
    if (shortest.stopped || shortest.found.best.empty()) return shortest;
    const std::optional<CapsChoice> longer =
        Shorter(shortest, LongestThatFits(shortest), /*by_batch=*/false);
    if (!longer || longer->caps == least.caps) return shortest;
    CapsSearch better = Search(*longer, Reason(shortest, *longer));
    if (better.stopped || Better(better, shortest)) return better;
    return shortest;
  }

  // Returns the choice of least loss under the parallelism found; with `by_batch`, among those with
  // which a step's samples are as near to those asked for as can be.
  std::optional<CapsChoice> Shorter(const CapsSearch& search, int64_t most_tokens,
                                    bool by_batch) const {
    const std::vector<CapsChoice> choices = rule_.Shorter(level_);
    const CapsChoice* best = nullptr;
    for (const CapsChoice& c : choices) {
      if (c.caps.tokens > most_tokens) continue;
      if (best == nullptr || Promises(search, c, *best, by_batch)) best = &c;
    }
    if (best == nullptr) return std::nullopt;
    return best->caps == level_.caps ? *best : rule_.Filled(*best);
  }

  // Returns whether `choice` promises more than `than` does; with `by_batch`, in the order of
  // Better.
  bool Promises(const CapsSearch& search, const CapsChoice& choice, const CapsChoice& than,
                bool by_batch) const {
    if (!by_batch) return LossOf(search, choice).total() < LossOf(search, than).total();
    const int64_t data = search.found.best.front().parallelism.data;
    const auto error_of = [&](const CapsChoice& c) {
      const int64_t packs = data * MicroBatches(PacksPerStep(c), data);
      return ExcessBatchError(static_cast<double>(packs) * c.samples_per_pack);
    };
    const double error = error_of(choice), other = error_of(than);
    if (std::abs(error - other) > kBatchTolerance) return error < other;
    return Promises(search, choice, than, /*by_batch=*/false);
  }

  double PacksPerStep(const CapsChoice& choice) const {
    return static_cast<double>(job_.training.global_batch_samples) / choice.samples_per_pack;
  }

  Loss LossOf(const CapsSearch& search, const CapsChoice& choice) const {
    const Parallelism& p = search.found.best.front().parallelism;
    const PackTimes& times = search.batching.rule.pack_times;
    const PackShape& mean = search.batching.mean;
    const double language =
        times.language_per_token * mean.tokens + times.language_per_squared_token * mean.squared;
    const double share = language / (language + times.vision_per_unit.Dot(mean.units));
    const double packs = PacksPerStep(choice) / static_cast<double>(p.data);
    const double micro_batches = std::max(1.0, packs);
    return {static_cast<double>(p.pipeline - 1) / micro_batches,
            share * (choice.Imbalance(p.pipeline) + choice.Imbalance(p.data) / micro_batches),
            micro_batches / packs - 1};
  }

  std::string Reason(const CapsSearch& search, const CapsChoice& choice) const {
    const Loss loss = LossOf(search, choice), level = LossOf(search, level_);
    return absl::StrFormat(
        "packs of %d units and %d tokens are expected to lose %.1f%% to the pipeline bubble and "
        "%.1f%% to imbalance; balanced packs of %d units and %d tokens would lose %.1f%% and "
        "%.1f%%",
        choice.caps.units, choice.caps.tokens, 100 * loss.bubble, 100 * loss.imbalance,
        level_.caps.units, level_.caps.tokens, 100 * level.bubble, 100 * level.imbalance);
  }

  static std::string BatchReason(const CapsSearch& than) {
    return absl::StrFormat(
        "steps come nearer to the batch that was asked for than with packs of %d units and %d "
        "tokens",
        than.batching.rule.unit_cap, than.batching.rule.token_cap);
  }

  // Returns the tokens of the longest packs that fit on all stages if activations grow with tokens.
  int64_t LongestThatFits(const CapsSearch& search) const {
    const Candidate& best = search.found.best.front();
    const Batching& batching = search.batching;
    const LayerProfile profile = BuildLayerProfile(job_, best.parallelism, batching.mean,
                                                   batching.largest, {}, best.micro_batches);
    double growth = std::numeric_limits<double>::infinity();
    for (const StagePlan& s : StagePlans(job_, profile, best, hooks_.stop)) {
      growth = std::min(growth, static_cast<double>(s.free_bytes()) /
                                    static_cast<double>(s.memory.activations + s.memory.workspace));
    }
    return static_cast<int64_t>((1 + growth) * static_cast<double>(batching.rule.token_cap));
  }

  // Returns whether `search` found a better plan than `than`, which found one. The batch is the
  // caller's: no gain in time makes up for another one.
  bool Better(const CapsSearch& search, const CapsSearch& than) const {
    if (search.found.best.empty()) return false;
    const double error = ExcessBatchError(search), other = ExcessBatchError(than);
    if (std::abs(error - other) > kBatchTolerance) return error < other;
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
  const SearchWork limits_;
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
