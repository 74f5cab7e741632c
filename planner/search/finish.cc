#include "planner/search/finish.h"

#include <algorithm>
#include <utility>

#include "planner/candidates/work_limits.h"
#include "planner/cuts/chunked_partition.h"
#include "planner/cuts/cut_steps.h"
#include "planner/cuts/refine.h"
#include "planner/partition/certified_search.h"
#include "planner/partition/methods.h"

namespace evenkeel::planner {
namespace {

// Starts are compared by all events if few events put them within one part in this many of the
// quickest.
constexpr int64_t kTooCloseToCall = 64;

// Cost of certifying and refining a partition of 1F1B, in passes.
constexpr int64_t kRefiningWork = 1'000'000;

}  // namespace

SimulatedStep Finisher::StepOf(const Candidate& c, int64_t events) {
  return SimulateStep(job_, c.parallelism, c.shape(), c.segments,
                      Packs(c.parallelism.data, c.micro_batches), events, stop_, &lists_);
}

void Finisher::Simulate(Candidate& c) { c.step = StepOf(c, kEventsAtMost); }

int64_t Finisher::TryRealPacks(const Candidate& c) {
  return StepOf(c, kTryingWork / 2).imbalance_ns;
}

int64_t Finisher::RealBound(const LayerProfile& profile, const Parallelism& p,
                            int64_t micro_batches) {
  const auto [at, added] =
      real_bounds_.try_emplace({p.tensor, p.pipeline, p.data, p.context, p.expert, p.virtual_stages,
                                p.encoder_data, micro_batches});
  if (added) {
    // The bound is the same under every schedule.
    at->second = RealPacksBound(job_, p, ShapeOf(p, Schedule::kInterleaved, micro_batches), profile,
                                Packs(p.data, micro_batches));
  }
  return at->second;
}

bool Finisher::FillStages(const Segments& segments, Candidate& c) {
  c.recomputed.clear();
  for (int64_t s = 0; s < segments.stages(); ++s) {
    const int64_t begin = c.boundaries[static_cast<size_t>(s)],
                  end = c.boundaries[static_cast<size_t>(s) + 1];
    if (!segments.Allowed(s, begin, end)) return false;
    const auto choice = segments.Recompute(s, begin, end);
    if (!choice) return false;
    c.recomputed.push_back(choice->recomputed);
  }
  c.segments =
      WorkOfSegments(segments.job(), segments.profile(), c.parallelism, c.boundaries, c.recomputed);
  return true;
}

int64_t Finisher::WorkOf(const Candidate& c) const {
  const int64_t forwards = c.shape().micro_batches * c.shape().virtual_stages();
  const int64_t real = std::min(kEventsAtMost, kStepsAtMost * c.parallelism.data * forwards);
  if (c.schedule != Schedule::kOneFOneB) return 2 * real;
  return c.parallelism.pipeline == 1 ? real : 2 * real + kRefiningWork;
}

bool Finisher::Certifies(const Candidate& c) const {
  return c.schedule == Schedule::kOneFOneB &&
         job_.constraints.partition_method == PartitionMethod::kExact;
}

Finished Finisher::Finish(const LayerProfile& profile, Candidate& c, bool proven) {
  if (Certifies(c)) return FinishPartition(profile, c, proven);
  if (c.step.total_ns() == 0) Simulate(c);
  // Mean packs chose this cut, so another can save little more than the imbalance that real packs
  // add.
  if (Improves(c) && c.step.imbalance_ns > c.step.total_ns() / kTooCloseToImprove)
    ImproveChunksByRealPacks(job_, profile, Packs(c.parallelism.data, c.micro_batches), c, stop_,
                             &lists_);
  return {};
}

bool Finisher::Improves(const Candidate& c) const {
  return c.schedule != Schedule::kOneFOneB && job_.constraints.stage_layers.empty();
}

int64_t Finisher::MeanStep(const Candidate& c) const {
  StepCache cache(job_, c.parallelism, &lists_);
  return MeanPackStep(job_, c.parallelism, c.shape(), c.segments, &cache, kEventsAtMost, stop_)
      .total_ns();
}

int64_t Finisher::Improve(const LayerProfile& profile, Candidate& c, int64_t& work) const {
  work += ImproveChunks(job_, profile, c, stop_, &lists_);
  return MeanStep(c);
}

int64_t Finisher::ImproveBriefly(const LayerProfile& profile, Candidate& c, int64_t& work) const {
  work += ImproveChunksBriefly(job_, profile, c, stop_, &lists_);
  return MeanStep(c);
}

Finished Finisher::FinishPartition(const LayerProfile& profile, Candidate& c, bool proven) {
  const SegmentTable table(job_, profile, c.parallelism, c.micro_batches, stop_);
  std::vector<std::vector<int64_t>> cuts = {c.boundaries};
  if (c.parallelism.pipeline > 1) {
    for (const PartitionMethod method : {PartitionMethod::kLayers, PartitionMethod::kParameters,
                                         PartitionMethod::kBmp, PartitionMethod::kProfile}) {
      std::vector<int64_t> cut = PartitionBy(method, table, stop_);
      if (!cut.empty() && std::find(cuts.begin(), cuts.end(), cut) == cuts.end())
        cuts.push_back(std::move(cut));
    }
  }
  Finished finished;
  if (proven) {
    std::vector<std::vector<int64_t>> starts = cuts;
    starts.insert(starts.begin(), c.closed_form_boundaries);
    CertifiedPartition found = CertifyPartition(table, starts, {.starts_fit = true}, stop_);
    if (found.end == CertifiedEnd::kStopped || found.boundaries.empty()) return {};
    finished = {.bound_ns = found.lower_bound_ns, .states = found.nodes};
    cuts.insert(cuts.begin(), std::move(found.boundaries));
  }

  const Candidate given = c;
  CutSteps steps(job_, given, Packs(given.parallelism.data, given.micro_batches), stop_);
  if (given.step.total_ns() > 0) steps.Remember(given);
  int64_t quickest = 0, quickest_of_all = 0;  // by few events, and by all
  for (std::vector<int64_t>& cut : cuts) {
    Candidate start = given;
    start.boundaries = std::move(cut);
    if (!FillStages(table, start)) continue;
    const int64_t longest = quickest == 0 ? kNoPlan : quickest + quickest / kTooCloseToCall;
    const int64_t step = steps.StepOfFewEvents(start, longest).total_ns();
    if (quickest == 0 || step < quickest) quickest = step;
    if (step > longest) continue;
    start.step = steps.StepOfAllEvents(start);
    if (quickest_of_all != 0 && start.step.total_ns() >= quickest_of_all) continue;
    quickest_of_all = start.step.total_ns();
    c = std::move(start);
  }
  RefineByRealPacks(table, steps, c, stop_);
  return finished;
}

}  // namespace evenkeel::planner
