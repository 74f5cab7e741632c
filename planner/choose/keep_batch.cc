#include "planner/choose/keep_batch.h"

#include <cmath>
#include <utility>

#include "planner/base/integers.h"
#include "planner/candidates/parallelisms.h"
#include "planner/plan.h"

namespace evenkeel::planner {

double BatchError(const Job& job, double samples_per_step) {
  return std::abs(samples_per_step / D(job.training.global_batch_samples) - 1);
}

double BatchError(const Job& job, const Batching& batching, const SearchResult& found) {
  const Candidate& c = found.best.front();
  return BatchError(job, D(c.micro_batches * c.parallelism.data) * batching.rule.samples_per_pack);
}

bool KeepsBatch(double error) { return error <= kBatchTolerance + kSameBatchError; }

bool Better(const BatchPlan& plan, const BatchPlan& than) {
  const bool keeps = KeepsBatch(plan.error);
  if (keeps != KeepsBatch(than.error)) return keeps;
  if (!keeps && std::abs(plan.error - than.error) > kSameBatchError) return plan.error < than.error;
  return plan.gpu_days < than.gpu_days;
}

BatchSearchResult SearchForBatch(const Job& job, const Batching& batching, int64_t alternatives,
                                 const Stop& stop, const SearchScope& scope,
                                 const WorkLimits& limits) {
  BatchSearchResult search{.found = Search(job, batching, alternatives, stop, scope, limits)};
  SearchResult& found = search.found;
  if (found.stopped || found.best.empty() || job.training.keeps_batch) return search;
  const double error = BatchError(job, batching, found);
  if (error <= kBatchTolerance) return search;
  Job keeping = job;
  keeping.training.keeps_batch = true;
  const double packs = batching.packs_per_step(job.training.global_batch_samples);
  if (Parallelisms(keeping, packs).size() == Parallelisms(job, packs).size()) return search;
  SearchResult kept = Search(keeping, batching, alternatives, stop, scope, limits);
  found.stopped = kept.stopped;
  if (kept.stopped || kept.best.empty() || BatchError(job, batching, kept) >= error) return search;
  search.keeps_batch = D(kept.best.front().simulated_ns) <=
                       (1 + kDistinguishableRatio) * D(found.best.front().simulated_ns);
  if (search.keeps_batch)
    found = std::move(kept);
  else
    search.kept = std::move(kept);
  return search;
}

}  // namespace evenkeel::planner
