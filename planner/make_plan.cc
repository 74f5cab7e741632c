#include "planner/make_plan.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "planner/base/integers.h"
#include "planner/baselines/batching_methods.h"
#include "planner/baselines/dispatcher_times.h"
#include "planner/candidates/parallelisms.h"
#include "planner/check/group_checker.h"
#include "planner/check/plan_checker.h"
#include "planner/choose/caps.h"
#include "planner/choose/keep_batch.h"
#include "planner/choose/offload.h"
#include "planner/cost/apply_calibration.h"
#include "planner/cost/goodput.h"
#include "planner/cost/host_memory.h"
#include "planner/cost/memory.h"
#include "planner/cost/network.h"
#include "planner/explain/changed_job.h"
#include "planner/explain/ladder.h"
#include "planner/explain/misfit.h"
#include "planner/explain/offload_report.h"
#include "planner/explain/other_sizes.h"
#include "planner/explain/prediction.h"
#include "planner/groups/grouped_plan.h"
#include "planner/groups/grouped_search.h"
#include "planner/launch/make_launch.h"
#include "planner/packing/batch_rule.h"
#include "planner/packing/dealt_packs.h"
#include "planner/plan_figures.h"
#include "planner/search/search.h"
#include "planner/search/stage_plans.h"
#include "planner/space/degrees.h"
#include "planner/space/offload.h"
#include "planner/space/placement_tiers.h"
#include "planner/space/trainer_recompute.h"

namespace evenkeel::planner {
namespace {

class Planning {
 public:
  Planning(const Job& job, const PlanHooks& hooks, bool short_search = false)
      : job_(job), hooks_(hooks), short_search_(short_search) {}

  PlanResult Run() {
    Find();
    return Complete();
  }

  // Searches for the plan.
  void Find() {
    CapsSearchResult chosen = short_search_ ? ChooseCaps(job_, 0, hooks_, kShortSearchLimits)
                                            : ChooseCaps(job_, job_.max_alternatives, hooks_);
    if (chosen.stopped || Stopped()) return;
    batching_ = std::move(chosen.batching);
    found_ = std::move(chosen.plans);
    job_.training.keeps_batch |= chosen.keeps_batch;
    if (job_.training.group_selection != GroupSelection::kOne) FindGroups();
  }

  bool found() const { return !grouped_.runs.empty() || !found_.best.empty(); }

  // Returns the GPU-days of the best plan found.
  double gpu_days() const {
    if (!grouped_.runs.empty()) return SummaryOf(job_, grouped_).gpu_days;
    const Candidate& best = found_.best.front();
    return GpuDays(job_, best.step.total_ns(), batching_.rule.packs, best);
  }

  // Returns the plan found, if it has one group.
  PlanWithoutOffload AsWithoutOffload() const {
    if (!grouped_.runs.empty() || found_.best.empty()) return {};
    return {&batching_, found_.best.front().simulated_ns};
  }

  // Returns the plan found, with its whole report, or explains why there is none.
  PlanResult Complete() {
    if (Stopped()) return std::move(result_);
    plan().batch_rule = batching_.rule;
    plan().figures = PlanFigures(job_);
    plan().proof = found_.proof;
    if (!grouped_.runs.empty()) {
      FillGroups();
      if (Stopped()) return std::move(result_);
    } else if (!found_.best.empty()) {
      Fill(found_.best);
      if (Stopped()) return std::move(result_);
    } else if (LargerStepFits()) {
      return std::move(result_);
    } else {
      hooks_.Enter(Phase::kExplain);
      plan().misfit = ExplainMisfit(job_, batching_, hooks_.stop);
      if (!plan().misfit) return std::move(result_);
    }
    plan().memory_fit = MemoryFitOf(job_, plan());
    const Parallelism& split = plan().misfit ? plan().misfit->parallelism : plan().parallelism;
    for (FigureBasis& figure : CalibrationFigures(job_.calibration, split)) {
      plan().figures.push_back(std::move(figure));
    }
    hooks_.Enter(Phase::kCheck);
    result_.faults = grouped_.runs.empty() ? CheckPlan(job_, batching_, plan())
                                           : CheckGroupedPlan(job_, GroupBatchings(), plan());
    result_.end = result_.faults.empty() ? PlanEnd::kComplete : PlanEnd::kCheckFailed;
    if (!short_search_ && plan().fits() && result_.end == PlanEnd::kComplete && !FillLaunch())
      result_.end = PlanEnd::kStopped;
    return std::move(result_);
  }

