#include "planner/cost/memory.h"

#include <algorithm>

#include "planner/base/integers.h"
#include "planner/base/units.h"
#include "planner/cost/encoder_share.h"
#include "planner/cost/expert_dispatch.h"
#include "planner/cost/interval.h"
#include "planner/model/layer_runs.h"
#include "planner/plan.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kFrameworkBytes = kGiB;
constexpr int64_t kCommunicationBytes = kGiB;
constexpr int64_t kReservePerMille = 43;
constexpr int64_t kUsablePercent = 99;

// Megatron's published runs hold 63 to 68 MB between iterations, on top of weights, gradients,
// optimizer state and one workspace, in 20 runs without a pipeline.
constexpr int64_t kLibraryBytes = 66'000'000;
// Grouped products of experts run on this many streams, each with a workspace.
constexpr int64_t kGroupedStreams = 4;

// Hidden states that a pipeline stage holds on top of those of its layers: received and sent,
// forward and backward.
constexpr double kPipelineTensors = 4;

}  // namespace

int64_t FrameworkBytes() { return kFrameworkBytes; }

int64_t CommunicationBytes() { return kCommunicationBytes; }

int64_t AllocatorReserve(int64_t allocated) {
  // Thousands and the rest separately: for the sizes of misfits, the plain product would not fit in
  // 64 bits.
  return allocated / 1000 * kReservePerMille +
         CeilDivide(allocated % 1000 * kReservePerMille, 1000);
}

int64_t CapacityBytes(const Cluster& cluster) {
  return cluster.gpu.memory_bytes / 100 * kUsablePercent - cluster.reserved_bytes;
}

int64_t CapacityBytes(const Job& job) {
  const int64_t capacity = CapacityBytes(job.cluster);
  const double confidence = job.constraints.memory_confidence;
  if (confidence == 0 || capacity <= 0) return capacity;
  return static_cast<int64_t>(D(capacity) / AtCoverage(MemoryIntervalOf(job), confidence).high);
}

namespace {

int64_t AllocatableWithin(int64_t capacity) {
  const int64_t left = capacity - kFrameworkBytes - kCommunicationBytes;
  if (left < 0) return -1;
  // The largest a with a + AllocatorReserve(a) <= left, from at most two below it on.
  constexpr int64_t kEach = 1000 + kReservePerMille;
  int64_t allocatable = left / kEach * 1000 + std::max<int64_t>(0, left % kEach - 1) * 1000 / kEach;
  while (allocatable + 1 + AllocatorReserve(allocatable + 1) <= left) ++allocatable;
  return allocatable;
}

}  // namespace

int64_t AllocatableBytes(const Cluster& cluster) {
  return AllocatableWithin(CapacityBytes(cluster));
}
int64_t AllocatableBytes(const Job& job) { return AllocatableWithin(CapacityBytes(job)); }

MemoryFit MemoryFitOf(const Job& job, const Plan& plan) {
  if (plan.misfit && plan.misfit->micro_batches > 0) return MemoryFit::kDoesNotFit;
  int64_t used = 0;
  const auto add = [&used](const std::vector<StagePlan>& stages) {
    for (const StagePlan& stage : stages) used = std::max(used, stage.memory.total());
  };
  if (plan.misfit) {
    used = plan.misfit->memory.total();
  } else {
    add(plan.stages);
    if (plan.grouping) {
      for (const GroupPlan& group : plan.grouping->groups) add(group.stages);
    }
  }
  return FitOf(used, CapacityBytes(job.cluster), MemoryIntervalOf(job));
}

// Megatron-Core keeps fp32 master weights of its own for recipes of 8 bits other than delayed
// scaling (use_precision_aware_optimizer_no_fp8_or_ds_fp8), for weights held in 8 bits, and in
// Megatron-FSDP. Its HybridDeviceOptimizer has no remainders.
bool StoresRemainders(const Training& training, const OptimizerRecord& optimizer) {
  const bool bfloat16 =
      training.precision == Precision::k16Bit ||
      (training.precision == Precision::kFp8Delayed && !HoldsQuantisedWeights(training));
  return training.execution.stores_weight_remainders && optimizer.weight_remainders && bfloat16 &&
         training.zero_stage <= ZeroStage::kOptimizer && training.offload.ratio == 0;
}

