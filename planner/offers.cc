#include "planner/offers.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "planner/candidates/parallelisms.h"
#include "planner/cost/model_flops.h"

namespace evenkeel::planner {
namespace {

// Returns the mean sample as a pack, and the number of samples in *count.
PackShape MeanSample(const Dataset& dataset, double* count) {
  PackShape sum;
  *count = 0;
  for (const LengthBin& bin : dataset.bins) {
    const double n = static_cast<double>(bin.count), tokens = static_cast<double>(bin.llm_tokens);
    sum.units += n * bin.units.As<double>();
    sum.tokens += n * tokens;
    sum.squared += n * tokens * tokens;
    *count += n;
  }
  return sum / *count;
}

class Comparison {
 public:
  Comparison(const std::vector<Job>& jobs, const PlanHooks& hooks)
      : jobs_(jobs), hooks_(hooks), objective_(jobs.front().objective) {}

  Offers Run() {
    std::vector<size_t> order(jobs_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    if (Fewest()) {
      std::stable_sort(order.begin(), order.end(), [this](size_t a, size_t b) {
        return jobs_[a].cluster.gpu_count < jobs_[b].cluster.gpu_count;
      });
    }
    for (const size_t job : order) {
      result_.offers.push_back(Plan(job));
      if (result_.end != PlanEnd::kComplete) return std::move(result_);
      if (Fewest() && result_.offers.back().meets_deadline) break;
    }
    std::stable_sort(result_.offers.begin(), result_.offers.end(),
                     [this](const Offer& a, const Offer& b) { return Key(a) < Key(b); });
    return std::move(result_);
  }

 private:
  bool Fewest() const { return objective_.kind == ObjectiveKind::kFewestGpus; }

  Offer Plan(size_t index) {
    const Job& job = jobs_[index];
    Offer offer{.job = index};
    result_.end = PlanEnd::kComplete;
    // A larger number of packs per step can only rule out parallelisms, so it is enough to try 1.
    offer.possible = !Parallelisms(job, 1).empty();
    if (!offer.possible) return offer;
    const double deadline = objective_.deadline_seconds;
    offer.too_few = Fewest() && deadline > 0 && LeastTrainingSeconds(job) > deadline;
    if (offer.too_few) return offer;
    PlanResult planned = MakePlan(job, hooks_);
    result_.end = planned.end;
    result_.faults = std::move(planned.faults);
    if (planned.end != PlanEnd::kComplete) return offer;
    offer.plan = std::move(planned.plan);
    if (offer.fits()) {
      Fill(job, offer);
      offer.meets_deadline = deadline <= 0 || offer.seconds <= deadline;
    }
    return offer;
  }

  static void Fill(const Job& job, Offer& offer) {
    const Prediction& p = offer.plan->prediction;
    offer.seconds = p.epoch_seconds * static_cast<double>(job.training.epochs);
    offer.gpu_days = p.gpu_days;
    offer.cost = p.cost;
    const std::optional<Goodput>& goodput = offer.plan->goodput;
    if (!goodput) return;
    offer.seconds = goodput->seconds;
    offer.gpu_days = goodput->gpu_days;
    offer.cost = goodput->cost;
  }

  // Smaller is better.
  using SortKey = std::tuple<int, bool, double, double>;
  SortKey Key(const Offer& offer) const {
    const Cluster& cluster = jobs_[offer.job].cluster;
    const int rank = offer.meets_deadline ? 0 : offer.fits() ? 1 : offer.possible ? 2 : 3;
    if (!offer.fits()) return {rank, false, 0, 0};
    switch (objective_.kind) {
      case ObjectiveKind::kStepTime:
        break;
      case ObjectiveKind::kGpuDays:
        return {rank, false, offer.gpu_days, offer.seconds};
      case ObjectiveKind::kFewestGpus:
        // Among plans that miss the deadline, the one that comes nearest is the best.
        if (rank > 0) break;
        return {rank, false, static_cast<double>(cluster.gpu_count), offer.seconds};
      case ObjectiveKind::kCost:
        return {rank, cluster.price_per_gpu_hour <= 0, offer.cost, offer.seconds};
    }
    return {rank, false, offer.seconds, offer.gpu_days};
  }

  const std::vector<Job>& jobs_;
  const PlanHooks& hooks_;
  const Objective objective_;
  Offers result_;
};

}  // namespace

Offers CompareOffers(const std::vector<Job>& jobs, const PlanHooks& hooks) {
  if (jobs.empty()) return {.end = PlanEnd::kComplete};
  return Comparison(jobs, hooks).Run();
}

double LeastTrainingSeconds(const Job& job) {
  double samples = 0;
  const PackShape sample = MeanSample(job.dataset, &samples);
  const double seconds =
      LeastSeconds(job, sample, samples * static_cast<double>(job.training.epochs));
  return std::min(1.0, job.calibration.step.value) * seconds;
}

}  // namespace evenkeel::planner
