// The space of the search: the degrees and schedules that a job may run with, and the micro-batches
// that go with them.
#ifndef EVENKEEL_PLANNER_SEARCH_PARALLELISMS_H_
#define EVENKEEL_PLANNER_SEARCH_PARALLELISMS_H_

#include <cstdint>
#include <vector>

#include "planner/job.h"
#include "planner/space/parallelism.h"

namespace evenkeel::planner {

// Returns the degrees that ForEachDegrees (planner/space/degrees.h) visits, in its order, each with
// every number of virtual stages, ascending.
// Left out unless nothing else remains: data-parallel degrees above the packs of the largest step
// that the others run, which would train on a larger batch than any of them.
std::vector<Parallelism> Parallelisms(const Job& job, double packs_per_step);

// What runs so many chunks per stage: the schedule that the constraints name; if they name none,
// 1F1B, or interleaved 1F1B where there are several.
Schedule ScheduleOf(const Constraints& constraints, const Parallelism& p);

// Packs per rank and step: the nearest to what the global batch asks for, at least 1.
int64_t MicroBatches(double packs_per_step, int64_t data);

// The numbers of packs per rank that are planned: MicroBatches, and for interleaved stages also the
// multiple of the pipeline degree below it, where that leaves out at most an eighth of the batch:
// other numbers are run in larger groups, which hold more memory.
std::vector<int64_t> MicroBatchChoices(double packs_per_step, const Parallelism& p);

// Time per optimizer step of exactly the requested global batch, from that of a step of m x D
// packs; rounded down, so that what is scaled from a bound stays one.
int64_t ScaleToBatch(int64_t step_ns, double packs_per_step, int64_t micro_batches, int64_t data);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_PARALLELISMS_H_
