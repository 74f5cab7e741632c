// The planner's input: one job, complete and valid. server/convert turns a PlanJobRequest into a
// Job: names resolved, defaults filled in, every bound of the contract checked. The planner looks
// nothing up and refuses nothing.
#ifndef EVENKEEL_PLANNER_JOB_H_
#define EVENKEEL_PLANNER_JOB_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/calibration.h"
#include "planner/catalog/specs.h"
#include "planner/cost/cost_constants.h"
#include "planner/launch.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

// Samples that look alike: `count` samples of `units` encoder units (tiles) and `llm_tokens` tokens
// in the language model, visual tokens included.
struct LengthBin {
  int64_t units = 0;
  int64_t llm_tokens = 0;
  int64_t count = 0;
};

struct Dataset {
  std::vector<LengthBin> bins;  // distinct (units, llm_tokens), ascending
  bool is_default = false;      // nobody gave one: the built-in mix is assumed
};

struct Cluster {
  GpuSpec gpu;
  int64_t gpu_count = 0;
  int64_t gpus_per_node = 8;               // that this job uses: at most gpu_count
  int64_t gpus_per_full_node = 8;          // that a node has
  double intra_node_bytes_per_second = 0;  // per GPU and direction
  double inter_node_bytes_per_second = 0;  // per GPU and direction
  int64_t reserved_bytes = 0;              // of each GPU, kept free on request
  double price_per_gpu_hour = 0;           // 0: no cost is computed
};

// What is sharded over the data-parallel (and context-parallel) ranks; each includes those before
// it (Rajbhandari 2020, arXiv 1910.02054, section 5). kWeights is ZeRO-3, or FSDP.
enum class ZeroStage { kNone, kOptimizer, kGradients, kWeights };
enum class Schedule { kOneFOneB, kInterleaved, kGPipe, kZeroBubble };
// kFlash is the best of the GPU: FlashAttention-3 or cuDNN on Hopper. kUnfused stores the s x s
// scores.
enum class AttentionKernel { kFlash, kFlash2, kUnfused };
enum class ContextKind {
  kUlysses,
  kRing
};  // what context-parallel ranks exchange: heads, or keys and values

// The trainer. FSDP has no pipeline; DeepSpeed around Hugging Face modules has neither pipeline nor
// tensor parallelism.
enum class Framework { kMegatron, kFsdp, kDeepSpeed };

// How the trainer runs the model. Defaults: Megatron-Core with the flags that its users set.
struct Execution {
  bool sequence_parallel = true;  // norms and residuals are sharded over tensor parallel too
  AttentionKernel attention = AttentionKernel::kFlash;
  ContextKind context = ContextKind::kUlysses;
  bool dropout = false;    // dropout masks are kept
  bool fused_loss = true;  // cross entropy without an fp32 copy of the logits' gradient
  bool overlap_gradient_reduce = true;  // with the backward passes of the last micro-batch
  bool overlap_weight_gather = true;    // of a sharded optimizer, with the first forward passes
  bool overlap_tensor = false;          // tensor-parallel communication with matrix products
  int64_t expert_tensor = 1;  // tensor parallel inside an expert, where expert parallel > 1
  bool fused_kernels = true;  // false: eager modules (Hugging Face), which keep what lies between
  bool compiled_loss =
      false;  // not fused_loss: compiled cross entropy (Megatron's "native" fusion)
  // Rows of an expert are padded or cut to this multiple of the mean; 0: none is dropped
  // (dropless), and the fullest rank has more than the mean.
  double expert_capacity = 0;
  bool grouped_experts = true;  // the products of a rank's experts are one launch
  // Buffers of the sharded optimizer's own. Megatron reduces its gradient buffer in place: none.
  // DeepSpeed's defaults: two reduce buckets and a gather bucket of 5e8 16-bit values each, 3e9.
  int64_t bucket_bytes = 0;
  bool fused_weight_gradients = true;  // added to the gradient buffer by the product itself
};

