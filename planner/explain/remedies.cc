#include "planner/explain/remedies.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "planner/base/integers.h"
#include "planner/base/units.h"
#include "planner/candidates/parallelisms.h"
#include "planner/choose/caps.h"
#include "planner/cost/host_memory.h"
#include "planner/cost/memory.h"
#include "planner/cost/step_size_limit.h"
#include "planner/cuts/least_memory.h"
#include "planner/explain/changed_job.h"
#include "planner/hardware/gpus.h"
#include "planner/model/towers.h"
#include "planner/partition/segments.h"
#include "planner/simulate/step_simulation.h"
#include "planner/space/degrees.h"
#include "planner/space/fused_step.h"
#include "planner/space/network_tiers.h"
#include "planner/space/offload.h"

namespace evenkeel::planner {
namespace {

// Work for all remedies together, and for each number of GPUs. Changes that need more work are not
// found.
constexpr int64_t kSegmentsToTry = 2'000'000;
constexpr int kDoublings = 7;
constexpr int64_t kStepsInsideNode = 16;
constexpr int64_t kHostMemoryAtMost = int64_t{1} << 46;  // the contract's bound

Remedy SeparateStep() {
  return {.kind = RemedyKind::kSeparateStep, .text = "update all layers after the backward pass"};
}

class Remedies {
 public:
  Remedies(const Job& job, const Batching& batching, const Misfit& misfit, const Stop& stop)
      : job_(job), batching_(batching), misfit_(misfit), stop_(stop) {}

  std::vector<Remedy> Find() {
    if (misfit_.micro_batches > 0) return FewerMicroBatches();
    if (misfit_.host_short_bytes > 0) TryHostMemory();
    if (job_.training.fused_step) TryWithoutLongPacks();
    TryStageLayers();
    TryRecompute();
    TrySchedule();
    TrySharding();
    TryContext();
    TryExperts();
    TryFreeDegrees();
    TryShardingWeights();
    job_.training.micro_batch_samples > 0 ? TryFewerSamples() : TrySmallerCaps();
    TryMoreGpus();
    TryLargerGpu();
    // Tried last, so that they take no work from the others, but nearer than other packs and GPUs.
    const size_t others = found_.size();
    TryGradients();
    TryFusedStep();
    TryPrecision();
    TryOffload();
    TryOffloadingWeights();
    TryActivations();
    TryModules();
    const auto last = found_.begin() + static_cast<std::ptrdiff_t>(others);
    std::rotate(std::find_if(found_.begin(), last, ChangesPacksOrGpus), last, found_.end());
    return std::move(found_);
  }

 private:
  bool Stopped() const { return stop_(); }

  // Derived packs of a fused step grow until a step has one for each rank.
  void TryWithoutLongPacks() {
    Offer(SeparateStep());
    Remedy fewer{.kind = RemedyKind::kSmallerBatch,
                 .global_batch_samples = job_.training.global_batch_samples};
    for (int halvings = 0; halvings < kDoublings && fewer.global_batch_samples > 1; ++halvings) {
      fewer.global_batch_samples /= 2;
      if (Stopped() || OfferSmallerBatch(fewer)) return;
    }
  }

  bool OfferSmallerBatch(Remedy fewer) {
    fewer.text = "fewer samples per step: " + std::to_string(fewer.global_batch_samples) +
                 " instead of " + std::to_string(job_.training.global_batch_samples);
    return Offer(std::move(fewer));
  }

  // Returns the remedies of a fused step with too many micro-batches: one micro-batch for each
  // rank, or a separate step.
  std::vector<Remedy> FewerMicroBatches() {
    Offer(SeparateStep());
    const double packs = batching_.packs_per_step(job_.training.global_batch_samples);
    const double samples = D(job_.training.global_batch_samples) / packs;
    OfferSmallerBatch({.kind = RemedyKind::kSmallerBatch,
                       .global_batch_samples = std::max<int64_t>(
                           1, static_cast<int64_t>(samples * D(misfit_.parallelism.data)))});
    TryMoreGpus();
    return std::move(found_);
  }

  // Tests quickly whether a change that leaves the packs as they are may help. If caps are derived,
  // the job may get other packs with the change.
  bool MayFit(const Remedy& remedy) { return MayFit(ApplyRemedy(job_, remedy)); }
  bool MayFit(const Job& changed) {
    if (Stopped()) return false;
    if (HasDegrees(changed) &&
        FitsInMemory(OfMisfit(changed), batching_, stop_, &own_segments_left_))
      return true;
    int64_t of_gpus = kSegmentsToTry;
    const bool same = changed.cluster.gpu_count == job_.cluster.gpu_count;
    return FitsInMemory(changed, batching_, stop_, same ? &segments_left_ : &of_gpus);
  }

