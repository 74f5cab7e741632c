#include "client/cli/from/run/run_of.h"

#include <fmt/format.h>

#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>
#include <absl/strings/string_view.h>
#include <absl/strings/strip.h>
#include <algorithm>

#include "client/cli/base/command_error.h"
#include "client/cli/dataset/length_counts.h"
#include "client/cli/from/read/front_ends.h"
#include "client/cli/from/run/adapters.h"
#include "client/cli/from/run/components.h"
#include "client/cli/from/run/data_of.h"
#include "client/cli/from/run/execution_settings.h"
#include "client/cli/from/run/gpus_of.h"
#include "client/cli/from/run/layout.h"
#include "client/cli/from/run/megatron_rules.h"
#include "client/cli/from/run/model_of.h"
#include "client/cli/from/run/recompute_of.h"
#include "client/cli/from/run/torchtitan.h"
#include "planner/simulate/schedule.h"
#include "planner/space/parallelism.h"

namespace evenkeel::cli {
namespace {

constexpr int64_t kMostSequences = 10'000'000;
constexpr int64_t kMostAtOnce = 1 << 20;  // samples of a micro-batch, and micro-batches of a step

[[noreturn]] void FailRun(const std::string& message) {
  throw CommandError(ExitCode::kBadInput, message);
}

int32_t Degree(const UserConfig& config, Field field) {
  return static_cast<int32_t>(config.Int(field, 1, 1, planner::kGpusAtMost));
}

// Returns the data-parallel degree that is left of the GPUs.
int64_t LeftForData(const UserRun& run, int64_t gpus) {
  const v1::Parallelism& p = run.degrees;
  const int64_t taken = int64_t{p.tensor()} * p.pipeline() * p.context();
  if (gpus % taken != 0)
    FailRun(
        fmt::format("tensor {} x pipeline {} x context {} = {} does not divide {} GPUs: give the "
                    "number of GPUs that the configuration is for by --gpus",
                    p.tensor(), p.pipeline(), p.context(), taken, gpus));
  return gpus / taken;
}

// Checks the data degrees of torchtitan, where -1 stands for all remaining ranks (_validate() of
// torchtitan/distributed/parallel_dims.py).
void CheckTorchtitanData(const UserConfig& config, const UserRun& run) {
  if (config.format != ConfigFormat::kTorchtitan) return;
  const int64_t shard = config.Int(Field::kData, -1, -1, planner::kGpusAtMost);
  const int64_t replicas = config.Int(Field::kDataReplicas, 1, 1, planner::kGpusAtMost);
  if (shard == 0)
    config.Refuse(Field::kData, fmt::format("must be -1, for all ranks that are left, or from 1 to "
                                            "{}",
                                            planner::kGpusAtMost));
  if (shard > 0 && shard * replicas != run.degrees.data())
    FailRun(fmt::format(
        "{}: {} shards x {} replicas are not the {} data-parallel ranks that {} GPUs leave",
        Describe(config.fields.at(Field::kData)), shard, replicas, run.degrees.data(),
        run.job.cluster().pools(0).gpu_count()));
}

void SetDegrees(const UserConfig& config, const JobFlags& flags, UserRun* run) {
  v1::Parallelism& p = run->degrees;
  p.set_tensor(Degree(config, Field::kTensor));
  p.set_pipeline(Degree(config, Field::kPipeline));
  p.set_context(Degree(config, Field::kContext));
  p.set_expert(Degree(config, Field::kExpert));
  const int64_t gpus = run->job.cluster().pools(0).gpu_count();
  if (config.format == ConfigFormat::kDeepSpeed) {
    // The engine does not know how the program cuts the model.
    if (!config.parts.empty()) p.set_pipeline(static_cast<int32_t>(config.parts.size()) - 1);
    const int64_t micro = config.Int(Field::kMicroBatch, 0, 1, 1 << 20);
    const int64_t steps = config.Int(Field::kAccumulation, 0, 1, 1 << 20);
    const int64_t batch = config.Int(Field::kGlobalBatch, 0, 1, 10000000);
    const int64_t others = int64_t{p.pipeline()} * p.context();
    if (micro > 0 && steps > 0 && batch > 0 && !config.Has(Field::kTensor) &&
        batch % (micro * steps) == 0 && gpus % (others * (batch / (micro * steps))) == 0)
      p.set_tensor(static_cast<int32_t>(gpus / (others * (batch / (micro * steps)))));
  }
  const std::pair<const std::string*, void (v1::Parallelism::*)(int32_t)> given[] = {
      {&flags.tensor, &v1::Parallelism::set_tensor},
      {&flags.pipeline, &v1::Parallelism::set_pipeline},
      {&flags.context, &v1::Parallelism::set_context},
      {&flags.expert, &v1::Parallelism::set_expert}};
  for (const auto& [text, set] : given) {
    int32_t value = 0;
    if (config.format == ConfigFormat::kDeepSpeed && absl::SimpleAtoi(*text, &value) && value > 0)
      (p.*set)(value);
  }
  if (config.format == ConfigFormat::kDeepSpeed && !config.Has(Field::kTensor) &&
      flags.tensor.empty() && p.tensor() > 1)
    run->assumed.push_back(fmt::format(
        "tensor parallelism of {}: the batch sizes name {} data-parallel ranks, of {} GPUs",
        p.tensor(), gpus / (int64_t{p.tensor()} * p.pipeline() * p.context()), gpus));
  p.set_data(static_cast<int32_t>(LeftForData(*run, gpus)));
  CheckTorchtitanData(config, *run);
}

void NameCutSettings(const UserConfig& config, UserRun* run) {
  if (config.format == ConfigFormat::kTorchtitan) return;
  for (const Field field :
       {Field::kLayout, Field::kFirstStageLayers, Field::kLastStageLayers, Field::kEmbeddingCounts,
        Field::kLossCounts, Field::kLayersPerVirtualStage})
    if (config.Has(field)) run->cut_settings.push_back(config.fields.at(field).AsWritten().key);
  if (config.Has(Field::kVirtualStages))
    run->virtual_stage_setting = config.fields.at(Field::kVirtualStages).AsWritten().key;
}

// Layers of each chunk, as Megatron-Core cuts them.
void SetChunks(const UserConfig& config, UserRun* run) {
  const int64_t stages = run->degrees.pipeline();
  NameCutSettings(config, run);
  run->layers = config.Int(Field::kLayers, 0, 1, 512);
  run->degrees.set_virtual_stages(1);
  if (config.Has(Field::kLayout) || !config.chunk_layers.empty()) {
    run->chunks = config.chunk_layers;
    if (run->chunks.empty()) {
      const auto chunks = LayersOfLayout(config.Text(Field::kLayout));
      if (!chunks)
        config.Refuse(Field::kLayout, "must be a layout of E, t, m, L and |, such as Et*16|t*16L");
      run->chunks = *chunks;
    }
    const int64_t count = static_cast<int64_t>(run->chunks.size());
    if (count % stages != 0)
      FailRun(
          fmt::format("the layout has {} entries, which {} stages do not divide", count, stages));
    run->degrees.set_virtual_stages(static_cast<int32_t>(count / stages));
    return;
  }
  if (config.format == ConfigFormat::kTorchtitan) return SetTorchtitanStages(config, run);
  const int64_t padded = run->layers + (config.On(Field::kEmbeddingCounts) ? 1 : 0) +
                         (config.On(Field::kLossCounts) ? 1 : 0);
  if (config.Has(Field::kLayersPerVirtualStage) && stages > 1) {
    const int64_t each = config.Int(Field::kLayersPerVirtualStage, 1, 1, 512);
    if (run->layers == 0 || padded % (stages * each) != 0)
      config.Refuse(
          Field::kLayersPerVirtualStage,
          fmt::format("{} layers do not divide into {} stages of such chunks", padded, stages));
    run->degrees.set_virtual_stages(static_cast<int32_t>(padded / stages / each));
  }
  if (stages > 1 && config.Has(Field::kVirtualStages))
    run->degrees.set_virtual_stages(
        static_cast<int32_t>(config.Int(Field::kVirtualStages, 1, 1, 512)));
  const int64_t count = stages * run->degrees.virtual_stages();
  const bool first = config.Has(Field::kFirstStageLayers),
             last = config.Has(Field::kLastStageLayers);
  if (run->layers == 0 || stages == 1) return;
  if (first || last) {
    const int64_t front = config.Int(Field::kFirstStageLayers, 0, 1, 512),
                  back = config.Int(Field::kLastStageLayers, 0, 1, 512);
    const int64_t others = stages - (first ? 1 : 0) - (last ? 1 : 0);
    const int64_t rest = run->layers - front - back, v = run->degrees.virtual_stages();
    if (rest < 0 || (others == 0 ? rest != 0 : rest % (others * v) != 0) || front % v || back % v)
      FailRun(
          fmt::format("{} layers less {} in front and {} at the back do not divide into {} "
                      "other stages",
                      run->layers, front, back, others));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t stage = i % stages;
      run->chunks.push_back((first && stage == 0)           ? front / v
                            : (last && stage == stages - 1) ? back / v
                                                            : rest / others / v);
    }
  } else if (padded != run->layers) {
    if (padded % count != 0)
      FailRun(fmt::format("{} layers, embedding and loss counted, do not divide into {} chunks",
                          padded, count));
    run->chunks.assign(static_cast<size_t>(count), padded / count);
    if (config.On(Field::kEmbeddingCounts)) --run->chunks.front();
    if (config.On(Field::kLossCounts)) --run->chunks.back();
  } else if (padded % count != 0) {
    FailRun(fmt::format("{} layers do not divide into {} chunks of the pipeline", padded, count));
  }
}

void SetSchedule(const UserConfig& config, UserRun* run) {
  if (run->degrees.virtual_stages() > 1) run->schedule = v1::PIPELINE_SCHEDULE_INTERLEAVED;
  if (!config.Has(Field::kSchedule) || run->degrees.pipeline() == 1) return;
  const std::string name = config.Text(Field::kSchedule);
  if (absl::EqualsIgnoreCase(name, "GPipe")) {
    run->schedule = v1::PIPELINE_SCHEDULE_GPIPE;
  } else if (absl::EqualsIgnoreCase(name, "Interleaved1F1B")) {
    // torchtitan's default is two stages on each rank.
    if (run->degrees.virtual_stages() == 1) run->degrees.set_virtual_stages(2);
    run->schedule = v1::PIPELINE_SCHEDULE_INTERLEAVED;
  } else if (!absl::EqualsIgnoreCase(name, "1F1B")) {
    config.Refuse(Field::kSchedule, "not yet: only 1F1B, Interleaved1F1B and GPipe");
  }
}

// Megatron-Core runs interleaved micro-batches in groups, and refuses groups that leave a stage
// idle (forward_backward_pipelining_with_interleaving of megatron/core/pipeline_parallel/
// schedules.py).
void CheckMicroBatchGroups(const UserConfig& config, UserRun* run) {
  const int64_t stages = run->degrees.pipeline();
  const int64_t at_once = run->micro_batch * run->degrees.data();
  if (!HasMegatronArguments(config.format) || run->schedule != v1::PIPELINE_SCHEDULE_INTERLEAVED ||
      stages == 1 || run->sequences % at_once != 0)
    return;
  const int64_t count = run->sequences / at_once;
  const int64_t group = config.Int(Field::kMicroBatchGroup, stages, 1, 65536);
  if (count < stages)
    FailRun(
        fmt::format("Megatron-Core refuses an interleaved pipeline of {} stages with {} "
                    "micro-batches for each data-parallel rank: it needs {} or more",
                    stages, count, stages));
  const int64_t best = planner::MicroBatchGroup(stages, count), rest = count % group;
  if (group < stages || group > count || (rest > 0 && rest < stages))
    FailRun(
        fmt::format("Megatron-Core refuses {} micro-batches in groups of {} over {} stages: "
                    "set --microbatch-group-size-per-virtual-pipeline-stage {}",
                    count, group, stages, best));
  if (group != best)
    run->assumed.push_back(
        fmt::format("schedule: groups of {} micro-batches in each chunk, not of {}", best, group));
}

// Returns the samples that a rank takes at once, before a pipeline splits them.
int64_t RankBatchOf(const UserConfig& config, const JobFlags& flags, UserRun* run) {
  const ConfigFormatRecord& record = RecordOf(config.format);
  const int64_t samples = config.Int(record.micro_batch, record.usual_micro_batch, 1, kMostAtOnce);
  if (config.format == ConfigFormat::kHuggingFace && flags.micro_batch_samples)
    return *flags.micro_batch_samples;
  if (record.usual_micro_batch_note != nullptr && !config.Has(record.micro_batch))
    run->assumed.emplace_back(record.usual_micro_batch_note);
  return samples;
}

// Sets the micro-batch. Returns how many of them a data-parallel rank has in a step.
int64_t SetMicroBatch(const UserConfig& config, const JobFlags& flags, UserRun* run) {
  run->micro_batch = RankBatchOf(config, flags, run);
  if (!RecordOf(config.format).rank_has_batch || run->degrees.pipeline() == 1)
    return config.Int(Field::kAccumulation, 1, 1, kMostAtOnce);
  const int64_t batch = run->micro_batch;
  run->micro_batch = config.Int(Field::kPipelineMicroBatch, 1, 1, kMostAtOnce);
  return std::max<int64_t>(1, batch / run->micro_batch);
}

// Sets the samples of a step, over all ranks. `steps`: micro-batches of a data-parallel rank.
void SetStepSamples(const UserConfig& config, const JobFlags& flags, int64_t steps, UserRun* run) {
  const int64_t data = run->degrees.data();
  const int64_t product = run->micro_batch * steps * data;
  run->sequences = config.Int(Field::kGlobalBatch, -1, -1, kMostSequences);
  run->batch_follows_ranks = RecordOf(config.format).rank_has_batch && run->sequences <= 0;
  if (run->sequences <= 0) run->sequences = product;
  if (run->sequences > kMostSequences)
    FailRun(
        fmt::format("a step of {} samples x {} accumulation steps x {} data-parallel ranks has "
                    "more than {} samples",
                    run->micro_batch, steps, data, kMostSequences));
  // As the Trainer does: DeepSpeed's train_batch_size is checked.
  if (config.format == ConfigFormat::kHuggingFace && !flags.micro_batch_samples &&
      run->sequences != product)
    config.Refuse(Field::kGlobalBatch,
                  fmt::format("must be {}, or \"auto\": {} samples x {} accumulation steps x {} "
                              "data-parallel ranks",
                              product, run->micro_batch, steps, data));
  if (flags.global_batch) run->sequences = 0;
}

void CheckStepSamples(const UserRun& run) {
  const int64_t at_once = run.micro_batch * run.degrees.data();
  const int64_t over = run.sequences % at_once;
  if (over == 0) return;
  const int64_t below = run.sequences - over;
  FailRun(
      fmt::format("a global batch of {} is not a multiple of {} (micro-batches of {} on {} "
                  "data-parallel ranks); nearest: {}{}",
                  run.sequences, at_once, run.micro_batch, run.degrees.data(),
                  below > 0 ? fmt::format("{}, ", below) : "", below + at_once));
}

void SetSequenceLength(const UserConfig& config, const JobFlags& flags, UserRun* run) {
  const ConfigFormatRecord& record = RecordOf(config.format);
  if (record.usual_seq_length > 0 && !config.Has(Field::kSeqLength) && !flags.token_cap)
    run->assumed.push_back(
        fmt::format("seq_len: {}, {}'s default", record.usual_seq_length, record.title));
  run->seq_length = config.format == ConfigFormat::kHuggingFace
                        ? LongestSample(config)
                        : config.Int(Field::kSeqLength, record.usual_seq_length, 1, kMaxTokens);
  if (config.Has(Field::kDecoderSeqLength))
    run->seq_length = config.Int(Field::kDecoderSeqLength, 0, 1, kMaxTokens);
  if (flags.token_cap) run->seq_length = *flags.token_cap / run->micro_batch;
}

void SetBatch(const UserConfig& config, const JobFlags& flags, UserRun* run) {
  const int64_t steps = SetMicroBatch(config, flags, run);
  SetStepSamples(config, flags, steps, run);
  CheckStepSamples(*run);
  SetSequenceLength(config, flags, run);
}

// Layers of multi-token prediction can be planned where a config.json says what they are.
void SetPredictedTokens(const UserConfig& config, const JobFlags& flags, UserRun* run) {
  const int64_t layers = config.Int(Field::kPredictedTokens, 0, 0, 8);
  if (layers == 0 || flags.predicted_tokens) return;
  v1::Model* model = run->job.mutable_model();
  if (model->config_json().empty()) {
    run->assumed.push_back(fmt::format(
        "multi-token prediction: its {} layer{} left out, since only a config.json describes "
        "them: give it by --model",
        layers, layers == 1 ? " is" : "s are"));
    return;
  }
  model->set_predicted_tokens(static_cast<int32_t>(layers));
}

// Text gives an encoder no gradients.
void UseTextOnly(UserRun* run) {
  run->assumed.emplace_back("data: only text, as processor_type is unset; encoders are frozen");
  if (run->job.model().encoder_train_mode() == v1::TRAIN_MODE_UNSPECIFIED)
    run->job.mutable_model()->set_encoder_train_mode(v1::TRAIN_MODE_FROZEN);
}

// Replaces invented texts by the planner's own data, which have images.
void UseDataOfEncoders(UserRun* run) {
  run->fixed_lengths = run->knows_samples = false;
  run->job.clear_dataset();
  run->assumed[*run->invented_data] = fmt::format(
      "data: the planner's built-in mix of images and text, not cut{}; --dataset brings yours",
      run->length_limit.empty() ? "" : ": " + run->length_limit + " is not applied to it");
}

// Checkpoints of bitsandbytes have the name of their model and an ending
// (huggingface.co/unsloth).
void SetModelName(absl::string_view name, UserRun* run) {
  run->four_bit_weights = absl::ConsumeSuffix(&name, "-bnb-4bit");
  if (run->four_bit_weights) absl::ConsumeSuffix(&name, "-unsloth");
  run->job.mutable_model()->set_name(std::string(name));
}

}  // namespace

