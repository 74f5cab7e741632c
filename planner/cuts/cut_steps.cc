#include "planner/cuts/cut_steps.h"

#include "planner/candidates/work_limits.h"

namespace evenkeel::planner {

CutSteps::CutSteps(const Job& job, const Candidate& like, const std::vector<PackShape>& packs,
                   const Stop& stop)
    : job_(job),
      packs_(packs),
      stop_(stop),
      same_(
          SimulatesAlike(job, like.parallelism, like.shape(), kEventsPerRealMove, kEventsAtMost)) {}

SimulatedStep CutSteps::StepOfFewEvents(const Candidate& cut, int64_t longest_ns) {
  return Simulate(cut, kEventsPerRealMove, longest_ns, same_ ? whole_ : of_few_events_);
}

SimulatedStep CutSteps::StepOfAllEvents(const Candidate& cut) {
  return Simulate(cut, kEventsAtMost, kNoPlan, whole_);
}

void CutSteps::Remember(const Candidate& cut) { whole_[cut.boundaries] = cut.step; }

SimulatedStep CutSteps::Simulate(const Candidate& cut, int64_t events, int64_t longest_ns,
                                 Known& known) {
  if (const auto at = known.find(cut.boundaries); at != known.end()) return at->second;
  const SimulatedStep step = SimulateStep(job_, cut.parallelism, cut.shape(), cut.segments, packs_,
                                          events, stop_, nullptr, longest_ns);
  // A step longer than `longest_ns` may lack its imbalance, so it is not kept.
  if (step.total_ns() <= longest_ns) known[cut.boundaries] = step;
  return step;
}

}  // namespace evenkeel::planner
