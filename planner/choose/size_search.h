// Searches plans for packs of one size after another.
#ifndef EVENKEEL_PLANNER_CHOOSE_SIZE_SEARCH_H_
#define EVENKEEL_PLANNER_CHOOSE_SIZE_SEARCH_H_

#include <cstdint>
#include <optional>
#include <string>

#include "planner/candidates/work_limits.h"
#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/plan_hooks.h"
#include "planner/search/search.h"

namespace evenkeel::planner {

// Plans for packs under some caps.
struct CapsSearchResult {
  Batching batching;
  SearchResult plans;
  bool keeps_batch =
      false;  // `plans` is the best of the degrees that keep the batch (BatchSearchResult)
  bool misses_batch = false;  // not searched, because all degrees miss the batch
  bool stopped = false;       // then nothing else is valid

  Caps caps() const { return {batching.rule.unit_cap, batching.rule.token_cap}; }
};

// Not thread-safe.
class SizeSearch {
 public:
  // `alternatives` and `limits` are those of whole searches. Job and hooks must outlive it.
  SizeSearch(const Job& job, int64_t alternatives, const PlanHooks& hooks,
             const WorkLimits& limits);

  // Makes packs under these caps and searches for the best plans and their alternatives.
  CapsSearchResult Whole(const Caps& caps, std::string reason) const;
  // The same for packs that were made already.
  void FindWhole(CapsSearchResult& search) const;

  // Makes packs under these caps. Sets `misses_batch` if no plan for them can be better than the
  // best of `than`, because of the batch.
  CapsSearchResult Packed(const Caps& caps, const CapsSearchResult& than,
                          std::string reason = "") const;
  // Searches, unless packs miss the batch, for plans quicker than the best of `than`: briefly, or
  // as whole searches do.
  CapsSearchResult Brief(CapsSearchResult packed, const CapsSearchResult& than) const;
  CapsSearchResult Beating(CapsSearchResult packed, const CapsSearchResult& than) const;

  // Returns whether whole searches are no longer than brief ones.
  bool brief() const { return brief_; }

  // Returns whether `search` found a better plan than `than`.
  bool Better(const CapsSearchResult& search, const CapsSearchResult& than) const;
  // Takes `other` if it is better or was stopped. Returns whether it did.
  bool Take(CapsSearchResult& best, CapsSearchResult other) const;
  // Returns whether a step of the best plan misses the batch by more than the tolerance.
  bool MissesBatch(const CapsSearchResult& search) const;
  double GpuDaysOf(const CapsSearchResult& search) const;

  // The batch decides between sizes. So where the best size keeps it, a plan of another size that
  // keeps it counts too, even if that size has quicker plans that do not. Searches for the best of
  // these. Returns nothing if `best` is better, or does not keep the batch.
  std::optional<CapsSearchResult> KeepingTheBatch(const CapsSearchResult& best) const;

 private:
  void Find(CapsSearchResult& search, int64_t alternatives, int64_t beat_ns,
            const WorkLimits& limits) const;
  void FindBetter(CapsSearchResult& search, const CapsSearchResult& than, int64_t alternatives,
                  const WorkLimits& limits) const;
  bool MayKeepTheBatch(const Batching& batching, const CapsSearchResult& than) const;

  const Job& job_;
  const int64_t alternatives_;
  const PlanHooks& hooks_;
  const WorkLimits limits_;
  const bool brief_;
  const WorkLimits brief_limits_;
  mutable std::optional<CapsSearchResult> kept_;  // the best of BatchSearchResult::kept
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CHOOSE_SIZE_SEARCH_H_
