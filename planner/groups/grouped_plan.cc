#include "planner/groups/grouped_plan.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "planner/base/integers.h"
#include "planner/base/units.h"
#include "planner/cost/apply_calibration.h"
#include "planner/explain/prediction.h"
#include "planner/packing/dealt_packs.h"
#include "planner/search/stage_plans.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kPublishedCurriculum = 500;

GroupLengths LengthsOf(const Job& job, const LengthClasses& classes, const GroupSet& set) {
  GroupLengths out;
  for (const ChosenGroup& group : set.groups) {
    out.lengths.push_back(classes.lengths()[group.to]);
    out.contexts.push_back(group.step.parallelism.context);
  }
  out.gpu_days = set.epoch_ns * D(job.training.epochs) * D(job.cluster.gpu_count) / kNsPerDay;
  return out;
}

class Writer {
 public:
  Writer(const Job& job, const LengthClasses& classes, const GroupedSearchResult& found,
         const Stop& stop, Plan& plan)
      : job_(job),
        classes_(classes),
        found_(found),
        stop_(stop),
        plan_(plan),
        grouping_(plan.grouping.emplace()) {}

  void Run() {
    for (const GroupRun& run : found_.runs) {
      steps_ += run.data.steps;
      packs_ += run.data.packs;
      slots_ += run.data.packs * run.candidate.parallelism.context;
      predictions_.push_back(Predict(job_, run.data.batching, run.profile, run.candidate));
    }
    for (size_t g = 0; g < found_.runs.size(); ++g) FillGroup(g);
    const Candidate& last = found_.runs.back().candidate;
    plan_.parallelism = last.parallelism;
    plan_.schedule = last.schedule;
    plan_.stages = grouping_.groups.back().stages;
    FillBatchRule();
    FillPrediction();
    FillProof();
    FillChoice();
  }

 private:
  void FillGroup(size_t g) {
    const GroupRun& run = found_.runs[g];
    const Candidate& c = run.candidate;
    const BatchRule& rule = run.data.batching.rule;
    const DistRatios dist =
        DistRatiosOf(DealtPacks(run.data.batching, c.parallelism.data, c.micro_batches, stop_),
                     rule, c.parallelism.data, c.micro_batches, stop_);
    GroupPlan group;
    group.longest_sample = classes_.lengths()[run.group.to];
    group.token_cap = rule.token_cap;
    group.unit_cap = rule.unit_cap;
    group.parallelism = c.parallelism;
    group.micro_batches = c.micro_batches;
    group.stages = StagePlans(job_, run.profile, c, stop_);
    group.step = predictions_[g].step;
    group.samples = run.data.samples;
    group.fillers = run.data.fillers;
    group.packs = run.data.packs;
    group.steps = run.data.steps;
    group.share = D(run.data.packs * c.parallelism.context) / D(slots_);
    group.mean_tokens = run.data.batching.mean.tokens;
    group.dist_ratio_tokens = dist.tokens;
    group.dist_ratio_attention = dist.attention;
    group.idle_ratio = dist.idle;
    group.reason = Reason(run);
    grouping_.groups.push_back(std::move(group));
  }

  std::string Reason(const GroupRun& run) const {
    const int64_t context = run.candidate.parallelism.context;
    const std::string per_gpu =
        std::to_string(run.data.batching.rule.token_cap / context) + " tokens per GPU";
    return context == 1 ? per_gpu + ", no tokens shared"
                        : per_gpu + " with " + std::to_string(context) + " GPUs to a pack";
  }