 private:
  Plan& plan() { return result_.plan; }
  bool Stopped() const { return hooks_.stop(); }

  // If no step of the requested batch fits, plans a larger one that fits.
  bool LargerStepFits() {
    const double packs = batching_.packs_per_step(job_.training.global_batch_samples);
    for (std::optional<Job> larger = WithLargerSteps(job_, packs); larger;
         larger = WithLargerSteps(*larger, packs)) {
      if (Stopped() || !FitsWithAnyPacks(*larger, hooks_.stop)) continue;
      PlanResult of_larger = Planning(*larger, hooks_, short_search_).Run();
      if (of_larger.plan.misfit) return false;
      result_ = std::move(of_larger);
      return true;
    }
    return false;
  }

  void Fill(const std::vector<Candidate>& best) {
    hooks_.Enter(Phase::kSimulate);
    const Candidate& chosen = best.front();
    const Parallelism& p = chosen.parallelism;
    const LayerProfile profile =
        BuildLayerProfile(job_, p, batching_.mean, batching_.largest, {}, chosen.micro_batches);
    plan().parallelism = p;
    plan().schedule = chosen.schedule;
    plan().stages = StagePlans(job_, profile, chosen, hooks_.stop);
    if (const std::string beyond = BeyondTrainer(job_, plan()); !beyond.empty())
      plan().figures.push_back({"training.trainer_limits", Basis::kAssumed, beyond});
    plan().prediction = Predict(job_, batching_, profile, chosen);

    hooks_.Enter(Phase::kExplain);
    const std::vector<PackShape> dealt =
        DealtPacks(batching_, p.data, chosen.micro_batches, hooks_.stop);
    FillDistRatios(dealt, p.data, chosen.micro_batches, hooks_.stop, &plan().batch_rule);
    plan().padded = PaddedBatchesOf(job_, batching_, p.data, chosen.micro_batches);
    FillProof(chosen);
    FillPlacement(p);
    plan().offload = ReportOffload(job_, batching_, chosen, plan().stages);
    plan().goodput = GoodputOf(job_, plan().prediction);
    if (short_search_) return;
    // Baselines recompute instead of keeping activations in host memory.
    plan().ladder =
        !job_.training.activations.any()
            ? MakeLadder(job_, batching_, chosen, dealt, hooks_.stop)
            : MakeLadder(WithActivations(job_, 0, 0), batching_, chosen, dealt, hooks_.stop);
    FindLimitsCost(chosen);
    FindEncoderGain(chosen);
    FindOffloadGain();
    FindPackingGain();
    plan().expert_dispatchers = DispatcherTimes(job_, batching_, plan(), hooks_.stop);
    Compare([&](const Job& job) { return OfSamePacks(job); },
            [&](const Job& job) { return OfOwnPacks(job); });
    FillAlternatives(1);
  }

  void Compare(const ShortPlanner& same_packs, const ShortPlanner& own_packs) {
    if (job_.compare_sizes) plan().other_sizes = OtherSizes(job_, same_packs, hooks_.stop);
    if (job_.compare_precisions)
      plan().other_precisions = OtherPrecisions(job_, same_packs, hooks_.stop);
    if (job_.compare_shardings)
      plan().other_shardings = OtherShardings(job_, own_packs, hooks_.stop);
  }

  // Returns the best plan of the changed job with the packs of this one.
  std::optional<Alternative> OfSamePacks(const Job& job) const {
    const SearchResult found = SearchForBatch(job, batching_, 0, hooks_.stop).found;
    if (found.best.empty()) return std::nullopt;
    return MakeAlternative(job, batching_, found.best.front(), hooks_.stop);
  }

