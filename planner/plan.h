// The planner's output. Times are nanoseconds, sizes are bytes, both per GPU unless stated
// otherwise.
#ifndef EVENKEEL_PLANNER_PLAN_H_
#define EVENKEEL_PLANNER_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/cost/memory_parts.h"
#include "planner/job.h"
#include "planner/launch.h"
#include "planner/model/layer_kind.h"
#include "planner/model/recompute_parts.h"
#include "planner/packing/packing.h"
#include "planner/space/parallelism.h"
#include "planner/space/placement.h"

namespace evenkeel::planner {

// Version of the plans that MakePlan computes. Increase it whenever any plan changes.
inline constexpr int64_t kPlannerRevision = 44;

// How the data loader makes packs, and the packs that it makes from a sample of the dataset.
struct BatchRule {
  Packer packer = Packer::kBalanced;
  // What one unit of each encoder counts for in the caps and sums of units.
  PerEncoder<int64_t> unit_scales = 1;
  int64_t unit_cap = 0;     // Qv
  int64_t token_cap = 0;    // Qt
  int64_t keep_units = 0;   // Qv': a pack is kept if it has at least this many units ...
  int64_t keep_tokens = 0;  // Qt': ... or at least this many tokens
  int64_t iterations = 0;   // T
  uint64_t seed = 0;
  int64_t order_window = 16;  // steps whose packs may be exchanged for balance
  OversizePolicy oversize = OversizePolicy::kAlone;
  PackTimes pack_times;       // what dealing balances
  std::string caps_reason;    // explains the caps; empty if both were given
  bool caps_derived = false;  // unit_cap or token_cap is derived from the data
  int64_t sampled = 0;        // samples drawn from the histogram to predict the rest
  // Samples of the dataset that exceed a cap on their own, each in a pack of its own.
  int64_t oversize_samples = 0;
  double samples_per_pack = 0;             // AVE-BS
  int64_t packs = 0;                       // of the whole dataset, predicted
  double mean_units = 0, mean_tokens = 0;  // per pack
  double pad_ratio = 0;                    // share of padding; packs, laid end to end, have none
  // Over the data-parallel ranks, with packs in the order of the batch rule.
  double dist_ratio_units = 0, dist_ratio_tokens = 0;
  double dist_ratio_attention = 0;  // the same over sums of squared sample lengths
  int64_t pack_lower_bound = 0;     // for packings under these caps; 0 if not computed
  double idle_ratio = 0;            // share of a step's compute lost waiting for the slowest rank
};

// A run of equal layers of one chunk on one stage. The first layers of the run recompute as the
// first entry of `recomputed` says, and so on; the remaining layers recompute nothing.
struct LayerGroup {
  LayerKind kind = LayerKind::kDense;
  // Index among the layers of the component (an encoder or the language model).
  int64_t first = 0;
  int64_t count = 0;
  std::vector<RecomputedLayers> recomputed;
  int64_t chunk = 0;    // index among the stage's virtual stages
  int64_t encoder = 0;  // index of the encoder; 0 for the language model
  int64_t recomputed_count() const {
    int64_t layers = 0;
    for (const RecomputedLayers& r : recomputed) layers += r.count;
    return layers;
  }
};

struct StagePlan {
  std::vector<LayerGroup> layers;
  int64_t forward_ns = 0;    // one mean pack, tensor-parallel communication included
  int64_t backward_ns = 0;   // the same, without recompute
  int64_t recompute_ns = 0;  // forward passes repeated in the backward pass
  // p2p of one pack to the next stage, one way, over all chunks; 0 after the last stage.
  int64_t send_ns = 0;
  int64_t send_bytes = 0;
  // Micro-batches whose activations are held at once, counted once per chunk.
  int64_t in_flight = 0;
  int64_t parameters = 0;                  // on one GPU of the stage
  int64_t offloaded_bytes = 0;             // of one GPU's optimizer, in host memory
  int64_t offloaded_activation_bytes = 0;  // of one GPU, in host memory
  int64_t all_offloaded_bytes() const { return offloaded_bytes + offloaded_activation_bytes; }
  MemoryParts memory;
  int64_t capacity_bytes = 0;  // of one GPU, less the bytes to keep free
  int64_t free_bytes() const { return capacity_bytes - memory.total(); }
};

// Parts of one optimizer step, as means over all pipeline stages. They sum to `total_ns`.
struct StepTime {
  int64_t encoder_compute_ns = 0;   // forward + backward, without communication
  int64_t language_compute_ns = 0;  // embedding, decoder layers, head and loss
  int64_t recompute_ns = 0;
  int64_t tensor_communication_ns = 0;
  int64_t pipeline_bubble_ns = 0;  // idle time with mean packs, p2p included
  // Added by the real spread of packs: waiting for the slowest.
  int64_t imbalance_ns = 0;
  int64_t data_sync_ns = 0;  // gradient reduction and, with ZeRO-1 or 2, parameter gathering
  int64_t optimizer_ns = 0;
  int64_t measured_correction_ns = 0;  // correction to measured steps; either sign
  int64_t total_ns = 0;
};

// How near the runs behind an interval are to the job.
enum class Evidence { kSameJob, kSameTrainer, kOtherTrainer, kAssumed };

// The range of measured over predicted that 80% of runs are in (cost/interval.h).
struct Interval {
  double low = 0, centre = 1, high = 0;
  int64_t runs = 0;
  Evidence evidence = Evidence::kAssumed;
  std::string_view narrowed_by;  // for a person
};
inline constexpr double kIntervalCoverage = 0.8;

// Whether memory fits at the upper end of its interval, only at the lower end, or at neither.
enum class MemoryFit { kFits, kWithinMargin, kDoesNotFit };

struct Prediction {
  StepTime step;
  int64_t micro_batches = 0;    // per data-parallel rank and step
  int64_t steps_per_epoch = 0;  // the last may be holed: some rank lacks a pack
  int64_t holed_steps = 0;      // per epoch: 0 or 1
  double samples_per_step = 0;
  double epoch_seconds = 0;  // of whole steps; a double, as long epochs exceed 64 bits of ns
  double gpu_days = 0;       // all epochs
  double cost = 0;           // GPU hours x price; 0 if no price was given
  double mfu = 0;  // model FLOPs of the step (no recompute) over those at the precision's peak
  double llm_tokens_per_second = 0;  // whole job
  double bubble_ratio = 0;           // idle share of the pipeline with mean packs
  // Expected errors, as shares: mean absolute errors on published runs (cost/uncertainty.h). 0: not
  // validated.
  double step_uncertainty = 0, memory_uncertainty = 0;
  Interval step_interval, memory_interval;
};

// One rung of the ladder from the unbalanced start to the plan. Each rung is simulated with its own
// spread of packs.
struct LadderRung {
  std::string name;
  bool fits = true;
  double gpu_days = 0;
  int64_t step_ns = 0;
  double pad_ratio = 0, dist_ratio_units = 0, dist_ratio_tokens = 0;
};

// Under kWorkLimit, the lower bound still covers what was not searched.
enum class SearchEnd { kExhausted, kWorkLimit };

// How good the plan is. All times are per optimizer step of exactly the requested global batch,
// with mean packs, data sync and optimizer included. They are modelled times, without the
// correction by measured steps, which is the same for every plan.
struct Proof {
  int64_t step_ns = 0;              // this plan, simulated
  int64_t lower_bound_ns = 0;       // for the step of every plan of the search space
  double gap = 0;                   // step_ns / lower_bound_ns - 1
  int64_t plan_lower_bound_ns = 0;  // for every 1F1B of this plan's stages
  // The closed form (m - 1) max_s T_s + sum_s T_s, where T_s is the stage time with recompute and
  // p2p, without data sync and optimizer: this plan's value, and the least value of all partitions
  // and recompute counts under this plan's parallelism.
  int64_t closed_form_ns = 0;
  int64_t closed_form_optimum_ns = 0;
  SearchEnd end = SearchEnd::kExhausted;
  int64_t parallelisms = 0;             // considered
  int64_t parallelisms_pruned = 0;      // pruned by a bound without a search
  int64_t parallelisms_unfit = 0;       // do not fit in memory
  int64_t parallelisms_unsearched = 0;  // not searched when the work limit was reached
  // Left with simple cuts at the work limit, though they may be better.
  int64_t parallelisms_unrefined = 0;
  int64_t partitions_examined = 0;  // partial partitions or, with packing groups, sets
};

struct Alternative {
  Parallelism parallelism;
  std::vector<int64_t> stage_layers;
  int64_t step_ns = 0;
  double samples_per_step = 0;  // may differ from the plan's, since packs are whole
  double gpu_days = 0;
  int64_t least_free_bytes = 0;
  // Whether its GPU-days are within kDistinguishableRatio of the plan's.
  bool indistinguishable = false;
};

// Plans whose predictions differ by less than this share cannot be told apart. Among published runs
// that differ only in their settings, the one predicted to be faster is faster in at least four of
// five pairs if the predictions differ by more (tests/validation/intervals_test.cc).
inline constexpr double kDistinguishableRatio = 0.10;

// Micro-batches of a fixed number of samples, padded to one length.
struct PaddedBatches {
  double mean_row_tokens = 0;      // expected length of a padded sample
  int64_t longest_row_tokens = 0;  // memory is planned for it
  // Expected time of the rank with most work in a step over a mean rank's, by
  // BatchRule::pack_times.
  double slowest_rank_ratio = 1;
  // The same job with packs, by a short search, and the plan's GPU-days over its, less 1. nullopt
  // if nothing fits with packs.
  std::optional<Alternative> packed;
  double packing_gain = 0;
};

// The same job, with the same packs and global batch, on other GPUs: the cluster loses or gains a
// node, or has the next smaller or larger GPU type.
enum class SizeChange { kNodeLess, kNodeMore, kSmallerGpu, kLargerGpu };
struct OtherSize {
  SizeChange change = SizeChange::kNodeLess;
  std::string gpu;
  int64_t gpu_count = 0;
  bool fits = false;
  Alternative plan;  // only if it fits
};

// The same job, with the same packs and global batch, in another precision.
struct OtherPrecision {
  Precision precision = Precision::k16Bit;
  std::optional<Alternative> plan;  // nullopt if it does not fit
};

// The same job, with the same global batch and packs of its own, whose states are sharded
// otherwise.
struct OtherSharding {
  ZeroStage stage = ZeroStage::kNone;
  int64_t group = 0;                // as Training::zero_group
  std::optional<Alternative> plan;  // nullopt if it does not fit
};

// The same plan with one dispatcher of experts.
struct DispatcherTime {
  Dispatcher dispatcher = Dispatcher::kAllToAll;
  bool planned = false;  // whether it is the plan's own
  int64_t step_ns = 0;   // as in Prediction
};

// The plan with failures and checkpoints (docs/COST_MODEL.md, section 8). All figures are expected
// values.
struct Goodput {
  int64_t checkpoint_bytes = 0;                   // of the whole job
  double checkpoint_seconds = 0;                  // to write one checkpoint, while training waits
  int64_t interval_steps = 0;                     // from one checkpoint to the next
  double mean_time_between_failures_seconds = 0;  // of any node of the job
  double useful_share = 0;                        // share of the time in steps that count
  double seconds = 0;                             // from the start to the end of all epochs
  double gpu_days = 0, cost = 0;                  // as Prediction's
};

enum class RemedyKind {
  kMoreGpus,
  kSmallerCaps,
  kAllowRecompute,
  kShardOptimizer,
  kFreeDegrees,
  kLargerGpu,
  kContextParallel,
  kExpertParallel,
  kShardWeights,
  kStageLayers,
  kFreeSchedule,
  kOffloadOptimizer,
  kGradients16Bit,
  kSmallerMicroBatch,
  kOffloadActivations,
  kOffloadModules,
  kOffloadWeights,
  kFusedStep,
  kSeparateStep,
  kSmallerBatch,
  kLowerPrecision,
  kMoreHostMemory
};

// A change under which the job fits, tested by planning the changed job. ApplyRemedy
// (search/apply_remedy.h) says what each kind changes.
struct Remedy {
  RemedyKind kind;
  std::string text;  // for a person: what to change, and from and to which value
  int64_t gpu_count = 0;
  int64_t unit_cap = 0;
  int64_t token_cap = 0;
  std::string gpu;
  std::vector<int64_t> stage_layers;
  int64_t micro_batch_samples = 0;
  int64_t global_batch_samples = 0;
  Precision precision = Precision::k16Bit;
  int64_t host_memory_bytes = 0;  // of a node
};

// Why nothing fits: the parallelism that comes nearest, and its worst stage.
struct Misfit {
  // Whether it is proven that no partition and recompute of any parallelism fits. False if some
  // parallelisms run several chunks on a stage, of which not all cuts were tried.
  bool proven = true;
  Parallelism parallelism;
  int64_t stage = 0;
  std::vector<LayerGroup> layers;
  MemoryParts memory;
  int64_t capacity_bytes = 0;
  int64_t short_bytes = 0;
  int64_t host_short_bytes = 0;  // of a node's host; above 0 only if the GPUs lack nothing
  // Micro-batches of each rank and step under `parallelism`, which has most ranks. Above 0 only if
  // a fused step allows no degrees: then the fields about stages and memory are unset.
  int64_t micro_batches = 0;
  std::vector<Remedy> remedies;  // nearest first; empty if none of those tried helps
};

// What the offload of an optimizer and of activations moves, costs and gains.
struct OffloadPlan {
  double ratio = 0;                   // of the optimizer's states
  bool weights = false;               // weights and gradients are in host memory, too
  int64_t gpu_bytes = 0;              // that leave the fullest GPU
  int64_t host_bytes = 0;             // of a node, that hold them
  int64_t host_capacity_bytes = 0;    // of a node
  int64_t added_ns = 0;               // per step, above an update of everything on the GPU
  int64_t step_ns = 0;                // for the requested batch, simulated
  int64_t step_without_ns = 0;        // the same of the best plan without; 0 if none fits
  bool activations_asked = false;     // else the figures below are 0
  int64_t activation_layers = 0;      // of the language model
  bool of_modules = false;            // asked for instead of layers
  OffloadModules modules = 0;         // whose inputs are in host memory
  int64_t activation_bytes = 0;       // of the GPU that has most of them in host memory
  int64_t activation_host_bytes = 0;  // of a node, that hold them
  int64_t activation_added_ns = 0;    // per step, while passes wait for copies
};

// A packing group and how its steps run. Counts are per epoch; figures are as in BatchRule.
struct GroupPlan {
  // Tokens. The group takes the samples longer than those of the group before.
  int64_t longest_sample = 0;
  int64_t token_cap = 0, unit_cap = 0;
  Parallelism parallelism;    // the plan's, except for context and data
  int64_t micro_batches = 0;  // packs per rank and step
  std::vector<StagePlan> stages;
  StepTime step;
  // Samples of its own lengths, and shorter samples that fill up its packs.
  int64_t samples = 0, fillers = 0;
  int64_t packs = 0, steps = 0;
  double share = 0;  // packs x context, as a share of the sum over all groups
  double mean_tokens = 0;
  double dist_ratio_tokens = 0, dist_ratio_attention = 0, idle_ratio = 0;
  std::string reason;  // why this length and degree, in words
  int64_t recomputed_layers() const {
    int64_t layers = 0;
    for (const StagePlan& stage : stages)
      for (const LayerGroup& group : stage.layers) layers += group.recomputed_count();
    return layers;
  }
};

// A summary of a set of packing groups.
struct GroupLengths {
  std::vector<int64_t> lengths, contexts;  // tokens of a pack, GPUs that share it
  double gpu_days = 0;                     // with mean packs and even stages; 0 if it does not fit
};

// Ways to batch samples of different lengths, on the split of the plan.
enum class BatchingMethod { kNaivePacking, kSorted, kFlexSp, kGroups, kBalancedGroups };
struct BatchingBaseline {
  BatchingMethod method = BatchingMethod::kNaivePacking;
  bool fits = true;
  double gpu_days = 0;
  int64_t step_ns = 0;                                     // mean
  double pad_ratio = 0;                                    // PR
  double dist_ratio_tokens = 0, dist_ratio_attention = 0;  // DBR, ABR
  double communication_ratio = 0;                          // CR
  double mean_rank_tokens = 0;                             // Ave-T
};

// How the packing groups were chosen.
struct GroupChoice {
  std::vector<int64_t> candidate_lengths;
  GroupLengths published, exact;
  int64_t examined_sets = 0;
  std::vector<BatchingBaseline> baselines;  // worst first
  int64_t curriculum_steps = 0;
  double communication_ratio = 0;
  double mean_rank_tokens = 0;
};

// The packing groups of a plan.
struct Grouping {
  std::vector<GroupPlan> groups;  // ascending in length: at least two
  GroupChoice choice;
};

// Settings for one trainer, and the run that they give.
struct Launch {
  LaunchFramework framework = LaunchFramework::kMegatron;
  LaunchMatch match = LaunchMatch::kNone;
  std::string program;  // takes the arguments, as words; empty if it is the user's own
  std::vector<std::string> arguments;       // words of a command line
  std::vector<LaunchVariable> environment;  // of every process
  std::vector<LaunchFile> files;
  std::vector<LaunchNote> notes;
  // For kNearest: the run, predicted on the plan's packs.
  Parallelism parallelism;
  Schedule schedule = Schedule::kOneFOneB;
  std::vector<StagePlan> stages;
  int64_t step_ns = 0;   // of one step, as in Prediction; 0 for kNone
  double slower_by = 0;  // step_ns over the plan's, less 1
  int64_t tried = 0;     // recompute settings of the trainer that were predicted
  int64_t fitting = 0;   // those of them that fit in memory
};

struct Plan {
  std::optional<Misfit> misfit;  // only if it does not fit, as predicted
  bool fits() const { return !misfit; }
  MemoryFit memory_fit = MemoryFit::kDoesNotFit;
  std::vector<FigureBasis> figures;  // those of the job and of the cost model

