#include "planner/candidates/parallelisms.h"

#include <algorithm>
#include <cmath>

#include "planner/base/integers.h"
#include "planner/space/degrees.h"

namespace evenkeel::planner {
namespace {

// Returns whether a step has too few packs to fill an interleaved pipeline, for which Megatron-Core
// refuses to start (forward_backward_pipelining_with_interleaving of
// megatron/core/pipeline_parallel/schedules.py).
bool StarvesStages(const Job& job, const Parallelism& p, double packs_per_step) {
  return ScheduleOf(job.constraints, p) == Schedule::kInterleaved &&
         MicroBatches(packs_per_step, p.data) < p.pipeline;
}

// Leaves out the degrees that `bad` is true of, unless it is true of all. Returns whether it did.
template <typename Predicate>
bool LeaveOut(const Predicate& bad, std::vector<Parallelism>* all) {
  if (std::all_of(all->begin(), all->end(), bad)) return false;
  std::erase_if(*all, bad);
  return true;
}

// Returns all degrees, including those that train on a larger batch.
std::vector<Parallelism> AllParallelisms(const Job& job, double packs_per_step) {
  std::vector<Parallelism> all;
  ForEachDegrees(job, [&](Parallelism p, const DegreeRange& virtual_stages) {
    for (int64_t v = virtual_stages.min; v <= virtual_stages.max; ++v) {
      p.virtual_stages = v;
      all.push_back(p);
    }
    return true;
  });
  LeaveOut([&](const Parallelism& p) { return StarvesStages(job, p, packs_per_step); }, &all);
  if (job.training.fused_step)
    std::erase_if(all,
                  [&](const Parallelism& p) { return MicroBatches(packs_per_step, p.data) > 1; });
  return all;
}

// Returns the packs of the largest step of the degrees that do not exceed the packs asked for. If
// all exceed them, returns those of the smallest step.
int64_t MostPacks(const std::vector<Parallelism>& all, double packs_per_step) {
  int64_t least_data = all.front().data;
  for (const Parallelism& p : all) least_data = std::min(least_data, p.data);
  int64_t most_packs = least_data;
  for (const Parallelism& p : all) {
    if (static_cast<double>(p.data - 1) >= packs_per_step) continue;
    most_packs = std::max(most_packs, MicroBatches(packs_per_step, p.data) * p.data);
  }
  return most_packs;
}

// Returns the share by which a step misses the batch.
double BatchError(const Parallelism& p, double packs_per_step) {
  const double packs = static_cast<double>(MicroBatches(packs_per_step, p.data) * p.data);
  return std::abs(packs / packs_per_step - 1);
}

}  // namespace

std::vector<Parallelism> Parallelisms(const Job& job, double packs_per_step) {
  std::vector<Parallelism> all = AllParallelisms(job, packs_per_step);
  if (all.empty()) return all;
  const int64_t most_packs = MostPacks(all, packs_per_step);
  std::erase_if(all, [&](const Parallelism& p) { return p.data > most_packs; });
  if (!job.training.keeps_batch) return all;
  for (const double most : {kBatchTolerance, kBatchErrorAtMost}) {
    const auto misses = [&](const Parallelism& p) { return BatchError(p, packs_per_step) > most; };
    if (LeaveOut(misses, &all)) break;
  }
  return all;
}

std::optional<Job> WithLargerSteps(const Job& job, double packs_per_step) {
  const std::vector<Parallelism> all = AllParallelisms(job, packs_per_step);
  if (all.empty()) return std::nullopt;
  const int64_t most_packs = MostPacks(all, packs_per_step);
  int64_t least_data = 0;
  for (const Parallelism& p : all)
    if (p.data > most_packs && (least_data == 0 || p.data < least_data)) least_data = p.data;
  if (least_data == 0) return std::nullopt;
  Job larger = job;
  larger.constraints.data_parallel.min = least_data;
  return larger;
}

Schedule ScheduleOf(const Constraints& constraints, const Parallelism& p) {
  // Without a pipeline, no trainer runs all forward passes first.
  if (constraints.schedule == Schedule::kGPipe && p.pipeline == 1) return Schedule::kOneFOneB;
  if (constraints.schedule) return *constraints.schedule;
  return p.virtual_stages > 1 ? Schedule::kInterleaved : Schedule::kOneFOneB;
}

int64_t MicroBatches(double packs_per_step, int64_t data) {
  return std::max<int64_t>(1, Nearest(packs_per_step / static_cast<double>(data)));
}

std::vector<int64_t> MicroBatchChoices(double packs_per_step, const Parallelism& p) {
  const int64_t nearest = MicroBatches(packs_per_step, p.data);
  std::vector<int64_t> choices = {nearest};
  const int64_t whole = nearest / p.pipeline * p.pipeline;
  const double asked = packs_per_step / static_cast<double>(p.data);
  if (p.virtual_stages > 1 && whole > 0 && whole != nearest &&
      static_cast<double>(whole) >= (1 - kBatchErrorAtMost) * asked)
    choices.push_back(whole);
  return choices;
}

int64_t ScaleToBatch(int64_t step_ns, double packs_per_step, int64_t micro_batches, int64_t data) {
  const double scaled =
      static_cast<double>(step_ns) / static_cast<double>(micro_batches * data) * packs_per_step;
  return Nearest(std::floor(scaled));
}

int64_t StepScaledTo(int64_t batch_ns, double packs_per_step, int64_t micro_batches, int64_t data) {
  const double step =
      static_cast<double>(batch_ns) / packs_per_step * static_cast<double>(micro_batches * data);
  // One part in 2^50 covers the rounding of doubles in both functions.
  return Nearest(std::ceil(step + std::ldexp(step, -50))) + 1;
}

}  // namespace evenkeel::planner