// kWholeLayers: all of a layer or nothing, as frameworks without selective recompute do. kAdaptive:
// balanced adaptive recomputation as OmniBal publishes it, to compare with.
enum class RecomputePolicy { kAuto, kForbidden, kFull, kWholeLayers, kAdaptive };

// How samples of unlike lengths are put into packing groups: not at all, by HBP's published rule
// (arXiv 2503.07680, algorithm 1), or the set of least predicted epoch time.
enum class GroupSelection { kOne, kPublished, kExact };
inline constexpr size_t kGroupLengthsAtMost = 12;

// Unset caps (0) are derived from the data.
struct Training {
  int64_t global_batch_samples = 0;  // samples per optimizer step, mean
  int64_t unit_cap = 0;              // Qv
  int64_t token_cap = 0;             // Qt
  ZeroStage zero_stage = ZeroStage::kOptimizer;
  Framework framework = Framework::kMegatron;
  Execution execution;
  bool distributed_gradients_fp32 =
      true;  // fp32 gradient accumulation (Megatron's default), else 16-bit
  int64_t epochs = 1;
  uint64_t seed = 0;
  int64_t isf_iterations = 10;
  Packer packer = Packer::kBalanced;
  int64_t order_window = 16;  // steps whose packs may be exchanged for balance; as DealRule's
  GroupSelection group_selection = GroupSelection::kOne;
  // Lengths that the packs of a group may have, ascending, beside the longest sample's. Empty:
  // powers of two from 8192.
  std::vector<int64_t> group_lengths;
  int64_t curriculum_steps = -1;  // that run the shortest group alone; -1: as published
};

// Inclusive. {n, n} fixes the degree.
struct DegreeRange {
  int64_t min = 1;
  int64_t max = 0;  // 0: no bound
};

// How the model is cut into stages. Others than kExact are as published, to compare with: OmniBal's
// balanced model partition, equal parameters, equal layers, and PipeDream's by profiled times.
enum class PartitionMethod { kExact, kBmp, kParameters, kLayers, kProfile };

struct Constraints {
  DegreeRange tensor_parallel;
  DegreeRange pipeline_parallel;
  DegreeRange data_parallel;
  DegreeRange context_parallel{1, 1};
  DegreeRange expert_parallel{1, 1};
  DegreeRange virtual_stages{1, 1};
  std::optional<Schedule> schedule;  // unset: free
  RecomputePolicy recompute = RecomputePolicy::kAuto;
  // Transformer layers per stage, encoder layers first and then the language model's (the order of
  // OmniBal's table 9). Empty: free. Fixes pipeline_parallel to its size.
  std::vector<int64_t> stage_layers;
  PartitionMethod partition_method = PartitionMethod::kExact;  // where `stage_layers` is empty
};

// What is best where plans for several clusters or GPU counts are compared. For one cluster all
// its GPUs are used, and the quickest plan is best by any.
enum class ObjectiveKind { kStepTime, kGpuDays, kFewestGpus, kCost };
struct Objective {
  ObjectiveKind kind = ObjectiveKind::kStepTime;
  double deadline_seconds = 0;  // from the start to the end of training, all epochs; 0: none
};

// How often nodes fail, and what that costs. Only where the first is above 0, the next must be too.
struct Reliability {
  double node_mean_time_between_failures_seconds = 0;  // of one node with its GPUs; 0: not given
  double checkpoint_bytes_per_second = 0;              // from one node to storage
  double restart_seconds = 0;  // from a failure until training goes on, reading included
  double checkpoint_interval_seconds = 0;  // of training between two; 0: the best
};

// What a figure rests on, for the plan's provenance.
enum class Basis { kGiven, kMeasured, kFitted, kPublished, kAssumed };
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
  CostConstants constants;  // of the cost model: the defaults but for fits
  Objective objective;
  Reliability reliability;
  bool compare_sizes = false;  // fill Plan::other_sizes
  int64_t max_alternatives = 3;
  std::vector<FigureBasis>
      figures;              // of the inputs: which were assumed, which the catalogue published
  Calibration calibration;  // what was measured of this model on this GPU type
  LaunchRequest launch;     // settings for trainers
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_JOB_H_
