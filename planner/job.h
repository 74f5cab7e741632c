// The planner's input: one job, complete and valid. server/convert turns a PlanJobRequest into a
// Job: names resolved, defaults filled in, every bound of the contract checked. The planner looks
// nothing up and refuses nothing.
#ifndef EVENKEEL_PLANNER_JOB_H_
#define EVENKEEL_PLANNER_JOB_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planner/calibration.h"
#include "planner/cost/cost_constants.h"
#include "planner/hardware/gpu_spec.h"
#include "planner/launch.h"
#include "planner/model/model_spec.h"
#include "planner/model/recompute_setting.h"
#include "planner/packing/packing.h"
#include "planner/space/parallelism.h"
#include "planner/trainer/execution.h"
#include "planner/trainer/optimizer.h"
#include "planner/trainer/precision.h"
#include "planner/trainer/trainers.h"
#include "planner/workload/dataset.h"

namespace evenkeel::planner {

// The network between nodes. kRdma is InfiniBand or RoCE; kEfa is AWS's Elastic Fabric Adapter, on
// which GPUs cannot start messages themselves.
enum class Fabric { kRdma, kEfa };

// A unit of a tier of the network: the GPUs that it joins. If `gpus` is 0, there is no such tier.
struct NetworkUnit {
  std::string name;
  int64_t gpus = 0;
  int64_t usable = 0;   // the most of them that a job uses: whole nodes
  bool filled = false;  // jobs of more GPUs than `usable` take that many of every unit
};

struct Cluster {
  GpuSpec gpu;
  int64_t gpu_count = 0;
  int64_t gpus_per_node = 8;               // GPUs of a node that this job uses, at most gpu_count
  int64_t gpus_per_full_node = 8;          // GPUs that a node has
  double intra_node_bytes_per_second = 0;  // per GPU and direction
  double inter_node_bytes_per_second = 0;  // per GPU and direction
  Fabric fabric = Fabric::kRdma;           // between nodes
  int64_t reserved_bytes = 0;              // bytes of each GPU to keep free on request
  // The host, as the job describes it. 0: as the GPU type's usual host (hardware/hosts.h).
  int64_t host_memory_bytes = 0;            // of a node, for this job
  double host_link_bytes_per_second = 0;    // per GPU and direction
  double host_memory_bytes_per_second = 0;  // of a node, for this job
  double price_per_gpu_hour = 0;            // if 0, no cost is computed
  // GPUs that one scale-up link joins, if it spans nodes, at intra_node_bytes_per_second.
  NetworkUnit domain;
  NetworkUnit pod;  // between pods, bandwidth is lower than between the nodes of one
  double inter_pod_bytes_per_second = 0;  // per GPU and direction, if all GPUs use it
  int64_t joined_gpus = 0;                // most GPUs that the network joins; 0: no limit
  // Measured times of collectives, from the calibration. nullptr: only the cost model counts.
  std::shared_ptr<const std::vector<CollectiveCurve>> collectives;
};

// kWholeLayers recomputes all of a layer or nothing, as frameworks without selective recompute do.
// kAdaptive is balanced adaptive recomputation as OmniBal publishes it, a baseline for comparison.
// kOneSetting takes one setting for all stages, as most trainers do: nothing, parts of every
// language layer, or whole layers from the front of each chunk (RecomputeSetting).
enum class RecomputePolicy { kAuto, kForbidden, kFull, kWholeLayers, kAdaptive, kOneSetting };

// How samples of different lengths are put into packing groups: one group for all, HBP's published
// rule (arXiv 2503.07680, algorithm 1), or the set of least predicted epoch time.
enum class GroupSelection { kOne, kPublished, kExact };
inline constexpr size_t kGroupLengthsAtMost = 12;

// The largest caps that a job may ask for. Derived ones may be larger.
inline constexpr int64_t kTokenCapAtMost = kMaxSampleTokens;
inline constexpr int64_t kUnitCapAtMost = kMaxSampleUnits;

// An order_window of the whole epoch: the largest that a job may ask for.
inline constexpr int64_t kWholeEpoch = 1'000'000'000;

// The part of the optimizer's states and updates that is in host memory. Every rank offloads the
// same share.
struct OptimizerOffload {
  bool asked = false;   // if false, nothing is offloaded, and the plan omits it
  bool choose = false;  // the planner chooses the share
  bool given = false;   // the job gives the share, which may be 0
  double ratio = 0;     // of the states that leave the GPU, from 0 to 1
  // Share whose time and host memory are counted. It is less than `ratio` only when the search
  // computes a bound, so that the bound holds for every share between both.
  double charged_ratio = 0;
  // Weights and gradients are in host memory, too, and every pass copies them (FSDP2's
  // CPUOffloadPolicy). Allowed only with all states, at ZeroStage::kWeights.
  bool weights = false;
};

// An inclusive range.
struct DegreeRange {
  int64_t min = 1;
  int64_t max = 0;  // 0 for no bound