  // Returns the mean of `value` over the steps of an epoch.
  template <typename Value>
  double OverSteps(Value value) const {
    double sum = 0;
    for (size_t g = 0; g < found_.runs.size(); ++g) sum += D(found_.runs[g].data.steps) * value(g);
    return sum / D(steps_);
  }
  // Returns the mean over packs.
  template <typename Value>
  double OverPacks(Value value) const {
    double sum = 0;
    for (size_t g = 0; g < found_.runs.size(); ++g) sum += D(found_.runs[g].data.packs) * value(g);
    return sum / D(packs_);
  }
  // Returns the mean over the time of an epoch.
  template <typename Value>
  double OverTime(Value value) const {
    double sum = 0, time = 0;
    for (size_t g = 0; g < found_.runs.size(); ++g) {
      const double ns = D(found_.runs[g].data.steps) * D(predictions_[g].step.total_ns);
      sum += ns * value(g), time += ns;
    }
    return sum / time;
  }
  const BatchRule& RuleOf(size_t g) const { return found_.runs[g].data.batching.rule; }

  void FillBatchRule() {
    BatchRule& rule = plan_.batch_rule;
    rule = found_.runs.back().data.batching.rule;
    rule.caps_derived = true;
    rule.caps_reason = "those of the longest packing group";
    rule.sampled = rule.oversize_samples = rule.pack_lower_bound = 0;
    for (const GroupRun& run : found_.runs) rule.sampled += run.data.batching.rule.sampled;
    rule.packs = packs_;
    double samples = 0;
    for (const LengthBin& bin : job_.dataset.bins) samples += D(bin.count);
    rule.samples_per_pack = samples / D(packs_);
    rule.mean_units = OverPacks([&](size_t g) { return RuleOf(g).mean_units; });
    rule.mean_tokens = OverPacks([&](size_t g) { return RuleOf(g).mean_tokens; });
    rule.dist_ratio_tokens =
        OverSteps([&](size_t g) { return grouping_.groups[g].dist_ratio_tokens; });
    rule.dist_ratio_attention =
        OverSteps([&](size_t g) { return grouping_.groups[g].dist_ratio_attention; });
    rule.idle_ratio = OverTime([&](size_t g) { return grouping_.groups[g].idle_ratio; });
  }

  void FillPrediction() {
    Prediction& p = plan_.prediction;
    p = predictions_.back();
    p.steps_per_epoch = steps_;
    const GroupRun& first = found_.runs.front();
    const int64_t step_packs = first.candidate.micro_batches * first.candidate.parallelism.data;
    p.holed_steps = first.data.packs % step_packs == 0 ? 0 : 1;
    p.samples_per_step = plan_.batch_rule.samples_per_pack * D(packs_) / D(steps_);
    int64_t total = 0;
    for (int64_t StepTime::*part :
         {&StepTime::encoder_compute_ns, &StepTime::language_compute_ns, &StepTime::recompute_ns,
          &StepTime::tensor_communication_ns, &StepTime::pipeline_bubble_ns,
          &StepTime::imbalance_ns, &StepTime::data_sync_ns, &StepTime::optimizer_ns,
          &StepTime::measured_correction_ns}) {
      p.step.*part = Nearest(OverSteps([&](size_t g) { return D(predictions_[g].step.*part); }));
      total += p.step.*part;
    }
    p.step.total_ns = total;
    double epoch_ns = 0;
    for (size_t g = 0; g < predictions_.size(); ++g)
      epoch_ns += D(found_.runs[g].data.steps) * D(predictions_[g].step.total_ns);
    p.epoch_seconds = epoch_ns / kNsPerSecond;
    p.gpu_days = epoch_ns * D(job_.training.epochs) * D(job_.cluster.gpu_count) / kNsPerDay;
    p.cost = p.gpu_days * 24 * job_.cluster.price_per_gpu_hour;
    p.mfu = OverTime([&](size_t g) { return predictions_[g].mfu; });
    p.llm_tokens_per_second =
        OverTime([&](size_t g) { return predictions_[g].llm_tokens_per_second; });
    p.bubble_ratio = OverTime([&](size_t g) { return predictions_[g].bubble_ratio; });
  }

