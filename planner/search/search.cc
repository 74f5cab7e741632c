#include "planner/search/search.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "planner/base/integers.h"
#include "planner/candidates/plan_order.h"
#include "planner/candidates/prospects.h"
#include "planner/cuts/least_memory.h"
#include "planner/search/contender.h"
#include "planner/search/finish.h"
#include "planner/search/first_partitions.h"
#include "planner/search/setting_choices.h"

namespace evenkeel::planner {
namespace {

constexpr size_t kPromising = 4;  // degrees that are named as such

// Returns the degrees in which listed plans differ: virtual stages apart.
auto DegreesOf(const Parallelism& p) {
  return std::tuple(p.tensor, p.context, p.pipeline, p.data, p.expert, p.encoder_data);
}

class Searcher {
 public:
  Searcher(const Job& job, const Batching& batching, const Stop& stop, const SearchScope& scope,
           const WorkLimits& limits)
      : job_(job),
        stop_(stop),
        among_(scope.among),
        limits_(limits),
        packs_per_step_(batching.packs_per_step(job.training.global_batch_samples)),
        incumbent_(scope, packs_per_step_, batching.rule.packs),
        profiles_(job, batching),
        first_(job, profiles_, packs_per_step_, lists_, stop),
        finisher_(job, batching, lists_, stop) {}

  SearchResult Run(int64_t alternatives) {
    Begin();
    if (Stopped() || contenders_.empty()) return std::move(result_);
    ImproveContenders();
    FinishContenders();
    ListBetter();
    if (Stopped() || !best_) return std::move(result_);
    ListBest(alternatives);
    Stopped();
    return std::move(result_);
  }

  bool Fits() {
    first_is_enough_ = true;
    Begin();
    return !Stopped() && !contenders_.empty();
  }

 private:
  bool Stopped() {
    result_.stopped = result_.stopped || stop_();
    return result_.stopped;
  }

  // Finds a first partition of each parallelism that may be the best.
  void Begin() {
    std::vector<Prospect> prospects = Prospects(job_, packs_per_step_, among_, profiles_, stop_);
    // The most promising come first, so that the bound prunes most of the others.
    if (OneSetting()) {
      ConsiderSettings(prospects);
      return FitDeferred();
    }
    std::stable_sort(
        prospects.begin(), prospects.end(), [this](const Prospect& a, const Prospect& b) {
          stop_.Spend(40);
          return incumbent_.OrderOf(a, a.estimate_ns) < incumbent_.OrderOf(b, b.estimate_ns);
        });
    for (const Prospect& prospect : prospects) {
      if (Done()) return;
      Consider(prospect);
    }
    FitDeferred();
  }

  // Each setting that may be the best counts as a prospect of its own.
  void ConsiderSettings(const std::vector<Prospect>& prospects) {
    SettingQueue queue(job_, profiles_, [this](const Prospect& prospect) {
      stop_.Spend(40);
      return incumbent_.OrderOf(prospect, prospect.estimate_ns);
    });
    for (const Prospect& prospect : prospects) queue.Add(prospect);
    while (const std::optional<Prospect> next = queue.Next()) {
      if (Done()) return;
      const bool open =
          !next->setting && incumbent_.Wants(*next, next->bound_ns) && MayFit(job_, *next);
      if (open) {
        queue.Expand();
        continue;
      }
      const Tried tried = Consider(*next);
      if (!next->setting) continue;
      queue.Report(tried);
      if (next->setting == RecomputeSetting{} && tried != Tried::kSettled)
        result_.memory_binds = true;
    }
  }

  bool Done() { return Stopped() || (first_is_enough_ && !contenders_.empty()); }

  void Bound(int64_t scaled_ns) {
    int64_t& lower = result_.proof.lower_bound_ns;
    if (lower == 0 || scaled_ns < lower) lower = scaled_ns;
  }

  Tried Prune(const Prospect& prospect, int64_t bound_ns, Tried tried = Tried::kPruned) {
    ++result_.proof.parallelisms_pruned;
    pruned_.push_back(prospect);
    Bound(incumbent_.Scale(prospect, bound_ns));
    return tried;
  }