  BatchRule batch_rule;
  Parallelism parallelism;
  Schedule schedule = Schedule::kOneFOneB;
  std::vector<StagePlan> stages;
  Prediction prediction;
  std::vector<LadderRung> ladder;
  Proof proof;
  // Time per sample over that of the best plan that a short search finds without the trainer's
  // limits, less 1. nullopt if no limit may cost anything.
  std::optional<double> trainer_limits_cost;
  // Time per sample of the best plan that a short search finds in which only
  // Parallelism::encoder_data differs, over this plan's, less 1. nullopt if there is none.
  std::optional<double> encoder_data_gain;
  std::optional<PaddedBatches> padded;  // if the job pads micro-batches
  std::vector<Alternative> alternatives;
  std::vector<OtherSize> other_sizes;  // if the job asks for them
  // The plan with each dispatcher that the trainer and the cluster have, quickest first. Empty if
  // experts are not spread over ranks.
  std::vector<DispatcherTime> expert_dispatchers;
  std::optional<OffloadPlan> offload;            // if the job asks for it
  std::vector<OtherPrecision> other_precisions;  // if the job asks for them
  std::vector<OtherSharding> other_shardings;    // if the job asks for them
  std::optional<Goodput> goodput;                // if the job says how often nodes fail
  Placement placement;

  // If the plan has packing groups, batch_rule and prediction summarise them, and parallelism and
  // stages are those of the last group.
  std::optional<Grouping> grouping;

  std::vector<Launch> launch;  // in the order of LaunchRequest::frameworks; empty if !fits()
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PLAN_H_