double StateBytes(const Training& training, const OptimizerRecord& optimizer) {
  const Execution& e = training.execution;
  if (e.autocast) return optimizer.moment_bytes;  // the weights are the master weights
  return (StoresRemainders(training, optimizer) ? 2 : optimizer.master_bytes) +
         optimizer.moment_bytes;
}

int64_t LibraryBytes(const Job& job) {
  const bool grouped = job.model.language_model.moe && job.training.execution.grouped_experts;
  const int64_t workspaces = 1 + (grouped ? kGroupedStreams : 0);
  return kLibraryBytes + workspaces * job.cluster.gpu.costs.workspace_bytes;
}

namespace {

// Returns the bytes of the buffer into which all layers gather the rows of all ranks that share
// experts (use_global_buffer of Megatron-Core's MoEAllGatherTokenDispatcher).
double GatheredRowBytes(const Job& job, const Parallelism& p, const PackShape& largest) {
  const LanguageModel& m = job.model.language_model;
  if (!m.moe) return 0;
  const int64_t width = m.moe->latent > 0 ? m.moe->latent : m.hidden;
  return 2 * D(width) * largest.tokens / D(p.context * p.tensor) *
         GatheredRows(job.training.execution.dispatcher, p.expert);
}

}  // namespace

int64_t BufferBytes(const Job& job, const Parallelism& p, const PackShape& largest) {
  const bool shards = job.training.zero_stage != ZeroStage::kNone;
  const int64_t fixed = LibraryBytes(job) + (shards ? job.training.execution.bucket_bytes : 0) +
                        Nearest(std::min(GatheredRowBytes(job, p, largest), 1e15));
  if (p.pipeline == 1) return std::min(fixed, kPartBytesAtMost);
  const double shard = job.training.execution.sequence_parallel ? 1 / D(p.tensor) : 1;
  const double value = RowValueBytes(job.training.execution);
  const double passed = largest.tokens / D(p.context) * D(PassedWidth(job.model.language_model));
  double widest = passed;
  // Whole encoders hand on whole rows, of their share of the images.
  const double rows =
      job.training.execution.sequence_parallel ? D(p.tensor) / D(EncoderDegrees(p).tensor) : 1;
  for (size_t e = 0; e < job.model.towers.size(); ++e) {
    const Encoder& encoder = job.model.towers[e].encoder;
    const EncoderShare share =
        EncoderShareOf(job.dataset, encoder, e, p.encoder_data, /*mean=*/{}, largest);
    widest = std::max(widest, largest.units[e] * share.largest * rows * D(encoder.tokens_per_unit) *
                                  D(encoder.hidden));
    if (const auto& cross = job.model.language_model.cross)  // passes with the decoder's rows
      widest =
          std::max(widest, passed + largest.units[e] * D(cross->tokens_per_unit) * D(cross->width));
  }
  return std::min(fixed + Nearest(std::min(kPipelineTensors * value * shard * widest, 1e15)),
                  kPartBytesAtMost);
}

int64_t ShardRanks(const Training& training, int64_t copies) {
  return training.zero_group == 0 ? copies : LargestDivisor(copies, training.zero_group);
}

int64_t WeightCopies(const Parallelism& p) { return p.data * p.context; }

int64_t ExpertCopies(const Training& training, const Parallelism& p) {
  if (p.expert == 1) return WeightCopies(p);
  const int64_t expert_tensor = std::max<int64_t>(1, training.execution.expert_tensor);
  return std::max<int64_t>(1, p.tensor * p.context * p.data / (p.expert * expert_tensor));
}

double QuantisedWeightBytes(const Job& job) {
  const PrecisionRecipe& recipe = RecipeOf(job.training.precision);
  if (recipe.products == NumberFormat::k16Bit) return 0;
  const bool one =
      recipe.products == NumberFormat::kFp8 && job.cluster.gpu.costs.low.fp8_any_layout;
  const double copies = (one ? 1 : 2) * ValueBytesOf(recipe.products);
  return HoldsQuantisedWeights(job.training) ? copies - kWeightBytes : copies;
}

bool HoldsQuantisedWeights(const Training& training) {
  return training.execution.holds_quantised_weights && RecipeOf(training.precision).holds_weights;
}

