// From what mean packs choose to the plan that real packs run.
#ifndef EVENKEEL_PLANNER_SEARCH_FINISH_H_
#define EVENKEEL_PLANNER_SEARCH_FINISH_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "planner/base/stop.h"
#include "planner/cost/layer_profile.h"
#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/partition/segment_table.h"
#include "planner/search/candidate.h"
#include "planner/search/chunked_partition.h"
#include "planner/simulate/step_simulation.h"

namespace evenkeel::planner {

// What finishing a candidate proved and cost.
struct Finished {
  int64_t bound_ns = 0;  // no plan of these degrees, schedule and packs per rank has a shorter step
                         // of mean packs; not scaled
  int64_t states = 0;    // partial partitions looked at
};

// Does to every candidate the same, whatever else is searched: a search whose constraints admit
// fewer degrees finishes those that are left exactly as one that admits all.
class Finisher {
 public:
  Finisher(const Job& job, const Batching& batching, const Stop& stop)
      : job_(job), batching_(batching), stop_(stop) {}

  // The packs of the sample as they are dealt to steps of so many.
  const std::vector<PackShape>& Packs(int64_t data, int64_t micro_batches);

  // Whether a better cut of the candidate is to be looked for before it is finished: chunks.
  bool Improves(const Candidate& c) const;
  // Makes the cut the best that moves of boundaries find for mean packs; gives its step, not
  // scaled. Adds to `work` the passes that this simulates, roughly.
  int64_t Improve(const LayerProfile& profile, Candidate& c, int64_t& work) const;
  // A few such moves, which tell whether the rest may pay.
  int64_t ImproveInShort(const LayerProfile& profile, Candidate& c, int64_t& work) const;

  // What a few real packs add to the step of mean packs, ns; and passes that this simulates.
  int64_t TryRealPacks(const Candidate& c);
  static constexpr int64_t kTryingWork = 20'000;

  // Passes that Finish simulates at most, roughly.
  int64_t WorkOf(const Candidate& c) const;

  // Fills in `step` with real packs, as the candidate stands.
  void Simulate(Candidate& c);

  // Of 1F1B: of the certified partition of mean packs, its neighbours, the given start and the
  // partitions of simpler methods the one that real packs run quickest. Fills in `step`. Where
  // `stop` says so the candidate is not finished.
  Finished Finish(const LayerProfile& profile, Candidate& c);

  // Fills in recompute and stages of the candidate's boundaries. False: they are not allowed, or do
  // not fit.
  static bool FillStages(const Segments& segments, Candidate& c);

 private:
  // Whether the partition is ours to prove: 1F1B, not cut by a published method.
  bool Certifies(const Candidate& c) const;
  Finished FinishPartition(const LayerProfile& profile, Candidate& c);
  SimulatedStep StepOf(const Candidate& c, int64_t events);

  const Job& job_;
  const Batching& batching_;
  const Stop stop_;
  std::map<std::pair<int64_t, int64_t>, std::vector<PackShape>> packs_;  // by ranks, packs per rank
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_FINISH_H_