  bool Plans(const Remedy& remedy) const { return Plans(ApplyRemedy(job_, remedy)); }
  bool Plans(const Job& changed) const {
    if (Stopped() || OneGpuStepSeconds(changed) > kOneGpuStepSecondsAtMost) return false;
    return (HasDegrees(changed) && FitsWithAnyPacks(OfMisfit(changed), stop_)) ||
           FitsWithAnyPacks(changed, stop_);
  }

  // With fewer samples, the free job may leave out the degrees of the misfit (Parallelisms), and a
  // change may hold degrees (AskActivationOffload).
  bool HasDegrees(const Job& changed) const {
    const Parallelism& p = misfit_.parallelism;
    const Constraints& c = changed.constraints;
    return changed.training.global_batch_samples == job_.training.global_batch_samples &&
           Admits(c.pipeline_parallel, p.pipeline) && Admits(c.virtual_stages, p.virtual_stages);
  }

  // Returns the job with only the degrees of the misfit. They lack the least memory, so that a
  // change is likely to make them fit, and few need to be looked at.
  Job OfMisfit(Job changed) const {
    PinDegrees(misfit_.parallelism, &changed.constraints);
    changed.constraints.virtual_stages = DegreeRange::Exactly(misfit_.parallelism.virtual_stages);
    return changed;
  }

  bool Offer(Remedy remedy) {
    if (!Plans(remedy)) return false;
    found_.push_back(std::move(remedy));
    return true;
  }

  void Try(Remedy remedy) {
    if (MayFit(remedy)) Offer(std::move(remedy));
  }

  // Tries other stages if they are given or come from a method, and the trainer takes others.
  void TryStageLayers() {
    const Constraints& c = job_.constraints;
    const bool given = !c.stage_layers.empty();
    const bool own = job_.training.trainer->partition_method != PartitionMethod::kExact;
    const Parallelism& p = misfit_.parallelism;
    if (own || p.pipeline < 2 || p.virtual_stages > 1) return;
    if (!given && c.partition_method == PartitionMethod::kExact) return;
    Job open = job_;
    open.constraints.stage_layers.clear();
    open.constraints.partition_method = PartitionMethod::kExact;
    const double packs = batching_.packs_per_step(job_.training.global_batch_samples);
    MemoryProspect prospect;
    prospect.parallelism = p;
    prospect.shape = ShapeOf(p, ScheduleOf(open.constraints, p), MicroBatches(packs, p.data));
    prospect.profile = BuildLayerProfile(open, p, batching_.mean, batching_.largest, {},
                                         prospect.shape.micro_batches);
    // Moves few layers if that is enough, or else fills the stages least.
    if (given) {
      const Segments fixed(job_, prospect.profile, p, prospect.shape.micro_batches);
      if (OfferLayers(prospect, Relieve(open, prospect, fixed.fixed_boundaries(), stop_))) return;
    }
    segments_left_ -= prospect.segments();
    if (segments_left_ >= 0) OfferLayers(prospect, LeastFullest(open, prospect, stop_));
  }

  bool OfferLayers(const MemoryProspect& prospect, const LeastFull& cut) {
    if (!cut.found || cut.held.allocated > AllocatableBytes(job_)) return false;
    Remedy remedy{.kind = RemedyKind::kStageLayers,
                  .text = "other layers per stage: ",
                  .stage_layers = LayersPerSegment(prospect.profile, cut.boundaries)};
    for (size_t s = 0; s < remedy.stage_layers.size(); ++s)
      remedy.text += (s == 0 ? "" : ", ") + std::to_string(remedy.stage_layers[s]);
    return Offer(std::move(remedy));
  }

  void TryHostMemory() {
    const int64_t here = HostOf(job_.cluster).memory_bytes;
    const int64_t gib = CeilDivide(here + misfit_.host_short_bytes, int64_t{1} << 30);
    if (gib << 30 > kHostMemoryAtMost) return;
    Try({.kind = RemedyKind::kMoreHostMemory,
         .text = "more host memory: " + std::to_string(gib) + " GiB of a node instead of " +
                 std::to_string(here >> 30),
         .host_memory_bytes = gib << 30});
  }

