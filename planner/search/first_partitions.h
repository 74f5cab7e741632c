// Finds the first partition of each prospect, by mean packs and few events.
#ifndef EVENKEEL_PLANNER_SEARCH_FIRST_PARTITIONS_H_
#define EVENKEEL_PLANNER_SEARCH_FIRST_PARTITIONS_H_

#include <cstdint>
#include <optional>

#include "planner/base/stop.h"
#include "planner/candidates/prospects.h"
#include "planner/job.h"
#include "planner/search/contender.h"
#include "planner/search/setting_choices.h"

namespace evenkeel::planner {

class FirstPartitions {
 public:
  // Job, profiles and lists must outlive it. Scores are scaled to the requested global batch of
  // `packs_per_step` packs.
  FirstPartitions(const Job& job, Profiles& profiles, double packs_per_step, PassLists& lists,
                  const Stop& stop)
      : job_(job),
        profiles_(profiles),
        packs_per_step_(packs_per_step),
        lists_(lists),
        stop_(stop) {}

  // Returns the first partition, or nullopt if none fits or if stopped. For 1F1B, it is the best by
  // its closed form or a short certified search, or that of a published method, with a bound on all
  // partitions; otherwise, the better of simple cuts. Adds the partial partitions looked at to
  // `examined`.
  std::optional<Contender> PartitionFor(const Prospect& prospect, int64_t* examined);

  // Returns a cut that fits for schedules other than 1F1B (FittingChunks), or nullopt if none was
  // found.
  std::optional<Contender> Fitting(const Prospect& prospect, int64_t trying);

  // Returns nullopt unless a bound proves that every cut of this 1F1B prospect takes `limit` or
  // more. Otherwise says what may still be faster: kFits, a setting that recomputes more, because
  // memory excluded cuts; kSettled, no other setting; kPruned, no setting with a longer block. A
  // setting after which no longer block is tried always gives kPruned.
  std::optional<Tried> NoneBelow(int64_t limit, const Prospect& prospect);

  // Returns the work of PartitionFor: segments under 1F1B, otherwise simulated passes.
  int64_t WorkOf(const Prospect& prospect) const;

 private:
  const LayerProfile& ProfileOf(const Prospect& prospect);
  std::optional<Contender> ContenderOf(const Prospect& prospect,
                                       std::optional<Candidate> found) const;
  std::optional<Contender> Partition(const Prospect& prospect, int64_t* examined);
  int64_t Scale(const Candidate& c, int64_t step_ns) const;

  const Job& job_;
  Profiles& profiles_;
  const double packs_per_step_;
  PassLists& lists_;
  const Stop stop_;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_FIRST_PARTITIONS_H_