void AdaptToLayers(const ModelLayers& layers, UserRun* run) {
  CutTorchtitanStages(std::count(layers.begin(), layers.end(), v1::LAYER_KIND_DENSE) +
                          std::count(layers.begin(), layers.end(), v1::LAYER_KIND_MOE),
                      run);
  const bool encoders = std::count(layers.begin(), layers.end(), v1::LAYER_KIND_ENCODER) > 0;
  if (run->offloads_inputs)
    run->job.mutable_training()->mutable_offload()->set_activation_layers(
        static_cast<int32_t>(std::count(layers.begin(), layers.end(), v1::LAYER_KIND_DENSE) +
                             std::count(layers.begin(), layers.end(), v1::LAYER_KIND_MOE)));
  if (run->linear_layers_alone && std::count(layers.begin(), layers.end(), v1::LAYER_KIND_MOE) > 0)
    run->assumed.emplace_back(
        "precision: experts are predicted in the format of linear layers, but stay in 16 bits "
        "without a converter of quantize.grouped_mm: predicted time is too low");
  ApplyComponents(encoders, run);
  const auto bare = std::find(run->chunks.begin(), run->chunks.end(), 0);
  if (!encoders && bare != run->chunks.end())
    FailRun(fmt::format("not yet: entry {} of the layout has no transformer layer; move one there",
                        bare - run->chunks.begin() + 1));
  if (!encoders) return;
  if (run->text_only && run->fixed_lengths) {
    UseTextOnly(run);
  } else if (run->invented_data) {
    UseDataOfEncoders(run);
  }
  if (run->adapters && run->job.model().encoder_train_mode() == v1::TRAIN_MODE_UNSPECIFIED) {
    run->job.mutable_model()->set_encoder_train_mode(v1::TRAIN_MODE_FROZEN);
    const bool listed = run->job.model().lora().targets_size() > 0;
    run->assumed.push_back(
        fmt::format("encoders: frozen, without adapters{}; --lora says otherwise",
                    listed ? ", also on modules of theirs with the names that are listed" : ""));
  }
  if (run->padded || run->fixed_lengths) return;
  if (run->job.training().unit_cap() == 0)
    run->assumed.push_back(
        "encoder units in a pack: derived from the data; --unit-cap N says what the data loader "
        "does");
}