  void TryRecompute() {
    // One setting may be to recompute everything, which holds least.
    const RecomputePolicy policy = job_.constraints.recompute;
    if (policy == RecomputePolicy::kAuto || policy == RecomputePolicy::kOneSetting) return;
    Try({.kind = RemedyKind::kAllowRecompute,
         .text = "let the planner choose which layers to recompute"});
  }

  void TrySchedule() {
    // A partition method brings its schedule with it.
    if (!job_.constraints.schedule || job_.constraints.partition_method != PartitionMethod::kExact)
      return;
    Try({.kind = RemedyKind::kFreeSchedule, .text = "let the planner choose the schedule"});
  }

  void TrySharding() {
    if (job_.training.zero_stage != ZeroStage::kNone) return;
    Try({.kind = RemedyKind::kShardOptimizer,
         .text = "shard the optimizer over data-parallel ranks (ZeRO 1)"});
  }

  void TryGradients() {
    if (!job_.training.distributed_gradients_fp32 || job_.training.execution.autocast) return;
    Try({.kind = RemedyKind::kGradients16Bit, .text = "accumulate gradients in 16 bits"});
  }

  void TryFusedStep() {
    Job changed = job_;
    changed.training.fused_step = true;
    if (job_.training.fused_step || !AdmitsFusedStep(changed)) return;
    Try({.kind = RemedyKind::kFusedStep,
         .text = "update each layer inside the backward pass, without clipping gradients"});
  }

  // Inputs of products are kept in fewer bits; copies of weights may take more.
  void TryPrecision() {
    if (!job_.training.trainer->low_precision || job_.training.execution.autocast ||
        job_.training.precision != Precision::k16Bit ||
        FrozenFormatOf(job_.model) != FrozenFormat::k16Bit)
      return;
    for (const PrecisionRecipe& recipe : PrecisionRecipes()) {
      if (recipe.precision == Precision::k16Bit || !HasProducts(job_.cluster.gpu, recipe.products))
        continue;
      Remedy remedy{.kind = RemedyKind::kLowerPrecision, .precision = recipe.precision};
      if (!MayFit(remedy)) continue;
      remedy.text = "run the products of linear layers in " + std::string(recipe.title);
      if (Offer(std::move(remedy))) return;
    }
  }

  // If the job fits with some share, the search for the best share finds a plan.
  void TryOffload() {
    const Training& training = job_.training;
    const OffloadShares shares = OffloadSharesOf(*training.trainer, training.zero_stage);
    if (training.offload.asked || training.fused_step || shares == OffloadShares::kNone ||
        !RecordOf(training.optimizer).host_update ||
        training.group_selection != GroupSelection::kOne)
      return;
    for (const double ratio : {1.0, 0.7, 0.4}) {
      if (ratio < 1 && shares == OffloadShares::kWhole) return;
      const Job changed = WithOffload(job_, ratio);
      if (!MayFit(changed) || !Plans(changed)) continue;
      found_.push_back({.kind = RemedyKind::kOffloadOptimizer,
                        .text = ratio == 1 ? "keep the optimizer states in host memory"
                                           : "keep up to " + std::to_string(Nearest(100 * ratio)) +
                                                 "% of the optimizer states in host memory"});
      return;
    }
  }

  // Weights move only together with all states: more than needed where moving states is enough.
  void TryOffloadingWeights() {
    const Training& training = job_.training;
    const auto of_optimizer = [](const Remedy& r) {
      return r.kind == RemedyKind::kOffloadOptimizer;
    };
    if (training.offload.asked || training.fused_step || !training.trainer->offload.weights ||
        training.zero_stage != ZeroStage::kWeights || !RecordOf(training.optimizer).host_update ||
        training.group_selection != GroupSelection::kOne ||
        std::any_of(found_.begin(), found_.end(), of_optimizer))
      return;
    Try({.kind = RemedyKind::kOffloadWeights,
         .text = "keep weights, gradients and optimizer states in host memory"});
  }

  // With many layers offloaded, the GPU holds little. With few, the host needs little memory.
  void TryActivations() {
    const Training& training = job_.training;
    const bool any_count = training.trainer->activations.any_count;
    if ((training.activations.asked && training.activations.layers == 0) ||
        training.offload.choose || training.group_selection != GroupSelection::kOne ||
        !AdmitsActivationOffload(job_))
      return;
    const int64_t most = OffloadedLayersAtMost(job_);
    for (const int64_t quarters : {4, 3, 2, 1}) {
      const int64_t layers = most * quarters / 4;
      if (layers == 0 || Stopped() || (quarters < 4 && !any_count)) return;
      Job changed = job_;
      AskActivationOffload(layers, &changed);
      if (!MayFit(changed) || !Plans(changed)) continue;
      found_.push_back({.kind = RemedyKind::kOffloadActivations,
                        .text = "keep the activations of up to " + std::to_string(layers) +
                                " language layers in host memory"});
      return;
    }
  }