  bool OneSetting() const { return job_.constraints.recompute == RecomputePolicy::kOneSetting; }

  Tried Consider(const Prospect& prospect) {
    Proof& proof = result_.proof;
    ++proof.parallelisms;
    if (!MayFit(job_, prospect)) {
      ++proof.parallelisms_unfit;
      return Tried::kUnfit;
    }
    if (!incumbent_.Wants(prospect, prospect.bound_ns)) return Prune(prospect, prospect.bound_ns);
    const int64_t work = first_.WorkOf(prospect);
    // One stage has one cut. Nothing that pipelines spend may leave it unsearched.
    const bool one_stage = prospect.parallelism.pipeline == 1;
    int64_t& spent = one_stage ? one_stage_work_ : work_;
    const int64_t most = one_stage ? limits_.one_stage_segments : limits_.segments;
    if (work > most - spent && !contenders_.empty()) return LeaveUnsearched(prospect);
    spent += work;
    if (prospect.longer_block && (longer_blocks_ += work) > limits_.longer_block_segments)
      return LeaveUnsearched(prospect);
    const int64_t limit = incumbent_.PruneAt(prospect);
    if (const std::optional<Tried> none_below = first_.NoneBelow(limit, prospect))
      return Prune(prospect, limit, *none_below);
    std::optional<Contender> contender = first_.PartitionFor(prospect, &proof.partitions_examined);
    if (Stopped()) return Tried::kUnfit;
    if (contender) {
      const bool settled = !contender->memory_binds;
      AddContender(std::move(*contender));
      return settled ? Tried::kSettled : Tried::kFits;
    }
    const bool chunks = prospect.schedule != Schedule::kOneFOneB;
    if (chunks) spent -= work;  // nothing was simulated
    if (!chunks) ++proof.parallelisms_unfit;
    if (chunks && LooksForFittingCut(prospect)) {
      deferred_.push_back(prospect);
      return Tried::kPutOff;
    }
    if (chunks) Bound(incumbent_.Scale(prospect, prospect.bound_ns));
    return Tried::kUnfit;
  }

  // Returns true for the settings that hold least, and for no recompute, which repeats nothing.
  // Other settings take long and gain little. The bound covers their gain by uneven cuts.
  static bool LooksForFittingCut(const Prospect& prospect) {
    return !prospect.setting || prospect.setting->block >= RecomputeSetting::kEveryLayer ||
           prospect.setting == RecomputeSetting{};
  }

  // Looks for cuts that fit where the simple cuts of chunks do not. This is slow, so it waits until
  // the best of the others tells how much they must promise.
  void FitDeferred() {
    for (const Prospect& prospect : deferred_) {
      if (Done()) return;
      if (!MayBeBest(prospect, prospect.bound_ns)) {
        Prune(prospect, prospect.bound_ns);
        continue;
      }
      std::optional<Contender> contender = FittingContender(prospect);
      if (Stopped()) return;
      if (contender) {
        contender->fitted = prospect.setting == RecomputeSetting{};
        AddContender(std::move(*contender));
      } else {
        LeaveUnsearched(prospect);  // that no cut was found says nothing about others
      }
    }
  }

  // Simulates the quickest contender so far with real packs, to tell how much the others must
  // promise.
  void SimulateIfQuickest(Contender& contender) {
    const PlanOrder order = incumbent_.OrderOf(contender.candidate, contender.score_ns);
    if (!contenders_.empty() && !(order < best_score_)) return;
    best_score_ = order;
    finisher_.Simulate(contender.candidate);
  }

  void AddContender(Contender contender) {
    SimulateIfQuickest(contender);
    contenders_.push_back(std::move(contender));
    Offer(contenders_.size() - 1);
  }