  static constexpr DegreeRange Exactly(int64_t degree) { return {degree, degree}; }
  constexpr bool is_bound() const { return min > 1 || max != 0; }
};

// Language layers whose kept activations wait in host memory between their forward and backward
// pass, or modules of all language layers whose inputs do. space/offload.h lists what a
// job with either may still choose.
struct ActivationOffload {
  bool asked = false;       // if false, nothing is offloaded, and the plan omits it
  bool choose = false;      // the planner chooses how many, or what is recomputed with modules
  bool of_modules = false;  // the job asks for modules, not for layers
  int64_t layers = 0;       // of the whole model; every stage offloads the same share of its own
  // Layers whose copies and host memory are counted: see OptimizerOffload::charged_ratio.
  int64_t charged_layers = 0;
  // If `choose`: the only modules to try; 0 for any.
  OffloadModules given_modules = 0;
  // Offloaded modules, and those whose copies and host memory are counted.
  OffloadModules modules = 0, charged_modules = 0;
  // The recompute of every language layer beside the modules: parts that drop no tensor of them.
  RecomputeSetting beside;
  bool any() const { return layers > 0 || modules != 0; }
  // The job's own constraints, for plans in which no layer is offloaded.
  RecomputePolicy free_recompute = RecomputePolicy::kAuto;
  DegreeRange free_pipeline, free_virtual_stages;
};

// Unset caps (0) are derived from the data.
struct Training {
  int64_t global_batch_samples = 0;  // samples per optimizer step, mean
  // If true, degrees whose steps miss this batch are left out (Parallelisms), if other degrees do
  // not miss it. The planner sets it when its plan would miss the batch.
  bool keeps_batch = false;
  int64_t unit_cap = 0;   // Qv
  int64_t token_cap = 0;  // Qt
  ZeroStage zero_stage = ZeroStage::kOptimizer;
  // True if the job leaves the ZeRO stage open and the trainer has
  // `default_execution_unsharded`: the stage is kNone with one GPU, and the trainer's own with
  // more.
  bool stage_by_gpus = false;
  // Ranks that share the sharded states. If it does not divide the ranks that hold copies, the next
  // smaller divisor counts. 0: all of these ranks.
  int64_t zero_group = 0;
  const Trainer* trainer = &DefaultTrainer();
  // Name and version as the caller gives them. If the name has no record, `trainer` is the generic
  // one. Empty: not given.
  std::string trainer_name, trainer_version;
  Execution execution;
  Precision precision = Precision::k16Bit;
  Optimizer optimizer = Optimizer::kAdam;
  OptimizerOffload offload;
  ActivationOffload activations;
  // fp32 gradient accumulation (Megatron's default), else 16-bit.
  bool distributed_gradients_fp32 = true;
  // Gradients are 16-bit only because weights are float16 and the job does not give the precision
  // of gradients.
  bool gradients_follow_float16 = false;
  int64_t epochs = 1;
  uint64_t seed = 0;
  int64_t isf_iterations = 10;
  Packer packer = Packer::kBalanced;
  int64_t order_window = 16;  // DealRule::window: steps whose packs may be exchanged for balance
  GroupSelection group_selection = GroupSelection::kOne;
  // Lengths, in tokens, that the packs of a group may have, ascending, besides the longest
  // sample's. If empty, powers of two from 8192.
  std::vector<int64_t> group_lengths;
  // Steps with only the shortest group; -1 for the published number.
  int64_t curriculum_steps = -1;
  // Samples of a micro-batch of a loader that pads them to one length. 0: packs.
  int64_t micro_batch_samples = 0;
  int64_t pad_to_tokens = 0;     // one length for all micro-batches; 0 for the longest of each
  int64_t pad_to_multiple = 1;   // the length is rounded up to a multiple
  bool group_by_length = false;  // micro-batches hold samples of similar length
  // Each layer is updated inside the backward pass. Only at ZeroStage::kWeights, with one
  // micro-batch per step.
  bool fused_step = false;
};

// Sets Execution::autocast and what it entails: nothing else casts weights, and gradients are fp32
// and reduced so.
inline void SetAutocast(Training* training) {
  constexpr double kFp32Traffic = 8;  // beyond that of a reduction in 16 bits (AroundFsdp2)
  Execution& e = training->execution;
  e.autocast = true;
  e.casts_master_weights = false;
  if (!e.reduces_fp32 && e.reduce_traffic_bytes > 0) e.reduce_traffic_bytes += kFp32Traffic;
  e.reduces_fp32 = true;
  training->distributed_gradients_fp32 = true;
}

struct Constraints {
  DegreeRange tensor_parallel;
  DegreeRange pipeline_parallel;
  DegreeRange data_parallel;
  DegreeRange context_parallel{1, 1};
  DegreeRange expert_parallel{1, 1};
  DegreeRange virtual_stages{1, 1};
  DegreeRange encoder_data;          // of the degrees that the trainer has (Trainer::encoder_split)
  std::optional<Schedule> schedule;  // nullopt if free
  RecomputePolicy recompute = RecomputePolicy::kAuto;
  // Transformer layers per stage, encoder layers first and then the language model's (the order of
  // OmniBal's table 9). It fixes pipeline_parallel to its size. If empty, the stages are free.
  std::vector<int64_t> stage_layers;
  PartitionMethod partition_method = PartitionMethod::kExact;  // used if `stage_layers` is empty
  // Memory must suffice at the upper end of the interval that holds this share of runs. 0: for the
  // predicted peak.
  double memory_confidence = 0;
};

// The objective by which plans for several clusters or GPU counts are compared. A single cluster
// uses all its GPUs, so every objective takes the quickest plan.
enum class ObjectiveKind { kStepTime, kGpuDays, kFewestGpus, kCost };
struct Objective {
  ObjectiveKind kind = ObjectiveKind::kStepTime;
  double deadline_seconds = 0;  // from the start to the end of all epochs; 0 for no deadline
};

// How often nodes fail, and what that costs. If the first field is above 0, the second must be,
// too.
struct Reliability {
  double node_mean_time_between_failures_seconds = 0;  // of one node with its GPUs; 0 if not given
  double checkpoint_bytes_per_second = 0;              // from one node to storage
  double restart_seconds = 0;  // from a failure until training resumes, reading included
  double checkpoint_interval_seconds = 0;  // training time between two; 0 for the best
};

// The basis of a figure, for the plan's provenance.
struct FigureBasis {
  std::string figure;  // such as "cluster.inter_node_bandwidth"
  Basis basis = Basis::kAssumed;
  std::string detail;  // value and source in words
};

struct Job {
  ModelSpec model;
  Dataset dataset;
  Cluster cluster;
  Training training;
  Constraints constraints;
  CostConstants constants;  // of the cost model; only fits change the defaults
  Objective objective;
  Reliability reliability;
  bool compare_sizes = false;       // whether to fill in Plan::other_sizes
  bool compare_precisions = false;  // whether to fill in Plan::other_precisions
  bool compare_shardings = false;   // whether to fill in Plan::other_shardings
  int64_t max_alternatives = 3;
  // Basis of the inputs: which were assumed, which come from the catalogue.
  std::vector<FigureBasis> figures;
  Calibration calibration;  // measurements of this model on this GPU type
  LaunchRequest launch;     // settings for trainers
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_JOB_H_