  // Where layers cannot be offloaded, modules may be. All of them leave least on the GPU.
  void TryModules() {
    const Training& training = job_.training;
    if (training.activations.asked || training.offload.choose ||
        training.group_selection != GroupSelection::kOne || !AdmitsModuleOffload(job_))
      return;
    for (const RecomputeSetting& setting : SettingsBesideModules(job_)) {
      const OffloadModules modules = ModulesBeside(OffloadModulesOf(job_), setting);
      if (modules == 0 || Stopped()) return;
      Job changed = job_;
      AskModuleOffload(0, &changed);
      changed = WithModules(changed, modules, modules, setting);
      if (!MayFit(changed) || !Plans(changed)) continue;
      found_.push_back(
          {.kind = RemedyKind::kOffloadModules, .text = "keep inputs of modules in host memory"});
      return;
    }
  }

  void TryContext() {
    if (!job_.constraints.context_parallel.is_bound()) return;
    Try({.kind = RemedyKind::kContextParallel, .text = "let ranks share the tokens of a pack"});
  }

  void TryExperts() {
    if (!job_.model.language_model.moe || !job_.training.trainer->expert_parallel ||
        !job_.constraints.expert_parallel.is_bound())
      return;
    Try({.kind = RemedyKind::kExpertParallel, .text = "let ranks share a layer's experts"});
  }

  void TryFreeDegrees() {
    const Constraints& c = job_.constraints;
    if (!c.tensor_parallel.is_bound() && !c.pipeline_parallel.is_bound() &&
        !c.data_parallel.is_bound() && !c.encoder_data.is_bound() && c.virtual_stages.min <= 1 &&
        c.stage_layers.empty() && c.partition_method == DefaultMethod(*job_.training.trainer, c))
      return;
    Try({.kind = RemedyKind::kFreeDegrees,
         .text = "lift the constraints on parallel degrees and partition"});
  }

  void TryShardingWeights() {
    const Training& training = job_.training;
    if (training.zero_stage == ZeroStage::kWeights) return;
    // A trainer may offload the optimizer with some stages of ZeRO only.
    const OptimizerOffload& offload = training.offload;
    const bool offloads = offload.choose || offload.given || offload.ratio > 0 || offload.weights;
    const OffloadShares before = OffloadSharesOf(*training.trainer, training.zero_stage);
    const OffloadShares after = OffloadSharesOf(*training.trainer, ZeroStage::kWeights);
    if (offloads && after != before && after != OffloadShares::kAny) return;
    Try({.kind = RemedyKind::kShardWeights,
         .text = "shard weights and gradients too, without pipeline (ZeRO 3, FSDP)"});
  }

  void TrySmallerCaps() {
    const BatchRule& rule = batching_.rule;
    const int64_t longest = job_.dataset.totals().longest_tokens;
    int64_t most_units = 0;
    for (const LengthBin& bin : job_.dataset.bins)
      most_units = std::max(most_units, job_.dataset.ScaledUnits(bin));
    // Tries seven eighths of the token cap, six eighths, ... down to the longest sample; units in
    // proportion.
    for (int64_t eighths = 7; eighths >= 1; --eighths) {
      const int64_t tokens =
          std::max(longest, std::min(kTokenCapAtMost, rule.token_cap * eighths / 8));
      const int64_t units =
          rule.unit_cap == 0
              ? 0
              : std::max(most_units, std::min(kUnitCapAtMost, rule.unit_cap * eighths / 8));
      if (tokens >= rule.token_cap && units >= rule.unit_cap) return;
      Remedy remedy{.kind = RemedyKind::kSmallerCaps, .unit_cap = units, .token_cap = tokens};
      if (Stopped()) return;
      const Job changed = ApplyRemedy(job_, remedy);
      if (!FitsInMemory(changed, MakeBatching(changed, stop_), stop_, &segments_left_)) continue;
      remedy.text = "smaller packs: a token cap of " + std::to_string(tokens) + " instead of " +
                    std::to_string(rule.token_cap);
      if (units > 0)
        remedy.text += ", a unit cap of " + std::to_string(units) + " instead of " +
                       std::to_string(rule.unit_cap);
      if (Offer(std::move(remedy))) return;
    }
  }