  Tried LeaveUnsearched(const Prospect& prospect) {
    ++result_.proof.parallelisms_unsearched;
    result_.proof.end = SearchEnd::kWorkLimit;
    Bound(incumbent_.Scale(prospect, prospect.bound_ns));
    return Tried::kPutOff;
  }

  // Returns a cut of chunks that fits, within the work left, or nullopt if none was found.
  std::optional<Contender> FittingContender(const Prospect& prospect) {
    const Parallelism& p = prospect.parallelism;
    fitting_ += prospect.profile->size() * p.pipeline * p.virtual_stages;
    if (best_ && fitting_ > limits_.fitting) return std::nullopt;
    return first_.Fitting(prospect, best_ ? limits_.trying_cuts : kCutsTried);
  }

  // Makes the contender the best if it was simulated and beats the best so far.
  void Offer(size_t at) {
    const Candidate& c = contenders_[at].candidate;
    const int64_t step = c.step.total_ns();
    if (step == 0 || !incumbent_.BeatenBy(c, step)) return;
    best_ = at;
    incumbent_.Replace(c, step);
  }

  // Sorts contenders by best_known_ns.
  void SortByStep(std::vector<size_t>& contenders) const {
    std::stable_sort(contenders.begin(), contenders.end(), [this](size_t a, size_t b) {
      return incumbent_.OrderOf(contenders_[a].candidate, contenders_[a].best_known_ns()) <
             incumbent_.OrderOf(contenders_[b].candidate, contenders_[b].best_known_ns());
    });
  }

