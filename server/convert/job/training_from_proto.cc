#include "server/convert/job/training_from_proto.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "evenkeel/v1/job.pb.h"
#include "planner/base/integers.h"
#include "planner/cost/expert_dispatch.h"
#include "planner/cost/memory.h"
#include "planner/job.h"
#include "planner/model/towers.h"
#include "planner/space/parallelism.h"
#include "planner/trainer/trainers.h"
#include "server/convert/checks.h"
#include "server/convert/choices.h"
#include "server/convert/job/execution_from_proto.h"
#include "server/convert/job/trainer_names.h"
#include "server/convert/job/weight_formats.h"
#include "server/convert/packing/packing_rule.h"

namespace evenkeel::server {
namespace {

constexpr IntRange kGlobalBatch = {1, 10'000'000};
constexpr int64_t kDefaultGlobalBatch = 512;
constexpr IntRange kTokenCaps = {0, planner::kTokenCapAtMost};
constexpr IntRange kEpochs = {1, 10'000};
constexpr IntRange kIsfIterations = {1, 100};
constexpr int64_t kDefaultIsfIterations = 10;
// By default, packing groups are searched for if the longest sample has more tokens than
// kLongSample, and at least kLongOverMean times the mean.
constexpr int64_t kLongSample = 8192;
constexpr double kLongOverMean = 4;
constexpr int kMaxGroupLengths = static_cast<int>(planner::kGroupLengthsAtMost);
constexpr IntRange kGroupLengthRange = {128, planner::kMaxSampleTokens};

constexpr IntRange kZeroGroups = {1, planner::kGpusAtMost};
constexpr IntRange kMicroBatchSamples = {1, 65536};
constexpr IntRange kPadMultiples = {1, 65536};

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

// Returns the contract's names of the precisions that a GPU type has products for.
std::string PrecisionsOf(const planner::GpuSpec& gpu) {
  std::string names = gpu.bfloat16 ? "PRECISION_BF16, PRECISION_FP16" : "PRECISION_FP16";
  for (const auto& [precision, name] : kPrecisions) {
    if (precision != planner::Precision::k16Bit &&
        HasProducts(gpu, planner::RecipeOf(precision).products))
      names += ", " + v1::Precision_Name(name);
  }
  return names;
}

void ConvertPrecision(const v1::Training& from, const FieldPath& path, ViolationSink& sink,
                      const planner::GpuSpec& gpu, planner::Training* training) {
  const FieldPath field = path.Child("precision");
  if (!CheckEnum(sink, field, from.precision(), v1::Precision_IsValid, PrecisionsOf(gpu))) return;
  // Unset and float16 cost as much as bfloat16, except for gradients (AccumulatesInFp32).
  for (const auto& [precision, name] : kPrecisions) {
    if (from.precision() == name) training->precision = precision;
  }
  if (training->precision == planner::Precision::k16Bit) {
    if (!gpu.bfloat16 && from.precision() != v1::PRECISION_FP16)
      sink.Add(field, gpu.name + " has no bfloat16: set PRECISION_FP16");
    return;
  }
  if (!HasProducts(gpu, planner::RecipeOf(training->precision).products)) {
    sink.Add(field, gpu.name + " has no products in " + v1::Precision_Name(from.precision()) +
                        ", or none whose times are known; accepted: " + PrecisionsOf(gpu));
  } else if (!training->trainer->low_precision) {
    sink.Add(field, "no recipe below 16 bits is known for " +
                        std::string(training->trainer->title) +
                        ": set PRECISION_BF16, or another trainer");
  }
}

// Converts the choice of packing groups. They are searched for if some samples are much longer than
// most.
void ConvertGroups(const v1::Training& from, const FieldPath& path, ViolationSink& sink,
                   planner::Job* job) {
  planner::Training& training = job->training;
  const planner::Dataset::Totals all = job->dataset.totals();
  // Some choices do not go with groups yet, and were made by the caller.
  const bool excluded = from.has_offload() || from.fused_step();
  const bool usual = !excluded && training.token_cap == 0 && from.micro_batch_samples() == 0 &&
                     all.longest_tokens > kLongSample &&
                     static_cast<double>(all.longest_tokens) * static_cast<double>(all.samples) >=
                         kLongOverMean * all.tokens;
  const FieldPath field = path.Child("group_selection");
  // Settings that only groups have ask for groups.
  const bool sets_groups = from.group_lengths_size() > 0 || from.curriculum_steps() > 0;
  training.group_selection = FromProto(
      kGroupSelections, from.group_selection(),
      usual || sets_groups ? planner::GroupSelection::kExact : planner::GroupSelection::kOne, field,
      sink);
  const bool asked = from.group_selection() == v1::GROUP_SELECTION_PUBLISHED ||
                     from.group_selection() == v1::GROUP_SELECTION_EXACT ||
                     (from.group_selection() == v1::GROUP_SELECTION_UNSPECIFIED && sets_groups);
  if (from.group_selection() == v1::GROUP_SELECTION_ONE && sets_groups)
    sink.Add(path.Child(from.group_lengths_size() > 0 ? "group_lengths" : "curriculum_steps"),
             "must be unset with GROUP_SELECTION_ONE, which plans no packing groups");
  if (asked && training.token_cap > 0) {
    sink.Add(path.Child("token_cap"),
             "must be unset where packing groups are asked for: they have their own lengths, from "
             "group_lengths");
  }
  const FieldPath lengths = path.Child("group_lengths");
  if (from.group_lengths_size() > kMaxGroupLengths) {
    sink.Add(lengths, "must have at most " + std::to_string(kMaxGroupLengths) +
                          " lengths, but has " + std::to_string(from.group_lengths_size()));
    return;
  }
  ListCheck check(sink, path, "group_lengths");
  for (int i = 0; i < from.group_lengths_size(); ++i)
    check.CheckInt(i, from.group_lengths(i), kGroupLengthRange);
  if (!check.failed()) {
    training.group_lengths.assign(from.group_lengths().begin(), from.group_lengths().end());
    if (std::adjacent_find(training.group_lengths.begin(), training.group_lengths.end(),
                           std::greater_equal<>()) != training.group_lengths.end())
      sink.Add(lengths, "must ascend");
  }
  if (from.has_curriculum_steps())
    training.curriculum_steps =
        CheckInt(sink, path.Child("curriculum_steps"), from.curriculum_steps(), {0, 1'000'000'000});
}

// Converts the trainer. A trainer without a record gets the generic one.
void ConvertTrainer(const v1::Training& from, const FieldPath& path, ViolationSink& sink,
                    planner::Training* training) {
  CheckEnum(sink, path.Child("framework"), from.framework(), v1::TrainingFramework_IsValid,
            "TRAINING_FRAMEWORK_MEGATRON, TRAINING_FRAMEWORK_FSDP, TRAINING_FRAMEWORK_DEEPSPEED");
  planner::Framework framework = planner::Framework::kMegatron;
  const bool has_framework = Find(kFrameworks, from.framework(), &framework);
  training->trainer = &planner::TrainerOf(framework);
  if (!from.has_trainer()) return;
  const FieldPath field = path.Child("trainer");
  const std::string& name = from.trainer().name();
  if (name.empty()) {
    sink.Add(field.Child("name"), "required: the trainer's name, such as \"torchtitan\"");
    return;
  }
  if (!CheckText(sink, field.Child("name"), name) ||
      !CheckText(sink, field.Child("version"), from.trainer().version()))
    return;
  const planner::Trainer* known = planner::FindTrainer(name);
  training->trainer = known == nullptr ? &planner::GenericTrainer() : known;
  if (known == nullptr) training->trainer_name = name;
  training->trainer_version = from.trainer().version();
  if (has_framework && framework != training->trainer->framework) {
    sink.Add(path.Child("framework"),
             "must be unset or " +
                 v1::TrainingFramework_Name(ToProto(kFrameworks, training->trainer->framework)) +
                 ": job.training.trainer is " + name);
  }
}

// Checks that the trainer can hold frozen weights in few bits, how, and under which products.
void CheckFrozenFormat(const v1::Training& from, const FieldPath& path, ViolationSink& sink,
                       const planner::ModelSpec& model, planner::Job* job) {
  const planner::FrozenFormat format = planner::FrozenFormatOf(model);
  if (format == planner::FrozenFormat::k16Bit) return;
  const planner::Training& training = job->training;
  if (!training.trainer->quantised_base) {
    const std::string known =
        TrainersThat([](const planner::Trainer& trainer) { return trainer.quantised_base; });
    sink.Add(path.Child("trainer"), std::string(training.trainer->title) +
                                        " cannot train adapters with frozen weights in 4 or 8 "
                                        "bits (lora.base_format); accepted: " +
                                        known);
  }
  if (from.precision() != v1::PRECISION_UNSPECIFIED &&
      training.precision != planner::Precision::k16Bit)
    sink.Add(path.Child("precision"),
             "must be PRECISION_BF16 or PRECISION_FP16 with frozen weights in 4 or 8 bits, whose "
             "products have 16 bits");
  const bool int8 = format == planner::FrozenFormat::kInt8;
  if (int8 && training.zero_stage == planner::ZeroStage::kWeights)
    sink.Add(
        path.Child("zero_stage"),
        "must be below ZERO_STAGE_3 with FROZEN_FORMAT_INT8: weights in 8 bits are not sharded");
  job->figures.push_back({.figure = "model.frozen_format",
                          .basis = planner::Basis::kAssumed,
                          .detail = (int8 ? "8-bit integers, " : "4-bit NormalFloat, ") +
                                    NumberText(8 * planner::BytesOf(format)) +
                                    " bits a weight; each use reads it and writes it in 16 bits at "
                                    "the bandwidth of the memory"});
}

// Converts the sharding.
void ConvertSharding(const v1::Training& from, const FieldPath& path, ViolationSink& sink,
                     planner::Training* training) {
  const FieldPath field = path.Child("zero_stage");
  const planner::Trainer& trainer = *training->trainer;
  training->zero_stage = FromProto(kZeroStages, from.zero_stage(), trainer.zero_stage, field, sink);
  if (trainer.always_shards_weights && from.zero_stage() != v1::ZERO_STAGE_UNSPECIFIED &&
      from.zero_stage() != v1::ZERO_STAGE_3) {
    sink.Add(field,
             "must be ZERO_STAGE_3 or unset: " + std::string(trainer.title) + " shards weights");
  }
  if (from.zero_group() == 0) return;
  const FieldPath group = path.Child("zero_group");
  training->zero_group = CheckInt(sink, group, from.zero_group(), kZeroGroups);
  if (training->zero_stage == planner::ZeroStage::kNone)
    sink.Add(group, "must be unset: with ZERO_STAGE_0 nothing is sharded");
}

// Refuses fields that only packs have.
void CheckNoPacks(const v1::Training& from, const FieldPath& path, ViolationSink& sink) {
  const std::pair<const char*, bool> fields[] = {
      {"unit_cap", from.unit_cap() != 0},
      {"token_cap", from.token_cap() != 0},
      {"packer", from.packer() != v1::PACKER_UNSPECIFIED},
      {"isf_iterations", from.isf_iterations() != 0},
      {"order_window", from.order_window() != 0},
      {"group_lengths", !from.group_lengths().empty()},
      {"curriculum_steps", from.has_curriculum_steps()}};
  for (const auto& [field, set] : fields) {
    if (set)
      sink.Add(path.Child(field),
               "must be unset with micro_batch_samples: samples are padded, not packed");
  }
  if (from.group_selection() != v1::GROUP_SELECTION_UNSPECIFIED &&
      from.group_selection() != v1::GROUP_SELECTION_ONE)
    sink.Add(path.Child("group_selection"),
             "must be unset or GROUP_SELECTION_ONE with micro_batch_samples: samples are padded, "
             "not packed");
}

// Converts micro-batches that are padded. The trainer's names for them are in the contract.
void ConvertPadding(const v1::Training& from, const FieldPath& path, ViolationSink& sink,
                    planner::Job* job) {
  const FieldPath field = path.Child("micro_batch_samples"), padding = path.Child("padding");
  const int64_t tokens =
      CheckInt(sink, padding.Child("tokens"), from.padding().tokens(), kTokenCaps);
  const int64_t multiple =
      CheckIntOr(sink, padding.Child("multiple"), from.padding().multiple(), kPadMultiples, 1);
  if (from.micro_batch_samples() == 0) {
    if (from.has_padding()) sink.Add(padding, "must be unset without micro_batch_samples");
    if (from.group_by_length())
      sink.Add(path.Child("group_by_length"), "must be false without micro_batch_samples");
    return;
  }
  CheckNoPacks(from, path, sink);
  const planner::Dataset::Totals all = job->dataset.totals();
  const int64_t samples = all.samples, longest = all.longest_tokens;
  planner::Training& training = job->training;
  training.micro_batch_samples =
      CheckInt(sink, field, from.micro_batch_samples(), kMicroBatchSamples);
  training.pad_to_tokens = tokens;
  // Values out of range were refused, and must not be computed with below.
  training.pad_to_multiple = std::clamp(multiple, kPadMultiples.min, kPadMultiples.max);
  training.group_by_length = from.group_by_length();
  if (from.group_by_length() && tokens > 0)
    sink.Add(path.Child("group_by_length"),
             "must be false with padding.tokens: all micro-batches have one length");
  if (samples == 0) return;  // the dataset was refused
  if (training.micro_batch_samples > samples)
    sink.Add(field, "must be at most the " + std::to_string(samples) + " samples of the dataset");
  if (training.pad_to_tokens > 0 && training.pad_to_tokens < longest)
    sink.Add(padding.Child("tokens"),
             "must be at least the longest sample, " + std::to_string(longest) +
                 " tokens: give the lengths to which the loader cuts samples");
  const int64_t row =
      planner::RoundUp(std::max(longest, training.pad_to_tokens), training.pad_to_multiple);
  if (training.micro_batch_samples > planner::kTokenCapAtMost / row)
    sink.Add(field, "micro-batches of " + std::to_string(row) +
                        " tokens per sample must have at "
                        "most " +
                        std::to_string(planner::kTokenCapAtMost) + " tokens: accepted are 1 to " +
                        std::to_string(planner::kTokenCapAtMost / row) + " samples");
}

void CheckNotYet(const v1::Training& from, const FieldPath& path, ViolationSink& sink) {
  if (from.has_dummy_vision_units() && from.dummy_vision_units() != 1) {
    Refuse(sink, path.Child("dummy_vision_units"), std::to_string(from.dummy_vision_units()),
           "1, or unset");
  }
}

// Returns the contract's names of the dispatchers that the trainer and the GPU type have.
std::string DispatchersOf(const planner::Trainer& trainer, const planner::GpuSpec& gpu) {
  std::string names;
  for (const auto& [dispatcher, name] : kExpertDispatchers) {
    if (dispatcher != planner::Dispatcher::kLeastTime &&
        (trainer.dispatchers & planner::DispatcherBit(dispatcher)) != 0 &&
        planner::UnfitFor(dispatcher, gpu).empty())
      names += v1::ExpertDispatcher_Name(name) + ", ";
  }
  return names + "EXPERT_DISPATCHER_LEAST_TIME";
}

// Checks the exchange of experts' rows, and the work that it overlaps with.
void CheckDispatcher(const v1::Execution& from, const FieldPath& path, ViolationSink& sink,
                     const planner::ModelSpec* model, const planner::Job& job) {
  using planner::Dispatcher;
  const planner::Execution& e = job.training.execution;
  const planner::Trainer& trainer = *job.training.trainer;
  const planner::GpuSpec& gpu = job.cluster.gpu;
  const FieldPath field = path.Child("expert_dispatcher");
  const bool least = e.dispatcher == Dispatcher::kLeastTime;
  if (!least && (trainer.dispatchers & planner::DispatcherBit(e.dispatcher)) == 0) {
    sink.Add(field, std::string(trainer.title) + " has no " +
                        std::string(planner::RecordOf(e.dispatcher).title) +
                        "; accepted: " + DispatchersOf(trainer, gpu));
  } else if (const std::string_view why = planner::UnfitFor(e.dispatcher, gpu); !why.empty()) {
    sink.Add(field, gpu.name + " cannot run " + std::string(planner::RecordOf(e.dispatcher).title) +
                        ": " + std::string(why) + "; accepted: " + DispatchersOf(trainer, gpu));
  } else if (e.dispatcher == Dispatcher::kAllGather && e.overlap_experts) {
    sink.Add(field, "must not be EXPERT_DISPATCHER_ALL_GATHER with overlap_experts");
  } else if (e.dispatcher != Dispatcher::kAllToAll && model != nullptr &&
             !model->language_model.moe) {
    sink.Add(field, "must be unset: the model has no experts");
  }
  if (!from.overlap_shared_expert()) return;
  const FieldPath shared = path.Child("overlap_shared_expert");
  if (e.overlap_experts) {
    sink.Add(shared, "must be unset with overlap_experts, which hides the same exchanges");
  } else if (e.dispatcher != Dispatcher::kAllToAll && !least) {
    sink.Add(shared, "needs EXPERT_DISPATCHER_ALL_TO_ALL");
  } else if (model != nullptr &&
             !(model->language_model.moe && model->language_model.moe->shared_ffn > 0)) {
    sink.Add(shared, "must be unset: the model has no shared expert");
  }
}

// Refuses settings of experts, other than the trainer's own, for a model without them.
void CheckNoExperts(const v1::Execution& from, const FieldPath& path, ViolationSink& sink,
                    const planner::ModelSpec* model, const planner::Training& training) {
  if (model == nullptr || model->language_model.moe) return;
  const planner::Execution& e = training.execution;
  const planner::Execution& own = planner::DefaultExecution(*training.trainer, training.zero_stage);
  const std::pair<const char*, bool> fields[] = {
      {"expert_capacity_ratio",
       from.has_expert_capacity_ratio() && e.expert_capacity != own.expert_capacity},
      {"overlap_experts", from.overlap_experts() && !own.overlap_experts}};
  for (const auto& [field, set] : fields)
    if (set) sink.Add(path.Child(field), "must be unset: the model has no experts");
}

// Checks the layers that stay in 16 bits.
void CheckLayersIn16Bit(const v1::Execution& from, const FieldPath& path, ViolationSink& sink,
                        const planner::ModelSpec* model, const planner::Training& training) {
  const planner::Execution& e = training.execution;
  const int64_t layers = e.start_layers_16bit + e.end_layers_16bit;
  if (layers == 0) return;
  const FieldPath field =
      path.Child(from.start_layers_16bit() != 0 ? "start_layers_16bit" : "end_layers_16bit");
  if (training.precision == planner::Precision::k16Bit) {
    sink.Add(field, "must be unset: with this precision all layers are in 16 bits");
  } else if (training.precision == planner::Precision::kFp8Delayed) {
    sink.Add(field, "must be unset with PRECISION_FP8_DELAYED, whose scales all layers share");
  } else if (!training.trainer->keeps_layers_16bit) {
    sink.Add(field, "must be unset: " + std::string(training.trainer->title) +
                        " has one precision for all layers");
  } else if (model != nullptr && layers > model->language_model.layers) {
    sink.Add(field, "start_layers_16bit and end_layers_16bit must be at most the model's " +
                        std::to_string(model->language_model.layers) +
                        " layers together, but are " + std::to_string(layers));
  }
}

void ConvertGradients(const v1::Training& from, planner::Training* training) {
  const planner::Trainer& trainer = *training->trainer;
  const bool float16 = from.precision() == v1::PRECISION_FP16;
  const auto accumulates = [&](bool in_float16) {
    return planner::AccumulatesInFp32(trainer, training->zero_stage, in_float16);
  };
  const bool fp32 = accumulates(float16);
  const bool given = from.gradient_precision() != v1::GRADIENT_PRECISION_UNSPECIFIED;
  training->distributed_gradients_fp32 =
      given ? from.gradient_precision() == v1::GRADIENT_PRECISION_FP32 : fp32;
  training->gradients_follow_float16 = !given && fp32 != accumulates(false);
}

// Megatron refuses a kernel that is asked for by name in deterministic mode (--attention-backend):
// TransformerEngine chooses.
void CheckKernel(const v1::Execution& from, const FieldPath& path, ViolationSink& sink,
                 const planner::Training& training) {
  if (training.execution.deterministic && training.execution.fused_kernels &&
      training.trainer->megatron_kernels && from.attention_kernel() == v1::ATTENTION_KERNEL_FLASH_2)
    sink.Add(path.Child("attention_kernel"),
             "must be unset or ATTENTION_KERNEL_FLASH with deterministic: " +
                 std::string(training.trainer->title) +
                 " then refuses a kernel that is asked for by name");
}

void AddFigures(const v1::Training& from, const planner::Training& training, planner::Job* job) {
  job->figures.push_back({.figure = "training.global_batch_samples",
                          .basis = from.global_batch_samples() == 0 ? planner::Basis::kAssumed
                                                                    : planner::Basis::kGiven,
                          .detail = std::to_string(training.global_batch_samples) + " samples"});
  const planner::Trainer& trainer = *training.trainer;
  if (from.has_trainer()) {
    const bool known = training.trainer_name.empty();
    job->figures.push_back(
        {.figure = "training.trainer",
         .basis = trainer.fitted_runs > 0 ? planner::Basis::kFitted : planner::Basis::kAssumed,
         .detail = known ? std::string(trainer.title) + ": " + std::string(trainer.source)
                         : "no record of " + training.trainer_name +
                               ": defaults between those of the known trainers"});
  }
  if (training.micro_batch_samples > 0) {
    job->figures.push_back(
        {.figure = "training.micro_batch_samples",
         .basis = planner::Basis::kGiven,
         .detail = std::to_string(training.micro_batch_samples) + " samples, padded to " +
                   (training.pad_to_tokens > 0 ? std::to_string(training.pad_to_tokens) + " tokens"
                                               : "the longest of a micro-batch")});
    return;
  }
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
  ConvertTrainer(from, path, sink, &training);
  ConvertPrecision(from, path, sink, job->cluster.gpu, &training);
  training.optimizer =
      FromProto(kOptimizers, from.optimizer(), training.optimizer, path.Child("optimizer"), sink);
  ConvertSharding(from, path, sink, &training);
  if (model != nullptr) CheckFrozenFormat(from, path, sink, *model, job);
  CheckEnum(sink, path.Child("gradient_precision"), from.gradient_precision(),
            v1::GradientPrecision_IsValid, "GRADIENT_PRECISION_FP32, GRADIENT_PRECISION_16BIT");
  ConvertGradients(from, &training);
  training.epochs = CheckIntOr(sink, path.Child("epochs"), from.epochs(), kEpochs, 1);
  training.seed = static_cast<uint64_t>(from.seed());
  training.isf_iterations = CheckIntOr(sink, path.Child("isf_iterations"), from.isf_iterations(),
                                       kIsfIterations, kDefaultIsfIterations);
  CheckNotYet(from, path, sink);
  training.packer = PackerFromProto(from.packer(), path.Child("packer"), sink);
  ConvertPadding(from, path, sink, job);
  ConvertGroups(from, path, sink, job);
  const bool groups = training.group_selection != planner::GroupSelection::kOne;
  training.order_window =
      CheckIntOr(sink, path.Child("order_window"), from.order_window(), kOrderWindows,
                 groups ? planner::kWholeEpoch : kDefaultOrderWindow);
  training.stage_by_gpus = from.zero_stage() == v1::ZERO_STAGE_UNSPECIFIED &&
                           training.trainer->default_execution_unsharded.has_value();
  // One GPU has nothing to share.
  if (training.stage_by_gpus && job->cluster.gpu_count == 1)
    training.zero_stage = planner::ZeroStage::kNone;
  training.execution =
      planner::DefaultExecution(*training.trainer, training.zero_stage, training.optimizer,
                                from.precision() != v1::PRECISION_FP16);
  ExecutionFromProto(from.execution(), path.Child("execution"), sink, &training.execution);
  CheckDispatcher(from.execution(), path.Child("execution"), sink, model, *job);
  CheckNoExperts(from.execution(), path.Child("execution"), sink, model, training);
  CheckLayersIn16Bit(from.execution(), path.Child("execution"), sink, model, training);
  CheckKernel(from.execution(), path.Child("execution"), sink, training);
  ConvertWeightFormats(from, path.Child("execution"), sink, &training);
  AddFigures(from, training, job);
}

}  // namespace evenkeel::server
