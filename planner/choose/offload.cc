#include "planner/choose/offload.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "planner/choose/modules.h"
#include "planner/choose/offload_steps.h"
#include "planner/space/offload.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kWhole = 1000;  // shares of the optimizer are counted in thousandths

constexpr int kReductionsAtMost = 4;

double ShareOf(int64_t thousandths) {
  return static_cast<double>(thousandths) / static_cast<double>(kWhole);
}

// Divides ranges of amounts (thousandths of the optimizer, or layers), the most promising first.
// What a range can reach at best is a plan whose GPUs hold as little as with its upper end, and
// which pays only for its lower end.
class AmountSearch {
 public:
  AmountSearch(const Job& job, const StepToImprove& known, OffloadTrials& trials)
      : job_(job),
        trials_(trials),
        nothing_is_known_(known.of_nothing),
        of_layers_(job.training.activations.choose),
        most_(of_layers_ ? OffloadedLayersAtMost(job) : kWhole),
        best_ns_(known.ns) {}

  ChosenOffload Run() {
    trials_.ResetBudget();
    const int64_t amount = Best();
    return {With(amount, amount), best_ns_};
  }

 private:
  struct Range {
    int64_t low = 0, high = 0;  // amounts above the first, up to the second
    int64_t least = 0;          // that the plan needs which bounds the range
    int64_t bound_ns = 0;
    OpenDegrees open;
  };

  int64_t Best() {
    if (!nothing_is_known_) Try(0);
    if (AllOrNothing()) {
      Try(most_);
      return best_;
    }
    Open(0, most_, {});
    while (!ranges_.empty() && !trials_.OutOfBudget()) {
      const auto next =
          std::min_element(ranges_.begin(), ranges_.end(),
                           [](const Range& a, const Range& b) { return a.bound_ns < b.bound_ns; });
      const Range range = std::move(*next);
      ranges_.erase(next);
      if (!MayGain(range.bound_ns, best_ns_)) break;
      // The plan that bounds the range is known with its least amount.
      const int64_t middle = (range.low + range.least - 1) / 2;
      Open(range.least, range.high, range.open);
      Open(range.low, middle, range.open);
      Open(std::max(range.low, middle), range.least - 1, range.open);
    }
    if (best_ns_ == 0) Try(most_);
    if (best_ns_ == 0) return of_layers_ ? 0 : most_;
    Reduce();
    return best_;
  }

  // Returns the job with what its GPUs hold as with the first amount, and what is paid for as with
  // the second.
  Job With(int64_t moved, int64_t charged) const {
    if (of_layers_) return WithActivations(job_, moved, charged);
    Job with = WithOffload(job_, ShareOf(moved));
    with.training.offload.charged_ratio = ShareOf(charged);
    return with;
  }

  bool AllOrNothing() const {
    const Training& training = job_.training;
    if (of_layers_) return !training.trainer->activations.any_count;
    return OffloadSharesOf(*training.trainer, training.zero_stage) == OffloadShares::kWhole;
  }

  void Offer(int64_t amount, int64_t ns) {
    if (best_ns_ > 0 && (ns > best_ns_ || (ns == best_ns_ && amount >= best_))) return;
    best_ = amount, best_ns_ = ns;
  }

  void Try(int64_t amount) {
    const std::optional<PlanUnderOffload> search =
        trials_.For(With(amount, amount), StepToBeat(best_ns_), {});
    if (search) Offer(amount, search->best.simulated_ns);
  }

  // The plan found with the best amount may need less: repeats the search until it does not. Stops
  // at 0, where the search's recompute was free, so that its plan says nothing about other amounts.
  void Reduce() {
    for (int tries = 0; tries < kReductionsAtMost && best_ > 0 && !trials_.Stopped(); ++tries) {
      const int64_t amount = best_;
      const std::optional<PlanUnderOffload> search =
          trials_.For(With(amount, amount), best_ns_ + 1, open_);
      if (!search) return;
      const int64_t least = LeastAmount(*search, of_layers_ ? 0 : -1, amount);
      if (least == amount) return;
      const std::optional<int64_t> ns = StepWith(*search, least);
      if (ns) Offer(least, *ns);
      if (best_ == amount) return;
    }
  }

