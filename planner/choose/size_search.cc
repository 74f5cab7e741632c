#include "planner/choose/size_search.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "planner/base/integers.h"
#include "planner/candidates/parallelisms.h"
#include "planner/choose/keep_batch.h"

namespace evenkeel::planner {

SizeSearch::SizeSearch(const Job& job, int64_t alternatives, const PlanHooks& hooks,
                       const WorkLimits& limits)
    : job_(job),
      alternatives_(alternatives),
      hooks_(hooks),
      limits_(limits),
      brief_(limits.segments < kSideSearchLimits.segments),
      brief_limits_(brief_ ? limits : kSideSearchLimits) {}

CapsSearchResult SizeSearch::Whole(const Caps& caps, std::string reason) const {
  CapsSearchResult search;
  hooks_.Enter(Phase::kBatchRule);
  search.batching = MakeBatching(job_, caps, std::move(reason), hooks_.stop);
  search.stopped = hooks_.stop();
  if (search.stopped) return search;
  hooks_.Enter(Phase::kSearch);
  FindWhole(search);
  return search;
}

void SizeSearch::FindWhole(CapsSearchResult& search) const {
  Find(search, alternatives_, 0, limits_);
}

CapsSearchResult SizeSearch::Packed(const Caps& caps, const CapsSearchResult& than,
                                    std::string reason) const {
  CapsSearchResult search;
  hooks_.Enter(Phase::kBatchRule);
  search.batching = MakeBatching(job_, caps, std::move(reason), hooks_.stop);
  search.misses_batch = !MayKeepTheBatch(search.batching, than);
  return search;
}

CapsSearchResult SizeSearch::Brief(CapsSearchResult packed, const CapsSearchResult& than) const {
  FindBetter(packed, than, 0, brief_limits_);
  return packed;
}

CapsSearchResult SizeSearch::Beating(CapsSearchResult packed, const CapsSearchResult& than) const {
  FindBetter(packed, than, alternatives_, limits_);
  return packed;
}

void SizeSearch::FindBetter(CapsSearchResult& search, const CapsSearchResult& than,
                            int64_t alternatives, const WorkLimits& limits) const {
  if (search.misses_batch) return;
  const bool any = than.plans.best.empty() || MissesBatch(than);
  hooks_.Enter(Phase::kSearch);
  Find(search, alternatives, any ? 0 : than.plans.best.front().simulated_ns, limits);
}

void SizeSearch::Find(CapsSearchResult& search, int64_t alternatives, int64_t beat_ns,
                      const WorkLimits& limits) const {
  BatchSearchResult of_batch = SearchForBatch(job_, search.batching, alternatives, hooks_.stop,
                                              {.beat_ns = beat_ns}, limits);
  search.plans = std::move(of_batch.found);
  search.keeps_batch = of_batch.keeps_batch;
  search.stopped = search.plans.stopped;
  if (search.stopped || !of_batch.kept) return;
  CapsSearchResult kept{
      .batching = search.batching, .plans = *std::move(of_batch.kept), .keeps_batch = true};
  if (!kept_ || Better(kept, *kept_)) kept_ = std::move(kept);
}

std::optional<CapsSearchResult> SizeSearch::KeepingTheBatch(const CapsSearchResult& best) const {
  if (!kept_ || !Better(*kept_, best) || !KeepsBatch(BatchError(job_, best.batching, best.plans)))
    return std::nullopt;
  CapsSearchResult kept = *kept_;
  Job keeping = job_;
  keeping.training.keeps_batch = true;
  kept.plans = Search(keeping, kept.batching, alternatives_, hooks_.stop, {}, limits_);
  kept.stopped = kept.plans.stopped;
  return kept;
}

// Returns whether some degrees keep the batch about as well as the best of `than`: no others are
// better.
bool SizeSearch::MayKeepTheBatch(const Batching& batching, const CapsSearchResult& than) const {
  if (than.plans.best.empty()) return true;
  const double than_error = BatchError(job_, than.batching, than.plans);
  const bool keeps = KeepsBatch(than_error);
  const double packs = batching.packs_per_step(job_.training.global_batch_samples);
  const std::vector<Parallelism> all = Parallelisms(job_, packs);
  return std::any_of(all.begin(), all.end(), [&](const Parallelism& p) {
    const std::vector<int64_t> choices = MicroBatchChoices(packs, p);
    return std::any_of(choices.begin(), choices.end(), [&](int64_t micro_batches) {
      const double error =
          BatchError(job_, D(micro_batches * p.data) * batching.rule.samples_per_pack);
      return KeepsBatch(error) || (!keeps && error <= than_error + kSameBatchError);
    });
  });
}

bool SizeSearch::Better(const CapsSearchResult& search, const CapsSearchResult& than) const {
  if (search.plans.best.empty()) return false;
  const auto plan = [this](const CapsSearchResult& of) {
    return BatchPlan{BatchError(job_, of.batching, of.plans), GpuDaysOf(of)};
  };
  return than.plans.best.empty() || planner::Better(plan(search), plan(than));
}

bool SizeSearch::Take(CapsSearchResult& best, CapsSearchResult other) const {
  if (!other.stopped && !Better(other, best)) return false;
  best = std::move(other);
  return true;
}

bool SizeSearch::MissesBatch(const CapsSearchResult& search) const {
  return BatchError(job_, search.batching, search.plans) > kBatchTolerance;
}

double SizeSearch::GpuDaysOf(const CapsSearchResult& search) const {
  const Candidate& c = search.plans.best.front();
  return GpuDays(job_, c.step.total_ns(), search.batching.rule.packs, c);
}

}  // namespace evenkeel::planner