  // Tries the most samples per micro-batch that fit, by bisection.
  void TryFewerSamples() {
    int64_t fits = 0, too_many = job_.training.micro_batch_samples;
    while (too_many - fits > 1) {
      const int64_t samples = (fits + too_many) / 2;
      const Job changed = ApplyRemedy(
          job_, {.kind = RemedyKind::kSmallerMicroBatch, .micro_batch_samples = samples});
      if (Stopped()) return;
      const bool enough =
          FitsInMemory(changed, MakeBatching(changed, stop_), stop_, &segments_left_);
      (enough ? fits : too_many) = samples;
    }
    if (fits == 0) return;
    Offer({.kind = RemedyKind::kSmallerMicroBatch,
           .text = "fewer samples per micro-batch: " + std::to_string(fits) + " instead of " +
                   std::to_string(job_.training.micro_batch_samples),
           .micro_batch_samples = fits});
  }

  static Remedy MoreGpus(int64_t gpus) {
    return {.kind = RemedyKind::kMoreGpus, .gpu_count = gpus};
  }

  // Finds the fewest GPUs: one by one inside a node, then whole nodes (and whole units of the
  // network where the job must fill them), doubling until the job fits and bisecting between the
  // last two.
  void TryMoreGpus() {
    const int64_t node = job_.cluster.gpus_per_full_node, from = job_.cluster.gpu_count;
    const int64_t joined = job_.cluster.joined_gpus;
    const int64_t most = joined > 0 ? std::min(joined, kGpusAtMost) : kGpusAtMost;
    for (int64_t gpus = from + 1; gpus <= std::min({node, from + kStepsInsideNode, most}); ++gpus) {
      if (MayFit(MoreGpus(gpus)) && OfferGpus(gpus)) return;
    }
    const auto up_to = [&](int64_t gpus) {
      return GpusInWholeUnits(job_.cluster, std::min(most, gpus) / node * node);
    };
    int64_t few = from, enough = up_to(GpusOfWholeUnits(job_.cluster, std::max(node, 2 * from)));
    for (int doublings = 0;; enough = up_to(2 * enough), ++doublings) {
      if (doublings > kDoublings || enough <= few) return;
      if (MayFit(MoreGpus(enough))) break;
      few = enough;
    }
    while (true) {
      // The middle may lie in the first unit after `few`. A part of that unit is not possible.
      int64_t middle = up_to((few + enough) / 2);
      if (middle <= few) middle = GpusOfWholeUnits(job_.cluster, few / node * node + node);
      if (middle >= enough) break;
      (MayFit(MoreGpus(middle)) ? enough : few) = middle;
    }
    OfferGpus(enough);
  }

  bool OfferGpus(int64_t gpus) {
    Remedy remedy = MoreGpus(gpus);
    remedy.text =
        std::to_string(gpus) + " GPUs instead of " + std::to_string(job_.cluster.gpu_count);
    return Offer(std::move(remedy));
  }

  // Finds the smallest memory in the catalogue that is enough, of the same vendor and in nodes of
  // as many GPUs: with other nodes, tiers of the network could be no multiple of a node.
  void TryLargerGpu() {
    std::vector<const GpuEntry*> larger;
    for (const GpuEntry* gpu : GpusThatCanRun(job_)) {
      if (gpu->spec.node_gpus != job_.cluster.gpu.node_gpus) continue;
      if (gpu->spec.memory_bytes > job_.cluster.gpu.memory_bytes) larger.push_back(gpu);
    }
    std::stable_sort(larger.begin(), larger.end(), [](const GpuEntry* a, const GpuEntry* b) {
      return a->spec.memory_bytes < b->spec.memory_bytes;
    });
    for (const GpuEntry* gpu : larger) {
      Remedy remedy{.kind = RemedyKind::kLargerGpu, .gpu = gpu->spec.name};
      if (!MayFit(remedy)) continue;
      remedy.text = "the same number of " + gpu->spec.name + " (" +
                    std::to_string(gpu->spec.memory_bytes / kGiB) + " GiB)";
      if (Offer(std::move(remedy))) return;
    }
  }

  const Job& job_;
  const Batching& batching_;
  const Misfit& misfit_;
  const Stop stop_;
  int64_t segments_left_ = kSegmentsToTry;
  int64_t own_segments_left_ = kSegmentsToTry;  // for the degrees of the misfit
  std::vector<Remedy> found_;
};

}  // namespace

std::vector<Remedy> FindRemedies(const Job& job, const Batching& batching, const Misfit& misfit,
                                 const Stop& stop) {
  return Remedies(job, batching, misfit, stop).Find();
}

}  // namespace evenkeel::planner