  // Returns the best plan of the changed job that a short search finds with packs of its own.
  std::optional<Alternative> OfOwnPacks(const Job& job) const {
    const CapsSearchResult search = ChooseCaps(job, 0, {.stop = hooks_.stop}, kSideSearchLimits);
    if (search.stopped || search.plans.best.empty()) return std::nullopt;
    return MakeAlternative(job, search.batching, search.plans.best.front(), hooks_.stop);
  }

  // Returns whether a plan without the trainer's limits may be better.
  bool LimitsMayCost(const Candidate& chosen) const {
    const Trainer& trainer = *job_.training.trainer;
    const Constraints& c = job_.constraints;
    const bool few_sets = !trainer.selective_recompute &&
                          (c.recompute == RecomputePolicy::kWholeLayers ||
                           (trainer.alternate_products && c.recompute == RecomputePolicy::kAuto)) &&
                          std::any_of(chosen.segments.begin(), chosen.segments.end(),
                                      [](const SegmentWork& s) { return s.recompute_ns > 0; });
    const bool one_chunk = !trainer.interleaves && VirtualStagesFree(c) &&
                           job_.training.zero_stage != ZeroStage::kWeights;
    return CutsByItself() || found_.memory_binds || few_sets || one_chunk ||
           KeepsEncoderWhole(job_);
  }

  // Returns whether the stages are the trainer's own choice.
  bool CutsByItself() const {
    const PartitionMethod own = job_.training.trainer->partition_method;
    return own != PartitionMethod::kExact && job_.constraints.partition_method == own;
  }

  // Looks for a better plan without the trainer's limits: another recompute for each layer, a cut
  // through the encoder, other stages, virtual stages.
  void FindLimitsCost(const Candidate& chosen) {
    if (!LimitsMayCost(chosen)) return;
    const Trainer& trainer = *job_.training.trainer;
    Trainer freer = trainer;
    freer.alternate_products = false;
    freer.selective_recompute = freer.cuts_encoder = freer.interleaves = true;
    Job free = job_;
    free.training.trainer = &freer;
    if (job_.constraints.recompute == FreestRecompute(trainer))
      free.constraints.recompute = RecomputePolicy::kAuto;
    if (CutsByItself()) free.constraints.partition_method = PartitionMethod::kExact;
    const SearchResult found = Search(free, batching_, 0, hooks_.stop,
                                      {.beat_ns = chosen.simulated_ns}, kGainSearchLimits);
    plan().trainer_limits_cost = 0;
    if (!found.best.empty())
      plan().trainer_limits_cost =
          static_cast<double>(chosen.simulated_ns) /
              static_cast<double>(std::min(chosen.simulated_ns, found.best.front().simulated_ns)) -
          1;
  }

  // Looks for the best plan that shares images otherwise, with the other degrees as they are.
  void FindEncoderGain(const Candidate& chosen) {
    const Parallelism& p = chosen.parallelism;
    Job other = job_;
    Constraints& c = other.constraints;
    c.encoder_data = {};
    PinDegrees(p, &c);
    int64_t best_ns = 0;
    for (const int64_t ranks : EncoderDataChoices(other, p)) {
      if (ranks == p.encoder_data) continue;
      c.encoder_data = DegreeRange::Exactly(ranks);
      const SearchResult found = Search(other, batching_, 0, hooks_.stop, {}, kSideSearchLimits);
      c.encoder_data = {};
      if (found.best.empty()) continue;
      const int64_t step_ns = found.best.front().simulated_ns;
      if (best_ns == 0 || step_ns < best_ns) best_ns = step_ns;
    }
    if (best_ns > 0)
      plan().encoder_data_gain =
          static_cast<double>(best_ns) / static_cast<double>(chosen.simulated_ns) - 1;
  }

  // Looks for the best plan of the same packs without offload.
  void FindOffloadGain() {
    if (!plan().offload || (plan().offload->ratio == 0 && !job_.training.activations.any())) return;
    const Job without = WithoutOffload(job_);
    const SearchResult found = Search(without, batching_, 0, hooks_.stop, {}, kSideSearchLimits);
    if (!found.best.empty()) plan().offload->step_without_ns = found.best.front().simulated_ns;
  }