  // Returns all contenders in that order.
  std::vector<size_t> InOrder() const {
    std::vector<size_t> order(contenders_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    SortByStep(order);
    return order;
  }

  // Looks for better cuts of chunks than the simple ones, by mean packs. Moves may make a cut that
  // merely fits much quicker, so such cuts have a work limit of their own.
  void ImproveContenders() {
    TryRealPacks();
    for (const bool fitted : {false, true}) {
      int64_t work = 0;
      for (const size_t at : InOrder()) {
        if (Stopped()) return;
        if (contenders_[at].fitted != fitted || !MayImprove(at)) continue;
        if (work <= (fitted ? limits_.improving_fitted_briefly : limits_.improving_briefly))
          ImproveBriefly(at, work);
      }
      work = 0;
      for (const size_t at : InOrder()) {
        if (Stopped()) return;
        if (contenders_[at].fitted != fitted || !MayImprove(at)) continue;
        if (work <= (fitted ? limits_.improving_fitted : limits_.improving)) Improve(at, work);
      }
    }
  }

  // Mean packs hide the cost of uneven ones. A few real ones tell which contenders come first.
  void TryRealPacks() {
    int64_t work = 0;
    for (const size_t at : InOrder()) {
      if (Stopped()) return;
      Contender& c = contenders_[at];
      if (c.candidate.step.total_ns() > 0 || !MayBeBest(c.candidate, c.bound_ns)) continue;
      work += Finisher::kTryingWork;
      if (work > limits_.trying) return;
      c.uneven_ns = finisher_.TryRealPacks(c.candidate);
    }
  }

  bool MayImprove(size_t at) {
    Contender& c = contenders_[at];
    c.improved = c.improved || c.score_ns - c.bound_ns <= c.bound_ns / kTooCloseToImprove;
    return finisher_.Improves(c.candidate) && !c.improved && MayBeBest(c.candidate, c.bound_ns);
  }

  void ImproveBriefly(size_t at, int64_t& work) {
    ImproveCut(contenders_[at], &Finisher::ImproveBriefly, work);
    SimulateIfQuickest(contenders_[at]);
    Offer(at);
  }

  void Improve(size_t at, int64_t& work) {
    ImproveCut(contenders_[at], &Finisher::Improve, work);
    contenders_[at].improved = true;
  }

  void ImproveCut(Contender& c, decltype(&Finisher::Improve) improve, int64_t& work) {
    Candidate before = c.candidate;
    c.candidate.step = {};
    const LayerProfile& profile = profiles_.EntryFor(before).profile;
    c.score_ns = (finisher_.*improve)(profile, c.candidate, work);
    c.candidate.score_ns = incumbent_.Scale(c.candidate, c.score_ns);
    if (c.candidate.boundaries == before.boundaries && c.candidate.recomputed == before.recomputed)
      c.candidate.step = before.step;
    else
      c.earlier.push_back(std::move(before));
  }

  // Finishes all that may still be the best, the most promising first.
  void FinishContenders() {
    int64_t finished = 0, work = 0;
    for (const size_t at : InOrder()) {
      if (Stopped()) return;
      Contender& c = contenders_[at];
      if (at == best_ || MayBeBest(c.candidate, c.bound_ns)) {
        work += finisher_.WorkOf(c.candidate);
        const bool cut = c.improved || !finisher_.Improves(c.candidate);
        const bool finishes =
            at == best_ || finished < limits_.finished_at_least || work <= limits_.finishing;
        if (finishes) {
          ++finished;
          Finish(c, &result_.proof);
          Offer(at);
        }
        if (!finishes || !cut) {
          ++result_.proof.parallelisms_unrefined;
          result_.proof.end = SearchEnd::kWorkLimit;
        }
      }
      Bound(incumbent_.Scale(c.candidate, c.bound_ns));
    }
  }

  void ListBetter() {
    for (const Contender& c : contenders_) {
      if (!incumbent_.InScope(c.candidate, c.best_known_ns())) continue;
      std::vector<Parallelism>& better = result_.better;
      const Parallelism& p = c.candidate.parallelism;
      if (std::find(better.begin(), better.end(), p) == better.end()) better.push_back(p);
    }
  }

  template <typename Choice>
  bool MayBeBest(const Choice& c, int64_t bound_ns) {
    if (!incumbent_.Wants(c, bound_ns)) return false;
    return incumbent_.Wants(c, finisher_.RealBound(profiles_.EntryFor(c.parallelism).profile,
                                                   c.parallelism, c.micro_batches));
  }

  void Finish(Contender& c, Proof* proof) {
    const LayerProfile& profile = profiles_.EntryFor(c.candidate).profile;
    const Finished finished = finisher_.Finish(profile, c.candidate, /*proven=*/proof != nullptr);
    c.finished = true;
    for (Candidate& cut : c.earlier) {
      // No cut runs real packs quicker than mean packs.
      if (cut.score_ns >= incumbent_.Scale(c.candidate, c.candidate.step.total_ns())) continue;
      if (cut.step.total_ns() == 0) finisher_.Simulate(cut);
      if (cut.step.total_ns() < c.candidate.step.total_ns()) std::swap(cut, c.candidate);
    }
    if (proof == nullptr) return;
    c.bound_ns = std::max(c.bound_ns, finished.bound_ns);
    proof->partitions_examined += finished.states;
  }

  // Lists the plan and the best of other degrees, which change neither the plan nor its proof.
  void ListBest(int64_t alternatives) {
    std::vector<size_t> others = BestOfOtherDegrees();
    result_.promising = {contenders_[*best_].candidate.parallelism};
    for (size_t i = 0; i < others.size() && i + 1 < kPromising; ++i)
      result_.promising.push_back(contenders_[others[i]].candidate.parallelism);
    std::vector<std::pair<Parallelism, int64_t>> tried;  // with packs per rank
    const size_t wanted = static_cast<size_t>(alternatives);
    for (size_t i = 0; others.size() < wanted && i < pruned_.size(); ++i) {
      const auto degrees = DegreesOf(pruned_[i].parallelism);
      const bool known =
          std::any_of(contenders_.begin(), contenders_.end(), [&](const Contender& contender) {
            return DegreesOf(contender.candidate.parallelism) == degrees;
          });
      const std::pair packs(pruned_[i].parallelism, pruned_[i].micro_batches);
      if (known || std::find(tried.begin(), tried.end(), packs) != tried.end()) continue;
      tried.push_back(packs);
      std::optional<Contender> contender = AnyOf(pruned_[i]);
      if (Stopped()) return;
      if (!contender) continue;
      contenders_.push_back(std::move(*contender));
      others.push_back(contenders_.size() - 1);
    }
    others.resize(std::min(others.size(), wanted));
    for (size_t& at : others) {
      if (Stopped()) return;
      if (contenders_[at].finished) continue;
      if (finisher_.Improves(contenders_[at].candidate) && !contenders_[at].improved) {
        int64_t uncounted = 0;
        Improve(at, uncounted);
      }
      Finish(contenders_[at], nullptr);
    }
    SortByStep(others);
    others.insert(others.begin(), *best_);
    for (const size_t at : others) {
      Candidate& c = contenders_[at].candidate;
      c.simulated_ns = incumbent_.Scale(c, c.step.total_ns());
      result_.best.push_back(std::move(c));
    }
  }

  // Returns a partition of a pruned prospect, if there is one. It does not count in the proof.
  std::optional<Contender> AnyOf(const Prospect& prospect) {
    const bool chunks = prospect.schedule != Schedule::kOneFOneB;
    int64_t examined = 0;
    std::optional<Contender> best;
    if (OneSetting()) {
      std::vector<Prospect> choices = SettingChoices(job_, prospect, profiles_);
      std::stable_sort(choices.begin(), choices.end(), [](const Prospect& a, const Prospect& b) {
        return a.estimate_ns < b.estimate_ns;
      });
      for (const Prospect& choice : choices) {
        if (best && choice.bound_ns >= best->score_ns) continue;
        std::optional<Contender> contender = first_.PartitionFor(choice, &examined);
        if (contender && (!best || contender->score_ns < best->score_ns))
          best = std::move(contender);
      }
      if (!best && chunks)
        best = FittingContender(WithSetting(job_, EveryLayer(), prospect, profiles_));
      return best;
    }
    best = first_.PartitionFor(prospect, &examined);
    if (!best && chunks) best = FittingContender(prospect);
    return best;
  }

  // Returns the best known contender of each choice of degrees but the plan's, the best first.
  std::vector<size_t> BestOfOtherDegrees() const {
    std::vector<size_t> distinct;
    for (const size_t at : InOrder()) {
      const auto degrees = DegreesOf(contenders_[at].candidate.parallelism);
      const auto same = [&](size_t other) {
        return DegreesOf(contenders_[other].candidate.parallelism) == degrees;
      };
      if (!same(*best_) && std::none_of(distinct.begin(), distinct.end(), same))
        distinct.push_back(at);
    }
    return distinct;
  }

  const Job& job_;
  const Stop stop_;
  const std::vector<Parallelism>* const among_;
  const WorkLimits limits_;
  const double packs_per_step_;
  Incumbent incumbent_;
  Profiles profiles_;
  PassLists lists_;
  FirstPartitions first_;
  Finisher finisher_;
  bool first_is_enough_ = false;       // one contender that fits will do
  int64_t work_ = 0;                   // segments and passes looked at
  int64_t one_stage_work_ = 0;         // the same, without a pipeline
  int64_t fitting_ = 0;                // work on cuts that fit, in layers x segments
  int64_t longer_blocks_ = 0;          // work on longer blocks of whole layers
  std::vector<Contender> contenders_;  // with the partitions that mean packs chose
  std::vector<Prospect> deferred_;     // whose simple cuts do not fit
  std::vector<Prospect> pruned_;       // by their bound, the most promising first
  std::optional<size_t> best_;         // of the contenders, by real packs
  PlanOrder best_score_;
  SearchResult result_;
};

}  // namespace

SearchResult Search(const Job& job, const Batching& batching, int64_t alternatives,
                    const Stop& stop, const SearchScope& scope, const WorkLimits& limits) {
  return Searcher(job, batching, stop, scope, limits).Run(alternatives);
}

bool FitsWithPacks(const Job& job, const Batching& batching, const Stop& stop) {
  return Searcher(job, batching, stop, {}, {}).Fits();
}

}  // namespace evenkeel::planner