UserRun RunOf(const UserConfig& config, const JobFlags& flags) {
  UserRun run;
  run.job = PartialRequestFromFlags(flags).job();
  run.job.clear_launch_frameworks();
  SetGpus(config, &run);
  const v1::Model& model = *run.job.mutable_model();
  if (config.format == ConfigFormat::kHuggingFace && model.name().empty() &&
      !model.has_language_model() && model.config_json().empty())
    SetModelName(config.Text(Field::kModelName), &run);
  const bool named =
      !model.name().empty() || model.has_language_model() || !model.config_json().empty();
  if (!named && !SetModelOf(config, &run.job, &run.assumed))
    FailRun(
        fmt::format("{}'s configuration does not describe the model: name it, or its "
                    "config.json, by --model",
                    TrainerName(config)));
  SetPredictedTokens(config, flags, &run);
  SetAdapters(config, flags, &run);
  SetComponents(config, flags, &run);
  SetDegrees(config, flags, &run);
  CheckMegatronRules(config, run);
  SetChunks(config, &run);
  SetSchedule(config, &run);
  if (run.degrees.virtual_stages() > 1 && run.layers > 0 && run.chunks.empty())
    run.chunks = EvenChunks(run.layers, run.degrees.pipeline() * run.degrees.virtual_stages());
  run.parts = config.parts;
  run.recomputed_parts.insert(config.recomputed.begin(), config.recomputed.end());
  SetBatch(config, flags, &run);
  if (run.sequences > 0) CheckMicroBatchGroups(config, &run);
  SetPadding(config, flags, &run);
  SetRunData(config, flags, &run);
  v1::Training* training = run.job.mutable_training();
  if (run.sequences > 0) training->set_global_batch_samples(run.sequences);
  // None of these trainers changes its degrees from step to step.
  if (flags.groups.empty()) training->set_group_selection(v1::GROUP_SELECTION_ONE);
  training->clear_group_lengths();
  training->clear_curriculum_steps();
  if (!flags.token_cap || run.padded) training->clear_token_cap();
  run.recompute = RecomputeOf(config);
  if (config.trl && !config.Has(Field::kRecompute))
    run.assumed.push_back("recompute: every layer, TRL's default since 0.22");
  if (config.format == ConfigFormat::kDeepSpeed && !config.lists_recomputed) {
    const bool full = flags.recompute == "full";
    if (full) run.recompute = {.kind = Recompute::Kind::kEvery, .encoder = true};
    run.assumed.push_back(full ? "recompute: every layer (--recompute full)"
                               : "recompute: none; --recompute full says that the program turns "
                                 "gradient checkpointing on");
  }
  SetExecutionSettings(config, flags, &run);
  return run;
}

}  // namespace evenkeel::cli