  // Looks for the best plan that packs samples instead of padding them.
  void FindPackingGain() {
    if (!plan().padded) return;
    Job packs = job_;
    packs.training.micro_batch_samples = packs.training.pad_to_tokens = 0;
    packs.training.pad_to_multiple = 1;
    packs.training.group_by_length = false;
    const CapsSearchResult found = ChooseCaps(packs, 0, {.stop = hooks_.stop}, kShortSearchLimits);
    if (found.stopped || found.plans.best.empty()) return;
    plan().padded->packed =
        MakeAlternative(packs, found.batching, found.plans.best.front(), hooks_.stop);
    plan().padded->packing_gain = plan().prediction.gpu_days / plan().padded->packed->gpu_days - 1;
  }

  // Appends alternatives with one group, from `best[first]` onward.
  void FillAlternatives(size_t first) {
    const std::vector<Candidate>& best = found_.best;
    for (size_t i = first;
         i < best.size() && static_cast<int64_t>(i - first) < job_.max_alternatives; ++i)
      plan().alternatives.push_back(MakeAlternative(job_, batching_, best[i], hooks_.stop));
    for (Alternative& alternative : plan().alternatives)
      alternative.indistinguishable =
          alternative.gpu_days < (1 + kDistinguishableRatio) * plan().prediction.gpu_days;
  }

  // Looks for packing groups, and takes them if they are better than the best plan with one group,
  // or if the job asks for them.
  void FindGroups() {
    hooks_.Enter(Phase::kSearch);
    classes_.emplace(job_, hooks_.stop);
    GroupedSearchResult grouped = SearchGroups(job_, *classes_, hooks_.stop, found_.promising);
    if (grouped.stopped || grouped.runs.size() < 2) return;
    const bool asked = job_.training.group_selection == GroupSelection::kPublished;
    if (!asked && !found_.best.empty() &&
        !AreBetter(SummaryOf(job_, grouped),
                   MakeAlternative(job_, batching_, found_.best.front(), hooks_.stop)))
      return;
    grouped_ = std::move(grouped);
  }

  // Returns whether groups are better than one. Their steps are whole packs of several lengths, so
  // they may miss the batch by more.
  bool AreBetter(const Alternative& groups, const Alternative& one) const {
    constexpr double kErrorAtMost = 1.0 / 4;
    const BatchPlan of_groups{BatchError(job_, groups.samples_per_step), groups.gpu_days};
    const BatchPlan of_one{BatchError(job_, one.samples_per_step), one.gpu_days};
    if (of_groups.error <= kErrorAtMost) return of_groups.gpu_days < of_one.gpu_days;
    return Better(of_groups, of_one);
  }

  void FillGroups() {
    hooks_.Enter(Phase::kSimulate);
    FillGroupedPlan(job_, *classes_, grouped_, hooks_.stop, &plan());
    if (Stopped()) return;
    hooks_.Enter(Phase::kExplain);
    FillPlacement(plan().parallelism);
    plan().goodput = GoodputOf(job_, plan().prediction);
    if (short_search_) return;
    std::vector<BatchingBaseline>& baselines = plan().grouping->choice.baselines;
    baselines = BatchingBaselines(job_, *classes_, grouped_, hooks_.stop);
    plan().ladder = GroupLadder(baselines);
    const ShortPlanner grouped = [&](const Job& job) -> std::optional<Alternative> {
      const GroupedSearchResult found =
          SearchGroups(job, LengthClasses(job, hooks_.stop), hooks_.stop);
      if (found.runs.empty()) return std::nullopt;
      return SummaryOf(job, found);
    };
    Compare(grouped, grouped);
    FillAlternatives(0);
  }

  // Returns false if stopped.
  bool FillLaunch() {
    const Batching& batching =
        grouped_.runs.empty() ? batching_ : grouped_.runs.back().data.batching;
    plan().launch = MakeLaunch(job_, batching, plan(), LaunchedPlan::kOurs, hooks_.stop);
    return !Stopped() && plan().launch.size() == job_.launch.frameworks.size();
  }

