// The space of the search: the degrees and schedules that a job may run with, and the micro-batches
// that go with them.
#ifndef EVENKEEL_PLANNER_CANDIDATES_PARALLELISMS_H_
#define EVENKEEL_PLANNER_CANDIDATES_PARALLELISMS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/job.h"
#include "planner/space/parallelism.h"

namespace evenkeel::planner {

// A step may differ from the requested batch by this share without any effect on the choice.
inline constexpr double kBatchTolerance = 1.0 / 20;
// Degrees whose step differs by more are used only if no others come nearer. Packs may be dropped
// up to this share to make whole groups.
inline constexpr double kBatchErrorAtMost = 1.0 / 8;
// Above the tolerance, two errors that differ by less than this count as equal, and time decides.
inline constexpr double kSameBatchError = 1.0 / 50;

// Returns the degrees that ForEachDegrees (planner/space/degrees.h) visits, in its order, each with
// every number of virtual stages, ascending. Unless nothing else remains, leaves out those that
// train on another batch: data-parallel degrees above the packs of the largest step that the others
// run, and, if the job keeps the batch, degrees whose step misses it by more than kBatchTolerance,
// or where all do, by more than kBatchErrorAtMost. With a fused step, leaves out those with several
// micro-batches.
std::vector<Parallelism> Parallelisms(const Job& job, double packs_per_step);

// Returns the job with the data-parallel degrees that Parallelisms leaves out because their steps
// are larger than the batch, or nullopt if there are none.
std::optional<Job> WithLargerSteps(const Job& job, double packs_per_step);

// Returns the schedule that the constraints name; if they name none, 1F1B, or interleaved 1F1B with
// several chunks per stage.
Schedule ScheduleOf(const Constraints& constraints, const Parallelism& p);

// Returns the packs per rank and step that are nearest to the global batch, at least 1.
int64_t MicroBatches(double packs_per_step, int64_t data);

// Returns the numbers of packs per rank that are planned: MicroBatches and, for interleaved stages,
// also the multiple of the pipeline degree below it, if that leaves out at most an eighth of the
// batch. Others run in larger groups, which hold more memory.
std::vector<int64_t> MicroBatchChoices(double packs_per_step, const Parallelism& p);

// Returns the time of exactly the requested global batch, given that of a step of m x D packs.
// Rounds down, so that a scaled bound stays a bound.
int64_t ScaleToBatch(int64_t step_ns, double packs_per_step, int64_t micro_batches, int64_t data);
// Returns a step that ScaleToBatch scales to `batch_ns` or to little more.
int64_t StepScaledTo(int64_t batch_ns, double packs_per_step, int64_t micro_batches, int64_t data);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CANDIDATES_PARALLELISMS_H_