  void Open(int64_t low, int64_t high, const OpenDegrees& among) {
    if (low >= high || trials_.OutOfBudget()) return;
    std::optional<PlanUnderOffload> search =
        trials_.For(With(high, low), StepToBeat(best_ns_), among);
    if (!search) return;
    if (among.empty()) open_ = search->open;
    const int64_t amount = LeastAmount(*search, low, high);
    if (const std::optional<int64_t> ns = StepWith(*search, amount)) Offer(amount, *ns);
    ranges_.push_back({low, high, amount, search->best.simulated_ns, std::move(search->open)});
  }

  // Returns the least amount above `low` with which the candidate fits on the GPUs. It fits with
  // `high`.
  int64_t LeastAmount(const PlanUnderOffload& found, int64_t low, int64_t high) const {
    while (high - low > 1) {
      const int64_t middle = (low + high) / 2;
      (FitsOnGpus(With(middle, middle), found, trials_.stop()) ? high : low) = middle;
    }
    return high;
  }

  std::optional<int64_t> StepWith(const PlanUnderOffload& found, int64_t amount) const {
    return StepOf(With(amount, amount), found, trials_.stop());
  }

  const Job& job_;
  OffloadTrials& trials_;
  const bool nothing_is_known_;
  const bool of_layers_;  // else thousandths of the optimizer
  const int64_t most_;
  std::vector<Range> ranges_;  // that may hold a better amount
  OpenDegrees open_;           // of all amounts
  int64_t best_ = 0, best_ns_;
};

// Returns the job with nothing or all offloaded of what the planner may choose, and as much paid
// for.
Job WithExtreme(const Job& job, bool moved, bool charged) {
  Job with = job;
  if (job.training.offload.choose) {
    with = WithOffload(job, moved ? 1 : 0);
    with.training.offload.charged_ratio = charged ? 1 : 0;
  }
  if (!job.training.activations.choose) return with;
  if (job.training.activations.of_modules) {
    const OffloadModules given = job.training.activations.given_modules;
    const OffloadModules all = given != 0 ? given : ModulesBeside(OffloadModulesOf(job), {});
    return WithModules(with, moved ? all : 0, charged ? all : 0, {});
  }
  const int64_t most = OffloadedLayersAtMost(job);
  return WithActivations(with, moved ? most : 0, charged ? most : 0);
}

ChosenOffload WithBestActivations(const Job& job, const StepToImprove& known,
                                  OffloadTrials& trials) {
  return job.training.activations.of_modules ? WithBestModules(job, known, &trials)
                                             : AmountSearch(job, known, trials).Run();
}

// Chooses activations with all and with none of the optimizer on the GPU, and then its share with
// the better ones.
Job WithBestOfBoth(const Job& job, const StepToImprove& known, OffloadTrials& trials) {
  const ChosenOffload best = WithBestActivations(WithOffload(job, 0), known, trials);
  const ChosenOffload of_host =
      WithBestActivations(WithOffload(job, 1), {.ns = best.step_ns}, trials);
  if (best.step_ns == 0 || of_host.step_ns < best.step_ns)
    return AmountSearch(of_host.job, {}, trials).Run().job;
  return AmountSearch(best.job, {best.step_ns, /*of_nothing=*/true}, trials).Run().job;
}

}  // namespace

bool ChoosesOffload(const Job& job) {
  return job.training.offload.choose || job.training.activations.choose;
}

Job WithBestOffload(const Job& job, const PlanWithoutOffload& without, const PlanHooks& hooks) {
  OffloadTrials trials(hooks);
  if (without.batching != nullptr) trials.AddPacks(*without.batching);
  trials.AddPacksFor(WithExtreme(job, /*moved=*/true, /*charged=*/false));
  if (without.batching == nullptr)
    trials.AddPacksFor(WithExtreme(job, /*moved=*/true, /*charged=*/true));
  trials.AddPacksBetween(job);
  // Short searches find steps that are a little longer than those of the whole search.
  const StepToImprove known{without.step_ns + without.step_ns / 250,
                            /*of_nothing=*/without.step_ns > 0};
  if (!job.training.activations.choose) return AmountSearch(job, known, trials).Run().job;
  if (job.training.offload.choose) return WithBestOfBoth(job, known, trials);
  return WithBestActivations(job, known, trials).job;
}

std::optional<Job> WithoutChosenOffload(const Job& job) {
  const ActivationOffload& activations = job.training.activations;
  if (activations.choose && activations.given_modules != 0) return std::nullopt;
  return WithExtreme(job, /*moved=*/false, /*charged=*/false);
}

}  // namespace evenkeel::planner
