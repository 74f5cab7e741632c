#include "planner/search/first_partitions.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "planner/candidates/parallelisms.h"
#include "planner/candidates/work_limits.h"
#include "planner/cuts/chunked_partition.h"
#include "planner/cuts/even_layers.h"
#include "planner/partition/certified_search.h"
#include "planner/partition/methods.h"
#include "planner/partition/partition_search.h"
#include "planner/search/finish.h"

namespace evenkeel::planner {
namespace {

// Replaces the partition by the certified one if that is quicker. Returns a bound on all
// partitions, or nullopt if stopped.
std::optional<int64_t> Certify(const SegmentTable& table, const Stop& stop, Candidate& c,
                               int64_t& score) {
  std::vector<std::vector<int64_t>> starts = {c.boundaries};
  if (c.parallelism.pipeline > 1) {
    for (const PartitionMethod method : {PartitionMethod::kLayers, PartitionMethod::kProfile})
      starts.push_back(PartitionBy(method, table, stop));
    std::erase_if(starts, [](const std::vector<int64_t>& cut) { return cut.empty(); });
  }
  const CertifiedPartition found = CertifyPartition(
      table, starts, {.step_ns = score, .events = kEventsOfFirstCut, .starts_fit = true}, stop);
  if (found.end == CertifiedEnd::kStopped || stop()) return std::nullopt;
  const int64_t bound = std::min(score, found.lower_bound_ns);
  Candidate better = c;
  better.boundaries = found.boundaries;
  if (!better.boundaries.empty() && Finisher::FillStages(table, better)) {
    const int64_t step =
        MeanPackStep(table.job(), better.parallelism, better.shape(), better.segments).total_ns();
    if (step < score) score = step, c = std::move(better);
  }
  return bound;
}

}  // namespace

std::optional<Contender> FirstPartitions::PartitionFor(const Prospect& prospect,
                                                       int64_t* examined) {
  if (prospect.schedule == Schedule::kOneFOneB) {
    std::optional<Contender> contender = Partition(prospect, examined);
    if (contender) contender->candidate.score_ns = Scale(contender->candidate, contender->score_ns);
    return contender;
  }
  const Parallelism& p = prospect.parallelism;
  const LayerProfile& profile = ProfileOf(prospect);
  std::optional<Contender> contender = ContenderOf(
      prospect,
      EvenChunks(job_, profile, p, prospect.schedule, prospect.micro_batches, stop_, &lists_));
  if (contender)
    contender->memory_binds =
        !EvenLayers(job_, profile, p, prospect.schedule, prospect.micro_batches)
             .FitWithOneMore(profile);
  return contender;
}

std::optional<Contender> FirstPartitions::Fitting(const Prospect& prospect, int64_t trying) {
  return ContenderOf(
      prospect, FittingChunks(job_, ProfileOf(prospect), prospect.parallelism, prospect.schedule,
                              prospect.micro_batches, trying, stop_, &lists_));
}

std::optional<Tried> FirstPartitions::NoneBelow(int64_t limit, const Prospect& prospect) {
  if (limit >= kNoPlan || prospect.schedule != Schedule::kOneFOneB ||
      prospect.parallelism.pipeline == 1)
    return std::nullopt;
  const auto none_below = [&](MemoryLimit memory, bool* met_unfit) {
    const SegmentTable table(job_, ProfileOf(prospect), prospect.parallelism,
                             prospect.micro_batches, stop_, memory);
    const bool none = StepLowerBound(table, limit, stop_) >= limit;
    *met_unfit = table.met_unfit();
    return none;
  };
  bool met_unfit = false;
  if (!none_below(MemoryLimit::kGpu, &met_unfit)) return std::nullopt;
  const std::optional<RecomputeSetting>& setting = prospect.setting;
  // Pruning because of memory opens other settings only if nothing is recomputed, or if a
  // longer block may still be tried.
  const bool leads =
      setting == RecomputeSetting{} || (setting && !setting->uniform() && !prospect.shorter_block);
  if (!leads) return Tried::kPruned;
  // Recompute only takes longer, but with more of it quicker cuts may fit.
  if (met_unfit && !none_below(MemoryLimit::kNone, &met_unfit)) return Tried::kFits;
  return setting == RecomputeSetting{} ? Tried::kSettled : Tried::kPruned;
}

int64_t FirstPartitions::WorkOf(const Prospect& prospect) const {
  const Parallelism& p = prospect.parallelism;
  if (prospect.schedule == Schedule::kOneFOneB)
    return Segments(job_, *prospect.profile, p, prospect.micro_batches).count();
  return ChunksWork(ShapeOf(p, prospect.schedule, prospect.micro_batches));
}

const LayerProfile& FirstPartitions::ProfileOf(const Prospect& prospect) {
  const Parallelism& p = prospect.parallelism;
  return (prospect.setting ? profiles_.EntryFor(p, *prospect.setting) : profiles_.EntryFor(p))
      .profile;
}

std::optional<Contender> FirstPartitions::ContenderOf(const Prospect& prospect,
                                                      std::optional<Candidate> found) const {
  if (!found || stop_()) return std::nullopt;
  const int64_t score = found->score_ns;
  found->score_ns = Scale(*found, score);
  found->setting = prospect.setting;
  return Contender{
      .candidate = std::move(*found), .score_ns = score, .bound_ns = prospect.bound_ns};
}

std::optional<Contender> FirstPartitions::Partition(const Prospect& prospect, int64_t* examined) {
  const SegmentTable table(job_, ProfileOf(prospect), prospect.parallelism, prospect.micro_batches,
                           stop_);
  const bool exact = job_.constraints.partition_method == PartitionMethod::kExact;
  Candidate c{.parallelism = prospect.parallelism,
              .micro_batches = prospect.micro_batches,
              .setting = prospect.setting};
  if (exact) {
    PartitionSearchResult found = FindPartition(table, prospect.micro_batches, stop_);
    *examined += found.states;
    if (found.best) c.boundaries = std::move(found.best->boundaries);
  } else {
    c.boundaries = PartitionBy(job_.constraints.partition_method, table, stop_);
    ++*examined;
  }
  if (stop_()) return std::nullopt;
  if (c.boundaries.empty() || !Finisher::FillStages(table, c)) return std::nullopt;
  c.closed_form_optimum_ns = ClosedForm(c.segments, c.micro_batches);
  c.closed_form_boundaries = c.boundaries;
  int64_t score = MeanPackStep(job_, c.parallelism, c.shape(), c.segments).total_ns();
  int64_t bound = prospect.bound_ns;
  if (exact) {
    const std::optional<int64_t> certified = Certify(table, stop_, c, score);
    if (!certified) return std::nullopt;
    bound = std::max(bound, *certified);
  }
  return Contender{.candidate = std::move(c),
                   .score_ns = score,
                   .bound_ns = bound,
                   .memory_binds = table.met_unfit()};
}

int64_t FirstPartitions::Scale(const Candidate& c, int64_t step_ns) const {
  return ScaleToBatch(step_ns, packs_per_step_, c.micro_batches, c.parallelism.data);
}

}  // namespace evenkeel::planner
