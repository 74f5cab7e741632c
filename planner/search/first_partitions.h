// The first partition of each prospect: what mean packs choose in short.
#ifndef EVENKEEL_PLANNER_SEARCH_FIRST_PARTITIONS_H_
#define EVENKEEL_PLANNER_SEARCH_FIRST_PARTITIONS_H_

#include <cstdint>
#include <optional>

#include "planner/base/stop.h"
#include "planner/job.h"
#include "planner/search/entry.h"
#include "planner/search/prospects.h"

namespace evenkeel::planner {

class FirstPartitions {
 public:
  // Job and profiles must outlive it. Scores are scaled to the requested global batch, of
  // `packs_per_step`.
  FirstPartitions(const Job& job, Profiles& profiles, double packs_per_step, const Stop& stop)
      : job_(job), profiles_(profiles), packs_per_step_(packs_per_step), stop_(stop) {}

  // Of 1F1B the best by its closed form, or what a published method makes of it, with a bound on
  // all partitions; of other schedules the better of simple cuts. Adds the partial partitions that
  // it looks at to `examined`. nullopt: none of them fits, or `stop` says so.
  std::optional<Entry> Of(const Prospect& prospect, int64_t* examined);

  // Of schedules other than 1F1B a cut that fits (FittingChunks). nullopt: none was found.
  std::optional<Entry> Fitting(const Prospect& prospect);

  // What Of looks at, in segments or passes.
  int64_t WorkOf(const Prospect& prospect) const;

 private:
  const LayerProfile& ProfileOf(const Prospect& prospect);
  std::optional<Entry> EntryOf(const Prospect& prospect, std::optional<Candidate> found) const;
  std::optional<Entry> Partition(const Prospect& prospect, int64_t* examined);
  int64_t Scale(const Candidate& c, int64_t step_ns) const;

  const Job& job_;
  Profiles& profiles_;
  const double packs_per_step_;
  const Stop stop_;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_FIRST_PARTITIONS_H_
