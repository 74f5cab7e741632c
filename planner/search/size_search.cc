#include "planner/search/size_search.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "planner/base/integers.h"
#include "planner/search/keep_batch.h"
#include "planner/search/ladder.h"
#include "planner/search/parallelisms.h"

namespace evenkeel::planner {

SizeSearch::SizeSearch(const Job& job, int64_t alternatives, const PlanHooks& hooks,
                       const WorkLimits& limits)
    : job_(job),
      alternatives_(alternatives),
      hooks_(hooks),
      limits_(limits),
      brief_(limits.segments < kSideSearchLimits.segments),
      brief_limits_(brief_ ? limits : kSideSearchLimits) {}

CapsSearch SizeSearch::Whole(const Caps& caps, std::string reason) const {
  CapsSearch search;
  Enter(Phase::kBatchRule);
  search.batching = MakeBatching(job_, caps, std::move(reason), hooks_.stop);
  search.stopped = hooks_.stop && hooks_.stop();
  if (search.stopped) return search;
  Enter(Phase::kSearch);
  FindWhole(search);
  return search;
}

void SizeSearch::FindWhole(CapsSearch& search) const { Find(search, alternatives_, 0, limits_); }

CapsSearch SizeSearch::Packed(const Caps& caps, const CapsSearch& than, std::string reason) const {
  CapsSearch search;
  Enter(Phase::kBatchRule);
  search.batching = MakeBatching(job_, caps, std::move(reason), hooks_.stop);
  search.misses_batch = !MayKeepTheBatch(search.batching, than);
  return search;
}

CapsSearch SizeSearch::Brief(CapsSearch packed, const CapsSearch& than) const {
  FindBetter(packed, than, 0, brief_limits_);
  return packed;
}

CapsSearch SizeSearch::Beating(CapsSearch packed, const CapsSearch& than) const {
  FindBetter(packed, than, alternatives_, limits_);
  return packed;
}

void SizeSearch::FindBetter(CapsSearch& search, const CapsSearch& than, int64_t alternatives,
                            const WorkLimits& limits) const {
  if (search.misses_batch) return;
  const bool any = than.found.best.empty() || MissesBatch(than);
  Enter(Phase::kSearch);
  Find(search, alternatives, any ? 0 : than.found.best.front().simulated_ns, limits);
}

void SizeSearch::Find(CapsSearch& search, int64_t alternatives, int64_t beat_ns,
                      const WorkLimits& limits) const {
  BatchSearch of_batch =
      SearchForBatch(job_, search.batching, alternatives, hooks_.stop, beat_ns, limits);
  search.found = std::move(of_batch.found);
  search.keeps_batch = of_batch.keeps_batch;
  search.stopped = search.found.stopped;
  if (search.stopped || !of_batch.kept) return;
  CapsSearch kept{
      .batching = search.batching, .found = *std::move(of_batch.kept), .keeps_batch = true};
  if (!kept_ || Better(kept, *kept_)) kept_ = std::move(kept);
}

std::optional<CapsSearch> SizeSearch::KeepingTheBatch(const CapsSearch& best) const {
  if (!kept_ || !Better(*kept_, best) || !KeepsBatch(BatchError(job_, best.batching, best.found)))
    return std::nullopt;
  CapsSearch kept = *kept_;
  Job keeping = job_;
  keeping.training.keeps_batch = true;
  kept.found = Search(keeping, kept.batching, alternatives_, hooks_.stop, 0, limits_);
  kept.stopped = kept.found.stopped;
  return kept;
}

// Returns whether some degrees keep the batch about as well as the best of `than`: no others are
// better.
bool SizeSearch::MayKeepTheBatch(const Batching& batching, const CapsSearch& than) const {
  if (than.found.best.empty()) return true;
  const double than_error = BatchError(job_, than.batching, than.found);
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

bool SizeSearch::Better(const CapsSearch& search, const CapsSearch& than) const {
  if (search.found.best.empty()) return false;
  const auto plan = [this](const CapsSearch& of) {
    return BatchPlan{BatchError(job_, of.batching, of.found), GpuDaysOf(of)};
  };
  return than.found.best.empty() || planner::Better(plan(search), plan(than));
}

bool SizeSearch::Take(CapsSearch& best, CapsSearch other) const {
  if (!other.stopped && !Better(other, best)) return false;
  best = std::move(other);
  return true;
}

bool SizeSearch::MissesBatch(const CapsSearch& search) const {
  return BatchError(job_, search.batching, search.found) > kBatchTolerance;
}

double SizeSearch::GpuDaysOf(const CapsSearch& search) const {
  const Candidate& c = search.found.best.front();
  return GpuDays(job_, c.step.total_ns(), D(search.batching.rule.packs), c);
}

}  // namespace evenkeel::planner