ShardedBytes ShardedBytesOf(const Job& job, const Parallelism& p, const LayerWork& work) {
  const Training& training = job.training;
  const double gradient = training.distributed_gradients_fp32 ? 4 : 2;
  const double weight = HeldWeightBytes(training.execution);
  ShardedBytes sum;
  // Modules that quantise at each product hold no copies.
  const bool copies_held =
      training.execution.keeps_quantised_inputs || HoldsQuantisedWeights(training);
  const double quantised_bytes = work.quantised && copies_held ? QuantisedWeightBytes(job) : 0;
  const OptimizerRecord& optimizer = RecordOf(training.optimizer);
  const double adam = StateBytes(training, RecordOf(Optimizer::kAdam));
  const double state = StateBytes(training, optimizer);
  // Matrices that train in full. An optimizer of whole matrices leaves all others to Adam.
  const bool full = work.trained_parameters == work.parameters;
  const double saved = weight - BytesOf(work.packed_format);
  const auto add = [&](double parameters, double trained, double matrices, double packed,
                       int64_t copies) {
    const double share = 1 / D(ShardRanks(training, copies));
    const ZeroStage zero = training.zero_stage;
    const bool cast = training.execution.casts_master_weights && optimizer.master_bytes > 0;
    // The GPU has no master weight to cast where only the host has it.
    const double cast_share = training.offload.weights ? 1 : 1 - training.offload.ratio;
    const double held_as_master = cast ? trained * cast_share : 0;
    const double shards = (weight * (parameters - held_as_master) - saved * packed) * share;
    if (zero == ZeroStage::kWeights) {
      sum.weights += shards;
    } else {
      sum.weights += weight * parameters + quantised_bytes * matrices - saved * packed;
      // FSDP gathers whole weights beside its shards (SHARD_GRAD_OP).
      if (zero == ZeroStage::kGradients && training.execution.casts_master_weights)
        sum.weights += shards;
    }
    if (zero == ZeroStage::kNone && copies > 1 && training.execution.copies_reduced_gradients)
      sum.buckets += gradient * trained;
    sum.gradients += gradient * trained * (zero >= ZeroStage::kGradients ? share : 1);
    const double updated = trained * (zero >= ZeroStage::kOptimizer ? share : 1);
    const double others = full ? parameters - matrices : trained;
    const double by_adam = optimizer.whole_matrices && trained > 0 ? others / trained : 0;
    const double states = updated * (state * (1 - by_adam) + adam * by_adam);
    const double stays = 1 - training.offload.ratio;
    sum.optimizer += states * stays;
    sum.offloaded += (states + kHostGradientBytes * updated) * training.offload.charged_ratio;
    sum.update += training.execution.update_bytes_per_parameter * updated * stays;
    sum.updated += updated;
  };
  add(work.parameters - work.expert_parameters,
      work.trained_parameters - work.trained_expert_parameters,
      work.matrix_parameters - work.matrix_expert_parameters,
      work.packed_parameters - work.packed_expert_parameters, WeightCopies(p));
  add(work.expert_parameters, work.trained_expert_parameters, work.matrix_expert_parameters,
      work.packed_expert_parameters, ExpertCopies(training, p));
  // Autocast's copies live until its forward pass ends, or until the backward pass needs them. FSDP
  // gathers the weights that they are made from, layer by layer: LayerBuilder keeps those.
  if (training.execution.autocast && training.zero_stage != ZeroStage::kWeights)
    sum.casts += kWeightBytes * work.cast_parameters;
  if (training.offload.weights) {
    // The gradients' copies are counted with the states.
    sum.offloaded += sum.weights;
    sum.weights = sum.gradients = sum.casts = 0;
  }
  if (training.fused_step) {
    sum.in_turn = sum.gradients + sum.update;
    sum.gradients = sum.update = 0;
  }
  return sum;
}

bool AddsWeightGradients(const Training& training) {
  const Execution& e = training.execution;
  // Modules that are not fused are taken for PyTorch's eager ones. Megatron's own (its local
  // modules) add to the buffer, too: their time is underestimated.
  return training.trainer->megatron_kernels && e.fused_kernels && !e.fused_weight_gradients;
}

double GradientBytes(const Training& training) {
  return training.distributed_gradients_fp32 || !training.trainer->megatron_kernels ? 4 : 2;
}

double WeightGradientBytes(const Training& training, const LayerWork& work) {
  // With the fusion, the product adds the gradient to the buffer, and TransformerEngine returns a
  // 16-bit stand-in and keeps one of each shape (get_dummy_wgrad). Without it, the 16-bit tensor is
  // the gradient itself, which is freed once it is added.
  return kWeightBytes *
         (training.execution.fused_weight_gradients ? work.weight_shapes : work.largest_weight);
}

}  // namespace evenkeel::planner
