// Pairs of the contract's and the planner's enum values, for both directions.
#ifndef EVENKEEL_SERVER_CONVERT_CHOICES_H_
#define EVENKEEL_SERVER_CONVERT_CHOICES_H_

#include <google/protobuf/generated_enum_reflection.h>

#include <cstddef>
#include <string>

#include "evenkeel/v1/batching.pb.h"
#include "evenkeel/v1/catalog.pb.h"
#include "evenkeel/v1/job.pb.h"
#include "evenkeel/v1/plan.pb.h"
#include "evenkeel/v1/profile.pb.h"
#include "planner/base/basis.h"
#include "planner/job.h"
#include "planner/packing/packing.h"
#include "planner/plan.h"
#include "server/convert/violations.h"

namespace evenkeel::server {

template <typename Ours, typename Theirs>
struct Choice {
  Ours ours;
  Theirs theirs;
};

inline constexpr Choice<planner::Schedule, v1::PipelineSchedule> kSchedules[] = {
    {planner::Schedule::kOneFOneB, v1::PIPELINE_SCHEDULE_1F1B},
    {planner::Schedule::kInterleaved, v1::PIPELINE_SCHEDULE_INTERLEAVED},
    {planner::Schedule::kGPipe, v1::PIPELINE_SCHEDULE_GPIPE},
    {planner::Schedule::kZeroBubble, v1::PIPELINE_SCHEDULE_ZERO_BUBBLE}};

inline constexpr Choice<planner::PartitionMethod, v1::PartitionMethod> kPartitionMethods[] = {
    {planner::PartitionMethod::kExact, v1::PARTITION_METHOD_EXACT},
    {planner::PartitionMethod::kBmp, v1::PARTITION_METHOD_BMP},
    {planner::PartitionMethod::kParameters, v1::PARTITION_METHOD_PARAMETERS},
    {planner::PartitionMethod::kLayers, v1::PARTITION_METHOD_LAYERS},
    {planner::PartitionMethod::kProfile, v1::PARTITION_METHOD_PROFILE},
    {planner::PartitionMethod::kLayersLast, v1::PARTITION_METHOD_LAYERS_LAST},
    {planner::PartitionMethod::kWeights, v1::PARTITION_METHOD_WEIGHTS}};

inline constexpr Choice<planner::RecomputePolicy, v1::RecomputePolicy> kRecomputePolicies[] = {
    {planner::RecomputePolicy::kAuto, v1::RECOMPUTE_POLICY_AUTO},
    {planner::RecomputePolicy::kForbidden, v1::RECOMPUTE_POLICY_FORBIDDEN},
    {planner::RecomputePolicy::kFull, v1::RECOMPUTE_POLICY_FULL},
    {planner::RecomputePolicy::kWholeLayers, v1::RECOMPUTE_POLICY_WHOLE_LAYERS},
    {planner::RecomputePolicy::kAdaptive, v1::RECOMPUTE_POLICY_ADAPTIVE},
    {planner::RecomputePolicy::kOneSetting, v1::RECOMPUTE_POLICY_ONE_SETTING}};

inline constexpr Choice<planner::ZeroStage, v1::ZeroStage> kZeroStages[] = {
    {planner::ZeroStage::kNone, v1::ZERO_STAGE_0},
    {planner::ZeroStage::kOptimizer, v1::ZERO_STAGE_1},
    {planner::ZeroStage::kGradients, v1::ZERO_STAGE_2},
    {planner::ZeroStage::kWeights, v1::ZERO_STAGE_3}};

inline constexpr Choice<planner::Precision, v1::Precision> kPrecisions[] = {
    {planner::Precision::k16Bit, v1::PRECISION_BF16},
    {planner::Precision::kFp8Current, v1::PRECISION_FP8},
    {planner::Precision::kFp8Delayed, v1::PRECISION_FP8_DELAYED},
    {planner::Precision::kFp8Block, v1::PRECISION_FP8_BLOCK},
    {planner::Precision::kMxfp8, v1::PRECISION_MXFP8},
    {planner::Precision::kNvfp4, v1::PRECISION_NVFP4}};

inline constexpr Choice<planner::Optimizer, v1::Optimizer> kOptimizers[] = {
    {planner::Optimizer::kAdam, v1::OPTIMIZER_ADAM},
    {planner::Optimizer::kAdam16BitMoments, v1::OPTIMIZER_ADAM_16BIT_MOMENTS},
    {planner::Optimizer::kAdam8BitMoments, v1::OPTIMIZER_ADAM_8BIT_MOMENTS},
    {planner::Optimizer::kAdam16Bit, v1::OPTIMIZER_ADAM_16BIT},
    {planner::Optimizer::kAdam8Bit, v1::OPTIMIZER_ADAM_8BIT},
    {planner::Optimizer::kAdafactor, v1::OPTIMIZER_ADAFACTOR},
    {planner::Optimizer::kLion, v1::OPTIMIZER_LION},
    {planner::Optimizer::kSgd, v1::OPTIMIZER_SGD},
    {planner::Optimizer::kMuon, v1::OPTIMIZER_MUON}};

inline constexpr Choice<planner::Framework, v1::TrainingFramework> kFrameworks[] = {
    {planner::Framework::kMegatron, v1::TRAINING_FRAMEWORK_MEGATRON},
    {planner::Framework::kFsdp, v1::TRAINING_FRAMEWORK_FSDP},
    {planner::Framework::kDeepSpeed, v1::TRAINING_FRAMEWORK_DEEPSPEED}};

inline constexpr Choice<planner::EncoderSplit, v1::EncoderSplit> kEncoderSplits[] = {
    {planner::EncoderSplit::kNone, v1::ENCODER_SPLIT_NONE},
    {planner::EncoderSplit::kContext, v1::ENCODER_SPLIT_CONTEXT},
    {planner::EncoderSplit::kAny, v1::ENCODER_SPLIT_ANY}};

inline constexpr Choice<planner::GroupSelection, v1::GroupSelection> kGroupSelections[] = {
    {planner::GroupSelection::kOne, v1::GROUP_SELECTION_ONE},
    {planner::GroupSelection::kPublished, v1::GROUP_SELECTION_PUBLISHED},
    {planner::GroupSelection::kExact, v1::GROUP_SELECTION_EXACT}};

inline constexpr Choice<planner::BatchingMethod, v1::BatchingMethod> kBatchingMethods[] = {
    {planner::BatchingMethod::kNaivePacking, v1::BATCHING_METHOD_NAIVE_PACKING},
    {planner::BatchingMethod::kSorted, v1::BATCHING_METHOD_SORTED},
    {planner::BatchingMethod::kFlexSp, v1::BATCHING_METHOD_FLEXSP},
    {planner::BatchingMethod::kGroups, v1::BATCHING_METHOD_GROUPS},
    {planner::BatchingMethod::kBalancedGroups, v1::BATCHING_METHOD_BALANCED_GROUPS}};

inline constexpr Choice<planner::AttentionKernel, v1::AttentionKernel> kAttentionKernels[] = {
    {planner::AttentionKernel::kFlash, v1::ATTENTION_KERNEL_FLASH},
    {planner::AttentionKernel::kFlash2, v1::ATTENTION_KERNEL_FLASH_2},
    {planner::AttentionKernel::kUnfused, v1::ATTENTION_KERNEL_UNFUSED}};

inline constexpr Choice<planner::Collective, v1::CollectiveKind> kCollectives[] = {
    {planner::Collective::kAllGather, v1::COLLECTIVE_KIND_ALL_GATHER},
    {planner::Collective::kReduceScatter, v1::COLLECTIVE_KIND_REDUCE_SCATTER},
    {planner::Collective::kAllReduce, v1::COLLECTIVE_KIND_ALL_REDUCE},
    {planner::Collective::kAllToAll, v1::COLLECTIVE_KIND_ALL_TO_ALL},
    {planner::Collective::kSendReceive, v1::COLLECTIVE_KIND_SEND_RECV}};

inline constexpr Choice<planner::ContextKind, v1::ContextExchange> kContextExchanges[] = {
    {planner::ContextKind::kUlysses, v1::CONTEXT_EXCHANGE_ULYSSES},
    {planner::ContextKind::kRing, v1::CONTEXT_EXCHANGE_RING},
    {planner::ContextKind::kAllGather, v1::CONTEXT_EXCHANGE_ALL_GATHER},
    {planner::ContextKind::kHierarchical, v1::CONTEXT_EXCHANGE_HIERARCHICAL},
    {planner::ContextKind::kUlyssesOrRing, v1::CONTEXT_EXCHANGE_ULYSSES_OR_RING}};

inline constexpr Choice<planner::Dispatcher, v1::ExpertDispatcher> kExpertDispatchers[] = {
    {planner::Dispatcher::kAllToAll, v1::EXPERT_DISPATCHER_ALL_TO_ALL},
    {planner::Dispatcher::kAllGather, v1::EXPERT_DISPATCHER_ALL_GATHER},
    {planner::Dispatcher::kDeepEp, v1::EXPERT_DISPATCHER_DEEPEP},
    {planner::Dispatcher::kHybridEp, v1::EXPERT_DISPATCHER_HYBRIDEP},
    {planner::Dispatcher::kLeastTime, v1::EXPERT_DISPATCHER_LEAST_TIME}};

inline constexpr Choice<planner::Fabric, v1::NetworkFabric> kFabrics[] = {
    {planner::Fabric::kRdma, v1::NETWORK_FABRIC_RDMA},
    {planner::Fabric::kEfa, v1::NETWORK_FABRIC_EFA}};

inline constexpr Choice<planner::ObjectiveKind, v1::ObjectiveKind> kObjectives[] = {
    {planner::ObjectiveKind::kStepTime, v1::OBJECTIVE_KIND_STEP_TIME},
    {planner::ObjectiveKind::kGpuDays, v1::OBJECTIVE_KIND_GPU_DAYS},
    {planner::ObjectiveKind::kFewestGpus, v1::OBJECTIVE_KIND_FEWEST_GPUS},
    {planner::ObjectiveKind::kCost, v1::OBJECTIVE_KIND_COST}};

inline constexpr Choice<planner::LaunchFramework, v1::LaunchFramework> kLaunchFrameworks[] = {
    {planner::LaunchFramework::kMegatron, v1::LAUNCH_FRAMEWORK_MEGATRON},
    {planner::LaunchFramework::kDeepSpeed, v1::LAUNCH_FRAMEWORK_DEEPSPEED},
    {planner::LaunchFramework::kTorchtitan, v1::LAUNCH_FRAMEWORK_TORCHTITAN},
    {planner::LaunchFramework::kFlagScale, v1::LAUNCH_FRAMEWORK_FLAGSCALE},
    {planner::LaunchFramework::kXTuner, v1::LAUNCH_FRAMEWORK_XTUNER},
    {planner::LaunchFramework::kFsdp, v1::LAUNCH_FRAMEWORK_FSDP}};

inline constexpr Choice<planner::LaunchMatch, v1::LaunchMatch> kLaunchMatches[] = {
    {planner::LaunchMatch::kExact, v1::LAUNCH_MATCH_EXACT},
    {planner::LaunchMatch::kNearest, v1::LAUNCH_MATCH_NEAREST},
    {planner::LaunchMatch::kNone, v1::LAUNCH_MATCH_NONE}};

inline constexpr Choice<planner::LoraTarget, v1::LoraTarget> kLoraTargets[] = {
    {planner::kLoraQkv, v1::LORA_TARGET_QKV},
    {planner::kLoraAttentionOut, v1::LORA_TARGET_ATTENTION_OUT},
    {planner::kLoraMlpUp, v1::LORA_TARGET_MLP_UP},
    {planner::kLoraMlpDown, v1::LORA_TARGET_MLP_DOWN}};

inline constexpr Choice<planner::FrozenFormat, v1::FrozenFormat> kFrozenFormats[] = {
    {planner::FrozenFormat::k16Bit, v1::FROZEN_FORMAT_16BIT},
    {planner::FrozenFormat::kNf4, v1::FROZEN_FORMAT_NF4},
    {planner::FrozenFormat::kNf4Double, v1::FROZEN_FORMAT_NF4_DOUBLE},
    {planner::FrozenFormat::kInt8, v1::FROZEN_FORMAT_INT8}};

inline constexpr Choice<planner::LayerKind, v1::LayerKind> kLayerKinds[] = {
    {planner::LayerKind::kPatchEmbedding, v1::LAYER_KIND_PATCH_EMBEDDING},
    {planner::LayerKind::kEncoder, v1::LAYER_KIND_ENCODER},
    {planner::LayerKind::kProjector, v1::LAYER_KIND_PROJECTOR},
    {planner::LayerKind::kTokenEmbedding, v1::LAYER_KIND_TOKEN_EMBEDDING},
    {planner::LayerKind::kDense, v1::LAYER_KIND_DENSE},
    {planner::LayerKind::kMoe, v1::LAYER_KIND_MOE},
    {planner::LayerKind::kHead, v1::LAYER_KIND_HEAD}};

inline constexpr Choice<planner::RecomputePart, v1::RecomputePart> kRecomputeParts[] = {
    {planner::kNorms, v1::RECOMPUTE_PART_NORMS},
    {planner::kCoreAttention, v1::RECOMPUTE_PART_CORE_ATTENTION},
    {planner::kActivation, v1::RECOMPUTE_PART_ACTIVATION},
    {planner::kMlp, v1::RECOMPUTE_PART_MLP},
    {planner::kWholeLayer, v1::RECOMPUTE_PART_WHOLE_LAYER},
    {planner::kLatentProjection, v1::RECOMPUTE_PART_LATENT_PROJECTION},
    {planner::kAlternateProducts, v1::RECOMPUTE_PART_ALTERNATE_PRODUCTS}};

inline constexpr Choice<planner::OffloadModule, v1::OffloadModule> kOffloadModules[] = {
    {planner::kOffloadAttentionNorm, v1::OFFLOAD_MODULE_ATTENTION_NORM},
    {planner::kOffloadQkv, v1::OFFLOAD_MODULE_QKV},
    {planner::kOffloadCoreAttention, v1::OFFLOAD_MODULE_CORE_ATTENTION},
    {planner::kOffloadAttentionProjection, v1::OFFLOAD_MODULE_ATTENTION_PROJECTION},
    {planner::kOffloadMlpNorm, v1::OFFLOAD_MODULE_MLP_NORM},
    {planner::kOffloadExpertFc1, v1::OFFLOAD_MODULE_EXPERT_FC1},
    {planner::kOffloadMoeActivation, v1::OFFLOAD_MODULE_MOE_ACTIVATION}};

inline constexpr Choice<planner::Packer, v1::Packer> kPackers[] = {
    {planner::Packer::kBalanced, v1::PACKER_BALANCED},
    {planner::Packer::kIsf, v1::PACKER_ISF},
    {planner::Packer::kFirstFitDecreasing, v1::PACKER_FIRST_FIT_DECREASING},
    {planner::Packer::kBestFitDecreasing, v1::PACKER_BEST_FIT_DECREASING},
    {planner::Packer::kGreedyKnapsack, v1::PACKER_GREEDY_KNAPSACK},
    {planner::Packer::kNextFit, v1::PACKER_NEXT_FIT}};

inline constexpr Choice<planner::OversizePolicy, v1::OversizePolicy> kOversizePolicies[] = {
    {planner::OversizePolicy::kAlone, v1::OVERSIZE_POLICY_ALONE},
    {planner::OversizePolicy::kReject, v1::OVERSIZE_POLICY_REJECT}};

inline constexpr Choice<planner::Basis, v1::Basis> kBases[] = {
    {planner::Basis::kGiven, v1::BASIS_GIVEN},
    {planner::Basis::kMeasured, v1::BASIS_MEASURED},
    {planner::Basis::kFitted, v1::BASIS_FITTED},
    {planner::Basis::kPublished, v1::BASIS_PUBLISHED},
    {planner::Basis::kAssumed, v1::BASIS_ASSUMED}};

inline constexpr Choice<planner::RemedyKind, v1::RemedyKind> kRemedyKinds[] = {
    {planner::RemedyKind::kMoreGpus, v1::REMEDY_KIND_MORE_GPUS},
    {planner::RemedyKind::kSmallerCaps, v1::REMEDY_KIND_SMALLER_CAPS},
    {planner::RemedyKind::kAllowRecompute, v1::REMEDY_KIND_ALLOW_RECOMPUTE},
    {planner::RemedyKind::kShardOptimizer, v1::REMEDY_KIND_SHARD_OPTIMIZER},
    {planner::RemedyKind::kFreeDegrees, v1::REMEDY_KIND_FREE_DEGREES},
    {planner::RemedyKind::kLargerGpu, v1::REMEDY_KIND_LARGER_GPU},
    {planner::RemedyKind::kContextParallel, v1::REMEDY_KIND_CONTEXT_PARALLEL},
    {planner::RemedyKind::kExpertParallel, v1::REMEDY_KIND_EXPERT_PARALLEL},
    {planner::RemedyKind::kShardWeights, v1::REMEDY_KIND_SHARD_WEIGHTS},
    {planner::RemedyKind::kStageLayers, v1::REMEDY_KIND_STAGE_LAYERS},
    {planner::RemedyKind::kFreeSchedule, v1::REMEDY_KIND_FREE_SCHEDULE},
    {planner::RemedyKind::kOffloadActivations, v1::REMEDY_KIND_OFFLOAD_ACTIVATIONS},
    {planner::RemedyKind::kOffloadModules, v1::REMEDY_KIND_OFFLOAD_MODULES},
    {planner::RemedyKind::kOffloadOptimizer, v1::REMEDY_KIND_OFFLOAD_OPTIMIZER},
    {planner::RemedyKind::kGradients16Bit, v1::REMEDY_KIND_GRADIENTS_16BIT},
    {planner::RemedyKind::kOffloadWeights, v1::REMEDY_KIND_OFFLOAD_WEIGHTS},
    {planner::RemedyKind::kFusedStep, v1::REMEDY_KIND_FUSED_STEP},
    {planner::RemedyKind::kSeparateStep, v1::REMEDY_KIND_SEPARATE_STEP},
    {planner::RemedyKind::kSmallerBatch, v1::REMEDY_KIND_SMALLER_BATCH},
    {planner::RemedyKind::kLowerPrecision, v1::REMEDY_KIND_LOWER_PRECISION},
    {planner::RemedyKind::kMoreHostMemory, v1::REMEDY_KIND_MORE_HOST_MEMORY},
    {planner::RemedyKind::kSmallerMicroBatch, v1::REMEDY_KIND_SMALLER_MICRO_BATCH}};

inline constexpr Choice<planner::SizeChange, v1::SizeChange> kSizeChanges[] = {
    {planner::SizeChange::kNodeLess, v1::SIZE_CHANGE_NODE_LESS},
    {planner::SizeChange::kNodeMore, v1::SIZE_CHANGE_NODE_MORE},
    {planner::SizeChange::kSmallerGpu, v1::SIZE_CHANGE_SMALLER_GPU},
    {planner::SizeChange::kLargerGpu, v1::SIZE_CHANGE_LARGER_GPU}};

inline constexpr Choice<planner::MemoryFit, v1::MemoryFit> kMemoryFits[] = {
    {planner::MemoryFit::kFits, v1::MEMORY_FIT_FITS},
    {planner::MemoryFit::kWithinMargin, v1::MEMORY_FIT_WITHIN_MARGIN},
    {planner::MemoryFit::kDoesNotFit, v1::MEMORY_FIT_DOES_NOT_FIT}};

inline constexpr Choice<planner::SearchEnd, v1::SearchEnd> kSearchEnds[] = {
    {planner::SearchEnd::kExhausted, v1::SEARCH_END_EXHAUSTED},
    {planner::SearchEnd::kWorkLimit, v1::SEARCH_END_WORK_LIMIT}};

inline constexpr Choice<planner::Evidence, v1::EvidenceKind> kEvidences[] = {
    {planner::Evidence::kSameJob, v1::EVIDENCE_KIND_SAME_JOB},
    {planner::Evidence::kSameTrainer, v1::EVIDENCE_KIND_SAME_TRAINER},
    {planner::Evidence::kOtherTrainer, v1::EVIDENCE_KIND_OTHER_TRAINER},
    {planner::Evidence::kAssumed, v1::EVIDENCE_KIND_ASSUMED}};

// Returns the contract's value for a planner's value.
template <typename Ours, typename Theirs, size_t N>
Theirs ToProto(const Choice<Ours, Theirs> (&choices)[N], Ours value) {
  for (const auto& choice : choices) {
    if (choice.ours == value) return choice.theirs;
  }
  return Theirs{};  // the contract's UNSPECIFIED
}

// Finds the planner's value. Returns false if `from` is unspecified or a number that the contract
// does not know.
template <typename Ours, typename Theirs, size_t N>
bool Find(const Choice<Ours, Theirs> (&choices)[N], Theirs value, Ours* out) {
  for (const auto& choice : choices) {
    if (choice.theirs != value) continue;
    *out = choice.ours;
    return true;
  }
  return false;
}

// Converts the value of a field of a request, with `fallback` for UNSPECIFIED. Any value that the
// contract does not know adds a violation that lists the choices.
template <typename Ours, typename Theirs, size_t N>
Ours FromProto(const Choice<Ours, Theirs> (&choices)[N], Theirs value, Ours fallback,
               const FieldPath& field, ViolationSink& sink) {
  if (value == Theirs{}) return fallback;
  std::string accepted;
  for (const auto& choice : choices) {
    if (choice.theirs == value) return choice.ours;
    const auto* names = google::protobuf::GetEnumDescriptor<Theirs>();
    accepted += (accepted.empty() ? "" : ", ") + names->FindValueByNumber(choice.theirs)->name();
  }
  sink.Add(field,
           "unknown value " + std::to_string(static_cast<int>(value)) + "; accepted: " + accepted);
  return fallback;
}

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_CHOICES_H_
