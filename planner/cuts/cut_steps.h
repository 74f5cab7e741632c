// Steps of the cuts of one parallelism under 1F1B, with real packs.
#ifndef EVENKEEL_PLANNER_CUTS_CUT_STEPS_H_
#define EVENKEEL_PLANNER_CUTS_CUT_STEPS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "planner/base/stop.h"
#include "planner/candidates/candidate.h"
#include "planner/job.h"
#include "planner/partition/segment_table.h"

namespace evenkeel::planner {

// Simulates each cut once. Each stage of a cut must have its least recompute, so that boundaries
// tell cuts apart.
class CutSteps {
 public:
  // Job and packs must outlive it. `like` has the parallelism and the packs per rank of all cuts.
  CutSteps(const Job& job, const Candidate& like, const std::vector<PackShape>& packs,
           const Stop& stop);

  // Returns SimulateStep of a few events (kEventsPerRealMove). If it is longer than `longest_ns`,
  // any step that is longer than that may be returned.
  SimulatedStep StepOfFewEvents(const Candidate& cut, int64_t longest_ns = kNoPlan);
  // Returns SimulateStep of all events.
  SimulatedStep StepOfAllEvents(const Candidate& cut);

  // Returns whether StepOfFewEvents and StepOfAllEvents give the same steps.
  bool same() const { return same_; }

  // Takes the step of all events of a cut that was simulated before.
  void Remember(const Candidate& cut);

 private:
  using Known = std::map<std::vector<int64_t>, SimulatedStep>;  // by boundaries

  SimulatedStep Simulate(const Candidate& cut, int64_t events, int64_t longest_ns, Known& known);

  const Job& job_;
  const std::vector<PackShape>& packs_;
  const Stop stop_;
  const bool same_;
  Known whole_, of_few_events_;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CUTS_CUT_STEPS_H_