  std::vector<const Batching*> GroupBatchings() const {
    std::vector<const Batching*> batchings;
    for (const GroupRun& run : grouped_.runs) batchings.push_back(&run.data.batching);
    return batchings;
  }

  void FillProof(const Candidate& c) {
    Proof& proof = plan().proof;
    FillStepBounds(job_, batching_, c, &proof);
    proof.gap = static_cast<double>(proof.step_ns) / static_cast<double>(proof.lower_bound_ns) - 1;
    if (c.schedule != Schedule::kOneFOneB) return;
    const auto scaled = [&](int64_t ns) {
      const double packs = batching_.packs_per_step(job_.training.global_batch_samples);
      return ScaleToBatch(ns, packs, c.micro_batches, c.parallelism.data);
    };
    proof.closed_form_ns = scaled(ClosedForm(c.segments, c.micro_batches));
    proof.closed_form_optimum_ns = scaled(c.closed_form_optimum_ns);
  }

  void FillPlacement(const Parallelism& p) {
    const Network network(job_.cluster, job_.constants);
    Placement& placement = plan().placement;
    placement.gpus_per_node = job_.cluster.gpus_per_node;
    placement.nodes = CeilDivide(job_.cluster.gpu_count, job_.cluster.gpus_per_node);
    for (int64_t s = 0; s + 1 < p.pipeline; ++s) {
      if (network.StageLinkCrossesNodes(p, s)) placement.pipeline_neighbours_cross_nodes = true;
    }
    int64_t state = 0, offloaded = 0, most = -1;  // of the GPU whose host takes most
    for (const StagePlan& stage : plan().stages) {
      const int64_t states = stage.memory.weights + stage.memory.optimizer;
      if (states + stage.all_offloaded_bytes() <= most) continue;
      most = states + stage.all_offloaded_bytes();
      state = states, offloaded = stage.all_offloaded_bytes();
    }
    const HostMemory host =
        HostMemoryOf(job_, placement.gpus_per_node, state, batching_.largest, offloaded);
    placement.host_memory_bytes = host.total();
    placement.shared_memory_bytes = host.shared_memory;
    placement.tiers = TiersOf(job_, p);
  }

  Job job_;  // that keeps the batch if the plan does
  const PlanHooks& hooks_;
  const bool short_search_;
  Batching batching_;
  SearchResult found_;                    // with all samples in one group
  std::optional<LengthClasses> classes_;  // only if groups were looked for
  GroupedSearchResult grouped_;           // without runs, the plan has one group
  PlanResult result_;
};

PlanResult PlanWhole(const Job& job, const PlanHooks& hooks, bool short_search) {
  PlanResult result;
  if (!RunsThrough(hooks.stop, [&] {
        if (!ChoosesOffload(job)) {
          result = Planning(job, hooks, short_search).Run();
          return;
        }
        std::optional<Planning> without;
        if (const std::optional<Job> nothing = WithoutChosenOffload(job)) {
          without.emplace(*nothing, hooks, short_search);
          without->Find();
        }
        const Job chosen = WithBestOffload(
            job, without ? without->AsWithoutOffload() : PlanWithoutOffload{}, hooks);
        const bool share = job.training.offload.choose && chosen.training.offload.ratio > 0;
        if (without && without->found() && !share && !chosen.training.activations.any()) {
          result = without->Complete();
          return;
        }
        Planning with(chosen, hooks, short_search);
        with.Find();
        // The offload was chosen by short searches.
        const bool gains = !without || !without->found() ||
                           (with.found() && with.gpu_days() < without->gpu_days());
        result = (gains ? with : *without).Complete();
      }))
    return {};
  return result;
}

}  // namespace

PlanResult MakePlan(const Job& job, const PlanHooks& hooks) {
  return PlanWhole(job, hooks, /*short_search=*/false);
}

PlanResult MakeShortPlan(const Job& job, const PlanHooks& hooks) {
  return PlanWhole(job, hooks, /*short_search=*/true);
}

}  // namespace evenkeel::planner
