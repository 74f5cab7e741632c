#include "planner/groups/group_steps.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "planner/base/integers.h"
#include "planner/candidates/bounds.h"
#include "planner/candidates/parallelisms.h"
#include "planner/cost/layer_profile.h"
#include "planner/cuts/chunked_partition.h"
#include "planner/simulate/step_simulation.h"

namespace evenkeel::planner {

std::vector<Family> Families(const Job& job) {
  std::map<std::tuple<int64_t, int64_t, int64_t, int64_t>, Family> families;
  // If a trainer may or may not share images between ranks, groups are planned without sharing.
  const bool any = job.training.trainer->encoder_split == EncoderSplit::kAny;
  for (const Parallelism& p : Parallelisms(job, std::numeric_limits<int32_t>::max()))
    if (!any || p.encoder_data == 1)
      families[{p.tensor, p.pipeline, p.expert, p.virtual_stages}].push_back(p);
  std::vector<Family> all;
  for (auto& [degrees, family] : families) {
    std::sort(family.begin(), family.end(),
              [](const Parallelism& a, const Parallelism& b) { return a.context < b.context; });
    all.push_back(std::move(family));
  }
  return all;
}

double StepTokens(const Job& job, const LengthClasses& classes) {
  const ClassSums all = classes.Sums(0, classes.size() - 1);
  return static_cast<double>(job.training.global_batch_samples) * all.sum.tokens / all.samples;
}

namespace {

constexpr int64_t kRhythm = 2;  // packs per stage after which a pipeline repeats itself
// Work of a stage's recompute search and of its share of the profile.
constexpr int64_t kPassesOfAStage = 200;

// Returns the time of a step with even stages. The time for many packs is extrapolated from some,
// since the pipeline repeats itself.
std::optional<int64_t> EvenStep(const Job& job, const LayerProfile& profile, const Parallelism& p,
                                Schedule schedule, int64_t micro_batches) {
  const int64_t few = kRhythm * p.pipeline, more = micro_batches - 2 * few;
  const auto even =
      EvenOrFittingChunks(job, profile, p, schedule, std::min(micro_batches, 2 * few));
  if (!even) return std::nullopt;
  if (more <= 0) return even->score_ns;
  const int64_t half = MeanPackStep(job, p, ShapeOf(p, schedule, few), even->segments).total_ns();
  const double rhythm = static_cast<double>(even->score_ns - half) / static_cast<double>(few);
  return even->score_ns + Nearest(static_cast<double>(more) * rhythm);
}

}  // namespace

GroupSteps::GroupSteps(const Job& job, const LengthClasses& classes, const Family& family,
                       GroupBatch batch, GroupWork* work, int64_t least_data)
    : job_(job),
      classes_(classes),
      family_(family),
      batch_(batch),
      work_(work),
      least_data_(least_data > 0 ? least_data : family.back().data) {}

bool GroupSteps::Spend(const Parallelism& p) {
  if (work_ == nullptr) return true;
  const int64_t passes = 4 * kRhythm * p.pipeline * p.pipeline * p.virtual_stages;
  work_->left -= 3 * passes + kPassesOfAStage * p.pipeline * p.virtual_stages;
  work_->over = work_->over || work_->left < 0 || work_->stop();
  return !work_->over;
}

const GroupStep* GroupSteps::Best(size_t from, size_t to) {
  const GroupStep* best = nullptr;
  for (const GroupStep& step : At(from, to).steps)
    if (best == nullptr || step.ns_per_token() < best->ns_per_token()) best = &step;
  return best;
}

const GroupStep* GroupSteps::With(size_t from, size_t to, int64_t context) {
  for (const GroupStep& step : At(from, to).steps)
    if (step.parallelism.context == context) return &step;
  return nullptr;
}

const GroupSteps::Entry& GroupSteps::At(size_t from, size_t to) {
  const auto [at, added] = entries_.try_emplace({from, to});
  Entry& entry = at->second;
  if (!added) return entry;
  const ClassPacks& packs = classes_.Packs(from, to);
  if (packs.packs == 0) return entry;
  entry.bound = std::numeric_limits<double>::infinity();
  for (const Parallelism& p : family_) {
    if (!Spend(p)) return entry;
    const std::optional<GroupStep> step = StepOf(p, packs, entry.bound);
    if (step) entry.steps.push_back(*step);
  }
  return entry;
}

std::optional<GroupStep> GroupSteps::StepOf(const Parallelism& p, const ClassPacks& packs,
                                            double& bound) const {
  GroupStep step{.parallelism = p, .micro_batches = 1};
  bool too_large = false;
  if (batch_ == GroupBatch::kGlobal) {
    const double per_step = StepTokens(job_, classes_) / packs.mean.tokens;
    // With more ranks than packs, the batch would be larger than requested. Such a degree is not
    // chosen unless the job allows nothing else, but the bound must hold for such jobs, too.
    too_large = p.data > std::max(least_data_, Nearest(per_step));
    step.micro_batches = MicroBatches(per_step, p.data);
  }
  const LayerProfile profile = BuildLayerProfile(job_, p, packs.mean, packs.largest);
  const Schedule schedule = ScheduleOf(job_.constraints, p);
  step.tokens = static_cast<double>(step.micro_batches * p.data) * packs.mean.tokens;
  if (p.pipeline > 1 || too_large) bound = std::min(bound, PipelineRate(profile, step));
  if (too_large) return std::nullopt;
  if (p.virtual_stages > 1 && step.micro_batches < p.pipeline) return std::nullopt;
  const std::optional<int64_t> time = EvenStep(job_, profile, p, schedule, step.micro_batches);
  if (!time) return std::nullopt;
  step.step_ns = *time;
  // One stage has one partition, and its least recompute is exact.
  if (p.pipeline == 1) bound = std::min(bound, step.ns_per_token());
  return step;
}

double GroupSteps::PipelineRate(const LayerProfile& profile, const GroupStep& step) const {
  const ChainWork work = ChainWorkOf(profile);
  Parallelism p = step.parallelism;
  const int64_t send = LeastSend(job_, p, work);
  int64_t least = PipelineBound(work, p, ScheduleOf(job_.constraints, p), step.micro_batches, send);
  // Among interleaved schedules, the bound is lowest for the fewest chunks.
  if (!job_.constraints.schedule && job_.constraints.virtual_stages.max != 1) {
    p.virtual_stages = 2;
    least =
        std::min(least, PipelineBound(work, p, Schedule::kInterleaved, step.micro_batches, send));
  }
  return static_cast<double>(least + SyncBound(job_, profile, p)) / step.tokens;
}

}  // namespace evenkeel::planner