  // Times are per step of the global batch. The epoch is that of the mean packs by which the groups
  // were chosen, and a step's share of it is its share of the tokens. The real packs hold a little
  // more or less.
  void FillProof() {
    Proof& proof = plan_.proof;
    proof = {};
    const double batches =
        classes_.Sums(0, classes_.size() - 1).sum.tokens / StepTokens(job_, classes_);
    double epoch = found_.epoch_bound_ns > 0 ? found_.filled_ns : 0, bound = epoch;
    for (const GroupRun& run : found_.runs) {
      const Candidate& c = found_.epoch_bound_ns > 0 ? run.mean_packs : run.candidate;
      const SimulatedStep& step = c.step;
      const double n = found_.epoch_bound_ns > 0 ? run.steps() : D(run.data.steps),
                   rest = D(step.data_sync_ns + step.optimizer_ns);
      epoch += n * (D(step.pipeline_ns) + rest);
      bound += n * (D(ScheduleBound(c)) + rest);
    }
    // Bounds are rounded down, and the plan's step is rounded up.
    proof.step_ns = static_cast<int64_t>(std::ceil(epoch / batches));
    proof.lower_bound_ns = static_cast<int64_t>(found_.epoch_bound_ns / batches);
    if (proof.lower_bound_ns > 0) proof.gap = D(proof.step_ns) / D(proof.lower_bound_ns) - 1;
    proof.plan_lower_bound_ns = static_cast<int64_t>(bound / batches);
    proof.end = found_.parallelisms_unsearched > 0 ? SearchEnd::kWorkLimit : SearchEnd::kExhausted;
    proof.parallelisms = found_.parallelisms;
    proof.parallelisms_unfit = found_.parallelisms_unfit;
    proof.parallelisms_unsearched = found_.parallelisms_unsearched;
    proof.partitions_examined = found_.examined_sets;
  }

  void FillChoice() {
    GroupChoice& choice = grouping_.choice;
    choice.candidate_lengths = classes_.lengths();
    choice.published = LengthsOf(job_, classes_, found_.published);
    choice.exact = LengthsOf(job_, classes_, found_.exact);
    choice.examined_sets = found_.examined_sets;
    int64_t shared = 0;
    double rank_tokens = 0;
    for (const GroupRun& run : found_.runs) {
      const Candidate& c = run.candidate;
      shared += c.parallelism.context > 1 ? run.data.packs * c.parallelism.context : 0;
      rank_tokens += D(run.data.steps) * D(c.micro_batches) * run.data.batching.mean.tokens;
    }
    choice.communication_ratio = D(shared) / D(slots_);
    choice.mean_rank_tokens = rank_tokens / D(steps_);
    choice.curriculum_steps =
        job_.training.curriculum_steps >= 0
            ? job_.training.curriculum_steps
            : std::min(kPublishedCurriculum, steps_ * job_.training.epochs / 10);
  }

  const Job& job_;
  const LengthClasses& classes_;
  const GroupedSearchResult& found_;
  const Stop stop_;
  Plan& plan_;
  Grouping& grouping_;  // the plan's
  std::vector<Prediction> predictions_;
  int64_t steps_ = 0, packs_ = 0, slots_ = 0;
};

}  // namespace

Alternative SummaryOf(const Job& job, const GroupedSearchResult& found) {
  const GroupRun& last = found.runs.back();
  Alternative alternative = MakeAlternative(job, last.data.batching, last.candidate);
  double steps = 0, samples = 0;
  for (const GroupRun& run : found.runs) {
    steps += D(run.data.steps);
    samples += D(run.data.packs) * run.data.batching.rule.samples_per_pack;
  }
  alternative.samples_per_step = samples / steps;
  alternative.step_ns = CorrectedStep(job.calibration, Nearest(found.epoch_ns / steps));
  alternative.gpu_days = D(alternative.step_ns) * steps * D(job.training.epochs) *
                         D(job.cluster.gpu_count) / kNsPerDay;
  return alternative;
}

void FillGroupedPlan(const Job& job, const LengthClasses& classes, const GroupedSearchResult& found,
                     const Stop& stop, Plan* plan) {
  Writer(job, classes, found, stop, *plan).Run();
}

}  // namespace evenkeel::planner
