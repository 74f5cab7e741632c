// The planner's input: one job, complete and valid. server/convert turns a PlanJobRequest into a
// Job: names resolved, defaults filled in, every bound of the contract checked. The planner looks
// nothing up and refuses nothing.
#ifndef EVENKEEL_PLANNER_JOB_H_
#define EVENKEEL_PLANNER_JOB_H_

#include <cstdint>
#include <string>
#include <vector>

#include "planner/catalog/specs.h"
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

enum class ZeroStage {
  kNone,
  kOptimizer
};  // optimizer state whole on each rank, or sharded over data parallel
enum class RecomputePolicy { kAuto, kForbidden, kFull };

// Unset caps (0) are derived from the data.
struct Training {
  int64_t global_batch_samples = 0;  // samples per optimizer step, mean
  int64_t unit_cap = 0;              // Qv
  int64_t token_cap = 0;             // Qt
  ZeroStage zero_stage = ZeroStage::kOptimizer;
  bool distributed_gradients_fp32 =
      true;  // fp32 gradient accumulation (Megatron's default), else 16-bit
  int64_t epochs = 1;
  uint64_t seed = 0;
  int64_t isf_iterations = 10;
  Packer packer = Packer::kBalanced;
  int64_t order_window = 16;  // steps whose packs may be exchanged for balance; as DealRule's
};

// Inclusive. {n, n} fixes the degree.
struct DegreeRange {
  int64_t min = 1;
  int64_t max = 0;  // 0: no bound
};

struct Constraints {
  DegreeRange tensor_parallel;
  DegreeRange pipeline_parallel;
  DegreeRange data_parallel;
  RecomputePolicy recompute = RecomputePolicy::kAuto;
  // Transformer layers per stage, encoder layers first and then the language model's (the order of
  // OmniBal's table 9). Empty: free. Fixes pipeline_parallel to its size.
  std::vector<int64_t> stage_layers;
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
  int64_t max_alternatives = 3;
  std::vector<FigureBasis>
      figures;  // of the inputs: which were assumed, which the catalogue published
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_JOB_H_
