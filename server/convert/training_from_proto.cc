#include "server/convert/training_from_proto.h"

#include <cstdint>
#include <string>

#include "evenkeel/v1/job.pb.h"
#include "planner/job.h"
#include "server/convert/checks.h"
#include "server/convert/choices.h"
#include "server/convert/execution_from_proto.h"
#include "server/convert/packing_rule.h"

namespace evenkeel::server {
namespace {

constexpr IntRange kGlobalBatch = {1, 10'000'000};
constexpr int64_t kDefaultGlobalBatch = 512;
constexpr IntRange kUnitCaps = {0, 1'000'000};
constexpr IntRange kTokenCaps = {0, 16'777'216};
constexpr IntRange kEpochs = {1, 10'000};
constexpr IntRange kIsfIterations = {1, 100};
constexpr int64_t kDefaultIsfIterations = 10;

void Refuse(ViolationSink& sink, const FieldPath& field, const std::string& value,
            const std::string& accepted) {
  sink.Add(field, std::string(kNotYet) + value + "; accepted: " + accepted);
}

void ConvertCaps(const v1::Training& from, const FieldPath& path, ViolationSink& sink,
                 const planner::ModelSpec* model, planner::Training* training) {
  const FieldPath unit_cap = path.Child("unit_cap");
  training->unit_cap = CheckInt(sink, unit_cap, from.unit_cap(), kUnitCaps);
  if (model != nullptr && model->towers.empty() && from.unit_cap() > 0) {
    sink.Add(unit_cap, "must be unset: the model has no encoder");
  }
  training->token_cap = CheckInt(sink, path.Child("token_cap"), from.token_cap(), kTokenCaps);
}

// What has one accepted value in this version, or none that changes the plan.
void CheckFormats(const v1::Training& from, const FieldPath& path, ViolationSink& sink,
                  const planner::GpuSpec& gpu) {
  const FieldPath framework = path.Child("framework");
  CheckEnum(sink, framework, from.framework(), v1::TrainingFramework_IsValid,
            "TRAINING_FRAMEWORK_MEGATRON, TRAINING_FRAMEWORK_FSDP");
  const FieldPath precision = path.Child("precision");
  if (CheckEnum(sink, precision, from.precision(), v1::Precision_IsValid,
                "PRECISION_BF16, PRECISION_FP16") &&
      from.precision() == v1::PRECISION_FP8) {
    Refuse(sink, precision, "PRECISION_FP8", "PRECISION_BF16, PRECISION_FP16");
  }
  if (!gpu.bfloat16 &&
      (from.precision() == v1::PRECISION_UNSPECIFIED || from.precision() == v1::PRECISION_BF16)) {
    sink.Add(precision, gpu.name + " has no bfloat16: set PRECISION_FP16");
  }
  CheckEnum(sink, path.Child("optimizer"), from.optimizer(), v1::Optimizer_IsValid,
            "OPTIMIZER_ADAM");
}

// FSDP shards weights, and is the only one that does nothing else.
void ConvertSharding(const v1::Training& from, const FieldPath& path, ViolationSink& sink,
                     planner::Training* training) {
  const FieldPath field = path.Child("zero_stage");
  training->fsdp = from.framework() == v1::TRAINING_FRAMEWORK_FSDP;
  training->zero_stage = FromProto(
      kZeroStages, from.zero_stage(),
      training->fsdp ? planner::ZeroStage::kWeights : planner::ZeroStage::kOptimizer, field, sink);
  if (training->fsdp && from.zero_stage() != v1::ZERO_STAGE_UNSPECIFIED &&
      from.zero_stage() != v1::ZERO_STAGE_3) {
    sink.Add(field, "must be ZERO_STAGE_3 or unset: TRAINING_FRAMEWORK_FSDP shards weights");
  }
}

void CheckNotYet(const v1::Training& from, const FieldPath& path, ViolationSink& sink) {
  if (from.micro_batch_samples() != 0) {
    Refuse(sink, path.Child("micro_batch_samples"), "micro-batches of so many samples",
           "unset (packs are filled up to the caps)");
  }
  if (from.has_dummy_vision_units() && from.dummy_vision_units() != 1) {
    Refuse(sink, path.Child("dummy_vision_units"), std::to_string(from.dummy_vision_units()),
           "1, or unset");
  }
}

void AddFigures(const v1::Training& from, const planner::Training& training, planner::Job* job) {
  job->figures.push_back({.figure = "training.global_batch_samples",
                          .basis = from.global_batch_samples() == 0 ? planner::Basis::kAssumed
                                                                    : planner::Basis::kGiven,
                          .detail = std::to_string(training.global_batch_samples) + " samples"});
  const bool derived = training.token_cap == 0;
  job->figures.push_back({.figure = "training.token_cap",
                          .basis = derived ? planner::Basis::kFitted : planner::Basis::kGiven,
                          .detail = derived ? "derived from the lengths of the dataset"
                                            : std::to_string(training.token_cap) + " tokens"});
}

}  // namespace

void TrainingFromProto(const v1::Training& from, const FieldPath& path, ViolationSink& sink,
                       const planner::ModelSpec* model, planner::Job* job) {
  planner::Training& training = job->training;
  training.global_batch_samples =
      CheckIntOr(sink, path.Child("global_batch_samples"), from.global_batch_samples(),
                 kGlobalBatch, kDefaultGlobalBatch);
  ConvertCaps(from, path, sink, model, &training);
  CheckFormats(from, path, sink, job->cluster.gpu);
  ConvertSharding(from, path, sink, &training);
  CheckEnum(sink, path.Child("gradient_precision"), from.gradient_precision(),
            v1::GradientPrecision_IsValid, "GRADIENT_PRECISION_FP32, GRADIENT_PRECISION_16BIT");
  training.distributed_gradients_fp32 = from.gradient_precision() != v1::GRADIENT_PRECISION_16BIT;
  training.epochs = CheckIntOr(sink, path.Child("epochs"), from.epochs(), kEpochs, 1);
  training.seed = static_cast<uint64_t>(from.seed());
  training.isf_iterations = CheckIntOr(sink, path.Child("isf_iterations"), from.isf_iterations(),
                                       kIsfIterations, kDefaultIsfIterations);
  CheckNotYet(from, path, sink);
  training.packer = PackerFromProto(from.packer(), path.Child("packer"), sink);
  training.order_window = CheckIntOr(sink, path.Child("order_window"), from.order_window(),
                                     kOrderWindows, kDefaultOrderWindow);
  ExecutionFromProto(from.execution(), path.Child("execution"), sink, &training.execution);
  AddFigures(from, training, job);
}

}  // namespace evenkeel::server
