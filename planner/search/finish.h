// Turns a cut that mean packs chose into the plan that real packs run.
#ifndef EVENKEEL_PLANNER_SEARCH_FINISH_H_
#define EVENKEEL_PLANNER_SEARCH_FINISH_H_

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "planner/base/stop.h"
#include "planner/candidates/candidate.h"
#include "planner/cost/layer_profile.h"
#include "planner/cuts/chunked_partition.h"
#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/packing/dealt_packs.h"
#include "planner/partition/segment_table.h"
#include "planner/simulate/step_simulation.h"

namespace evenkeel::planner {

// The bound that finishing a candidate proved, and the work that it took.
struct Finished {
  int64_t bound_ns = 0;  // no plan of these degrees, schedule and packs per rank has a shorter step
                         // of mean packs; not scaled
  int64_t states = 0;    // partial partitions looked at
};

// Finishes every candidate in the same way, independently of the rest of the search. Constraints
// that admit fewer degrees therefore do not change how the remaining degrees are finished.
class Finisher {
 public:
  // Job, batching and lists must outlive it.
  Finisher(const Job& job, const Batching& batching, PassLists& lists, const Stop& stop)
      : job_(job), dealer_(batching, stop, kStepsAtMost), lists_(lists), stop_(stop) {}

  // Returns the packs of the sample, dealt to steps of `micro_batches` packs per rank: as many
  // steps as are simulated at most.
  const std::vector<PackShape>& Packs(int64_t data, int64_t micro_batches) {
    return dealer_.Deal(data, micro_batches);
  }

  // Returns RealPacksBound of these packs for every schedule.
  int64_t RealBound(const LayerProfile& profile, const Parallelism& p, int64_t micro_batches);

  // Returns whether to look for a better cut before finishing: not for 1F1B, nor a given partition.
  bool Improves(const Candidate& c) const;
  // Replaces the cut by the best that moves of boundaries find for mean packs, and returns its
  // step, not scaled. Adds roughly the simulated passes to `work`.
  int64_t Improve(const LayerProfile& profile, Candidate& c, int64_t& work) const;
  // Makes a few of the moves of Improve, which show whether more may pay.
  int64_t ImproveBriefly(const LayerProfile& profile, Candidate& c, int64_t& work) const;

  // Returns the ns that a few real packs add to the step of mean packs. Simulates kTryingWork
  // passes.
  int64_t TryRealPacks(const Candidate& c);
  static constexpr int64_t kTryingWork = 20'000;

  // Returns roughly the most passes that Finish simulates.
  int64_t WorkOf(const Candidate& c) const;

  // Fills in `step` with real packs, and changes nothing else.
  void Simulate(Candidate& c);

  // Fills in `step` with real packs, and chooses the cut that they run quickest: for 1F1B from the
  // certified partition, its neighbours, the given one and those of simpler methods; for other
  // schedules from the given cut, the even ones and their neighbours. Leaves the candidate
  // unfinished if stopped. Without `proven`, 1F1B does without the certified partition, which takes
  // longest, and nothing is proved.
  Finished Finish(const LayerProfile& profile, Candidate& c, bool proven);

  // Fills in recompute and stages of the candidate's boundaries. Returns false if they are not
  // allowed or do not fit.
  static bool FillStages(const Segments& segments, Candidate& c);

 private:
  // Returns whether the partition is certified: 1F1B, not cut by a published method.
  bool Certifies(const Candidate& c) const;
  Finished FinishPartition(const LayerProfile& profile, Candidate& c, bool proven);
  SimulatedStep StepOf(const Candidate& c, int64_t events);
  int64_t MeanStep(const Candidate& c) const;  // by mean packs

  const Job& job_;
  PackDealer dealer_;
  PassLists& lists_;
  const Stop stop_;
  std::map<std::array<int64_t, 8>, int64_t> real_bounds_;  // by degrees and packs per rank
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_FINISH_H_
