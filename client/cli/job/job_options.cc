#include "client/cli/job/job_options.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "client/cli/base/parse_number.h"
#include "client/cli/job/job_values.h"
#include "planner/job.h"
#include "planner/space/parallelism.h"

namespace evenkeel::cli {
namespace {

using Options = std::vector<JobOption>;

constexpr double kGiga = 1e9, kGib = 1 << 30, kHour = 3600;
constexpr char kComponents[] = "encoder|llm";

// Returns the fault of a share of the optimizer; "" if there is none.
std::string ShareFault(const std::string& text) {
  const std::optional<double> share = ParseNumber<double>(text);
  const bool good = text == "auto" || (share && *share >= 0 && *share <= 1);
  return good ? "" : "must be auto or a number from 0 to 1";
}

// Returns the fault of a number of layers; "" if there is none.
std::string LayersFault(const std::string& text) {
  const std::optional<int> layers = ParseNumber<int>(text);
  const bool good = text == "auto" || (layers && *layers >= 0 && *layers <= 1024);
  return good ? "" : "must be auto or a whole number from 0 to 1024";
}

// Returns the fault of a module's name, which may be auto; "" if there is none.
std::string ModuleFault(const std::string& text) {
  const bool known =
      text == "auto" || ValueOf(kOffloadModuleNames, text) != v1::OFFLOAD_MODULE_UNSPECIFIED;
  return known ? "" : "must be auto, or some of " + JoinedNames(kOffloadModuleNames, ", ");
}

// Maps PyTorch's optimizer names to the contract's. AdamW is planned as Adam: decoupled weight
// decay costs the same.
std::string OptimizerName(const std::string& text) { return text == "adamw" ? "adam" : text; }

// Returns the fault of an optimizer; "" if there is none.
std::string OptimizerFault(const std::string& text) {
  const bool known = ValueOf(kOptimizerNames, OptimizerName(text)) != v1::OPTIMIZER_UNSPECIFIED;
  return known ? "" : NotOneOf(AllNames(kOptimizerNames), text);
}

// Returns the fault of a recompute policy; "" if there is none. Explains Megatron's word
// "selective".
std::string RecomputeFault(const std::string& text) {
  if (text == "selective")
    return "\"selective\" is no policy here: say auto, which chooses the parts to recompute, or "
           "full";
  const bool known = ValueOf(kRecomputeNames, text) != v1::RECOMPUTE_POLICY_UNSPECIFIED;
  return known ? "" : NotOneOf(AllNames(kRecomputeNames), text);
}

CLI::Validator Words(const std::vector<std::string>& words) {
  return CLI::IsMember(words).description("");
}

Options ModelOptions() {
  return {
      {"--job", "FILE",
       "PlanJobRequest or Job as protobuf JSON ('-': standard input); other flags override it",
       One(&JobFlags::job_file)},
      {"--model", "NAME",
       "Model (see `models`), ENCODER+LANGUAGE_MODEL, or the path of a model's config.json "
       "or of a folder that has one",
       One(&JobFlags::model)},
      {"--dataset", "FILE",
       "Length file or histogram (see `stats`); repeatable, files are mixed [built-in "
       "data, which the plan names]",
       Several(&JobFlags::datasets, '\0')},
      {"--dataset-weights", "X,Y,...",
       "Passes over each --dataset in one epoch, in the order of the --dataset flags [1]",
       Several(&JobFlags::dataset_weights, ',', Real(1e-6, 1e4))},
      {"--dataset-shares", "X,Y,...",
       "Share of the samples that comes from each --dataset, whatever its size [by their sizes]",
       Several(&JobFlags::dataset_shares, ',', Real(1e-6, 1e6))},
      {"--label", "TEXT", "Free text, repeated in the answer", One(&JobFlags::label)}};
}

Options OfferOptions() {
  return {{"--gpu", "NAME", "GPU type (see `gpus`)", One(&JobFlags::gpu)},
          {"--gpus", "N[,N...]", "GPUs to use; several numbers are planned and compared",
           Several(&JobFlags::gpus, ',', Whole(1, planner::kGpusAtMost))},
          {"--pool", "TYPE:N[,N...][@PRICE]",
           "Other GPUs to compare with, such as h100-sxm-80gb:16,32@4.50 (price of a "
           "GPU-hour); repeatable",
           Several(&JobFlags::pools, '\0')}};
}

// Returns the tier of this number. Adds it, and the tiers before it, if they are missing.
v1::NetworkTier* Tier(v1::Job* job, int number) {
  v1::GpuPool* const pool = PartOf<v1::GpuPool>(job);
  while (pool->network_tiers_size() <= number) pool->add_network_tiers();
  return pool->mutable_network_tiers(number);
}

// The ratio belongs to the tier above the pods, which only --pod-gpus makes.
JobValue Oversubscription() {
  JobValue value =
      With(One(&JobFlags::oversubscription, Real(1, 100)), [](const JobFlags& flags, v1::Job* job) {
        if (flags.pod_gpus && flags.oversubscription)
          Tier(job, 2)->set_oversubscription_ratio(*flags.oversubscription);
      });
  value.add = [add = value.add](const JobOption& option, CLI::App* command, JobFlags* flags) {
    return add(option, command, flags)->needs("--pod-gpus");
  };
  return value;
}

Options NodeOptions() {
  return {
      {"--gpus-per-node", "N", "GPUs that share a node [the GPU type's]",
       Amount(&JobFlags::gpus_per_node, Whole(1, 1024), &v1::GpuPool::set_gpus_per_node)},
      {"--domain-gpus", "N",
       "GPUs that the scale-up link joins across nodes, such as 72 in an NVL72 [the GPU type's]",
       With(One(&JobFlags::domain_gpus, Whole(1, planner::kGpusAtMost)),
            [](const JobFlags& flags, v1::Job* job) {
              if (flags.domain_gpus) Tier(job, 0)->set_gpu_count(*flags.domain_gpus);
            })},
      {"--usable-domain-gpus", "N",
       "GPUs of each scale-up domain to use at most, such as 64 of 72; the job then fills whole "
       "domains of this size, or part of one [the most that makes domains equal]",
       With(One(&JobFlags::usable_domain_gpus, Whole(1, planner::kGpusAtMost)),
            [](const JobFlags& flags, v1::Job* job) {
              if (flags.usable_domain_gpus)
                Tier(job, 0)->set_usable_gpu_count(*flags.usable_domain_gpus);
            })},
      {"--pod-gpus", "N",
       "GPUs of a network pod, whose uplinks have less bandwidth than its inside",
       With(One(&JobFlags::pod_gpus, Whole(1, planner::kGpusAtMost)),
            [](const JobFlags& flags, v1::Job* job) {
              if (!flags.pod_gpus) return;
              Tier(job, 1)->set_gpu_count(*flags.pod_gpus);
              Tier(job, 2);
            })},
      {"--oversubscription", "RATIO", "Bandwidth inside a pod divided by that between pods [1]",
       Oversubscription()},
      {"--inter-node-gbps", "GBIT/S",
       "Gigabits per second between nodes, per GPU and direction [200]",
       Amount(&JobFlags::inter_node_gbps, Real(0.08, 80000),
              &v1::GpuPool::set_inter_node_bytes_per_second, kGiga / 8)},
      {"--network-fabric", JoinedNames(kFabricNames, "|"),
       "Network between nodes: InfiniBand or RoCE (rdma), or AWS's EFA [rdma]",
       Name(&JobFlags::network_fabric, kFabricNames, &v1::GpuPool::set_network_fabric)}};
}

Options GpuOptions() {
  return {{"--intra-node-gbytes", "GB/S",
           "Gigabytes per second inside a node, per GPU and direction [the GPU type's]",
           Amount(&JobFlags::intra_node_gbytes, Real(0.1, 10000),
                  &v1::GpuPool::set_intra_node_bytes_per_second, kGiga)},
          {"--reserve-gib", "GIB", "GiB of each GPU to keep free [0]",
           Amount(&JobFlags::reserve_gib, Real(0, 4096), &v1::GpuPool::set_reserved_bytes, kGib)},
          {"--host-memory-gib", "GIB",
           "GiB of host memory of a node that the job may use [no limit without offload]",
           Amount(&JobFlags::host_memory_gib, Real(1, 65536), &v1::GpuPool::set_host_memory_bytes,
                  kGib)},
          {"--host-link-gbytes", "GB/S",
           "Gigabytes per second between a GPU and its host, per direction [the GPU type's]",
           Amount(&JobFlags::host_link_gbytes, Real(0.1, 10000),
                  &v1::GpuPool::set_host_link_bytes_per_second, kGiga)},
          {"--host-memory-gbytes", "GB/S",
           "Gigabytes per second of the host memory of a node [the GPU type's]",
           Amount(&JobFlags::host_memory_gbytes, Real(1, 100000),
                  &v1::GpuPool::set_host_memory_bytes_per_second, kGiga)},
          {"--power-limit", "WATTS",
           "Power limit of each GPU, which lowers its clock [the board's power]",
           Amount(&JobFlags::power_limit, Real(10, 10000), &v1::GpuPool::set_power_limit_watts)},
          {"--price", "PRICE", "Price of a GPU-hour, to predict the cost",
           Amount(&JobFlags::price, Real(0, 1000000), &v1::GpuPool::set_price_per_gpu_hour)}};
}

Options BatchOptions() {
  return {
      {"--global-batch", "N", "Mean samples per optimizer step [512]",
       Amount(&JobFlags::global_batch, Whole(1, 10000000),
              &v1::Training::set_global_batch_samples)},
      {"--unit-cap", "N", "Maximum encoder units per pack [from the data]",
       Amount(&JobFlags::unit_cap, Whole(1, planner::kUnitCapAtMost), &v1::Training::set_unit_cap)},
      {"--token-cap", "N", "Maximum tokens per pack [from the data]",
       Amount(&JobFlags::token_cap, Whole(1, planner::kTokenCapAtMost),
              &v1::Training::set_token_cap)},
      {"--epochs", "N", "Passes over the data [1]",
       Amount(&JobFlags::epochs, Whole(1, 10000), &v1::Training::set_epochs)},
      {"--zero", "0|1|2|3", "ZeRO stage [the trainer's]",
       With(One(&JobFlags::zero, Whole(0, 3)),
            [](const JobFlags& flags, v1::Job* job) {
              // ZERO_STAGE_0 is 1 and so on; ZERO_STAGE_3 is 4.
              if (flags.zero)
                job->mutable_training()->set_zero_stage(
                    static_cast<v1::ZeroStage>(*flags.zero + 1));
            })},
      {"--zero-group", "N",
       "Ranks over which states are sharded; each group of this many ranks has a copy [all]",
       Amount(&JobFlags::zero_group, Whole(1, planner::kGpusAtMost),
              &v1::Training::set_zero_group)}};
}

// Settings of a trainer's step that differ from the trainer's record.
Options StepOptions() {
  return {
      {"--gradients", JoinedNames(kGradientNames, "|"),
       "Precision in which gradients are accumulated [the trainer's]",
       Name(&JobFlags::gradients, kGradientNames, &v1::Training::set_gradient_precision)},
      {"--overlap-tensor", JoinedNames(kOnOffNames, "|"),
       "Overlap tensor-parallel communication with matrix products [the trainer's]",
       Name(&JobFlags::overlap_tensor, kOnOffNames, &v1::Execution::set_overlap_tensor)},
      {"--overlap-experts", JoinedNames(kOnOffNames, "|"),
       "Overlap the exchanges of experts with the compute of another micro-batch [the trainer's]",
       Name(&JobFlags::overlap_experts, kOnOffNames, &v1::Execution::set_overlap_experts)},
      {"--fused-step", JoinedNames(kOnOffNames, "|"),
       "Update each layer inside the backward pass, with one micro-batch per step [off]",
       Name(&JobFlags::fused_step, kOnOffNames, &v1::Training::set_fused_step)},
      {"--optimizer", "adam|muon|...",
       "adam (or adamw), adam-16bit-moments, adam-8bit-moments, adam-16bit and adam-8bit (without "
       "master weights), adafactor, lion, sgd or muon [adam]",
       With(One(&JobFlags::optimizer, CLI::Validator(OptimizerFault, "")),
            [](const JobFlags& flags, v1::Job* job) {
              if (!flags.optimizer.empty())
                job->mutable_training()->set_optimizer(
                    ValueOf(kOptimizerNames, OptimizerName(flags.optimizer)));
            })}};
}

// offload_request.cc sets these together.
Options OffloadOptions() {
  return {{"--offload-optimizer", "auto|SHARE",
           "Share of the optimizer's states in host memory, 0 to 1; auto: the best share [none]",
           One(&JobFlags::offload_optimizer, CLI::Validator(ShareFault, ""))},
          {"--offload-activations", "auto|LAYERS",
           "Number of language layers whose activations are kept in host memory; auto: the best "
           "number [none]",
           One(&JobFlags::offload_activations, CLI::Validator(LayersFault, ""))},
          {"--offload-modules", "auto|MODULES",
           "Modules whose inputs wait in host memory (Megatron-Core's --offload-modules): " +
               JoinedNames(kOffloadModuleNames, ", ") + "; auto: the best of them [none]",
           Several(&JobFlags::offload_modules, ',', CLI::Validator(ModuleFault, ""))},
          {"--offload-weights", "",
           "Keep weights, gradients and the optimizer's states in host memory (FSDP, DeepSpeed)",
           Switch(&JobFlags::offload_weights)}};
}

Options PrecisionOptions() {
  return {
      {"--precision", "bf16|fp16|fp8|...",
       "Format of weights and activations, or of the products of linear layers: fp8 (a scale for "
       "each tensor), fp8-delayed, fp8-block, mxfp8, nvfp4. V100s have no bf16 [bf16]",
       Name(&JobFlags::precision, kPrecisionNames, &v1::Training::set_precision)},
      {"--start-layers-16bit", "N",
       "With a precision below 16 bits: number of first layers to keep in 16 bits [0]",
       Amount(&JobFlags::start_layers_16bit, Whole(0, 10000),
              &v1::Execution::set_start_layers_16bit)},
      {"--end-layers-16bit", "N",
       "With a precision below 16 bits: number of last layers to keep in 16 bits [0]",
       Amount(&JobFlags::end_layers_16bit, Whole(0, 10000), &v1::Execution::set_end_layers_16bit)},
      {"--expert-dispatcher", "all-to-all|deepep|...",
       "How expert-parallel ranks exchange tokens: all-to-all, all-gather, deepep, "
       "hybridep, or least-time (the quickest of these, all-gather excluded) [all-to-all]",
       Name(&JobFlags::expert_dispatcher, kDispatcherNames, &v1::Execution::set_expert_dispatcher)},
      {"--predicted-tokens", "N",
       "Multi-token prediction layers to train, at most those of the model [none]",
       Amount(&JobFlags::predicted_tokens, Whole(1, 8), &v1::Model::set_predicted_tokens)}};
}

Options TrainedOptions() {
  return {{"--freeze", kComponents, "Components whose weights do not train",
           Several(&JobFlags::freeze, ',', Words({"encoder", "llm"}))},
          {"--lora", kComponents, "Components that train only LoRA adapters",
           Several(&JobFlags::lora, ',', Words({"encoder", "llm"}))},
          {"--lora-rank", "N", "Rank of the adapters, with --lora [16]",
           Amount(&JobFlags::lora_rank, Whole(1, 4096), &v1::Lora::set_rank)},
          {"--lora-dropout", "SHARE",
           "Share of the adapters' inputs that dropout sets to zero, with --lora [0]",
           Amount(&JobFlags::lora_dropout, Real(0, .999), &v1::Lora::set_dropout_ratio)},
          {"--lora-train", "embedding|head",
           "Tables of the language model that train in full, in addition to adapters, with --lora "
           "(modules_to_save of PEFT)",
           Several(&JobFlags::lora_train, ',', Words({"embedding", "head"}))},
          {"--lora-base", JoinedNames(kFrozenFormatNames, "|"),
           "Format of the frozen linear layers under adapters, with --lora [16bit]",
           Name(&JobFlags::lora_base, kFrozenFormatNames, &v1::Lora::set_base_format)}};
}

// Sets the trainer that "NAME" or "NAME@VERSION" is.
void SetTrainer(const JobFlags& flags, v1::Job* job) {
  if (flags.trainer.empty()) return;
  const size_t at = std::min(flags.trainer.find('@'), flags.trainer.size());
  v1::Trainer* const trainer = job->mutable_training()->mutable_trainer();
  trainer->set_name(flags.trainer.substr(0, at));
  trainer->set_version(flags.trainer.substr(std::min(at + 1, flags.trainer.size())));
}

Options TrainerOptions(const std::string& framework_flag) {
  return {
      {framework_flag, JoinedNames(kFrameworkNames, "|"),
       "Kind of trainer: deepspeed is ZeRO with Ulysses around Hugging Face modules "
       "[the trainer's, or megatron]",
       Name(&JobFlags::framework, kFrameworkNames, &v1::Training::set_framework)},
      {"--trainer", "NAME[@VERSION]",
       "Trainer to plan for, such as torchtitan or llm-foundry (see `trainers`) [megatron-core]",
       With(One(&JobFlags::trainer), SetTrainer)},
      {"--order-window", "STEPS",
       "Number of steps whose packs may be exchanged for balance [16; with --groups the epoch]",
       Amount(&JobFlags::order_window, Whole(1, planner::kWholeEpoch),
              &v1::Training::set_order_window)},
      {"--seed", "N", "Seed of all random choices [0]",
       Amount(&JobFlags::seed,
              Whole(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()),
              &v1::Training::set_seed)}};
}

Options PaddingOptions() {
  return {{"--micro-batch-samples", "N",
           "Samples per micro-batch, for a loader that pads instead of packing [packs]",
           Amount(&JobFlags::micro_batch_samples, Whole(1, 65536),
                  &v1::Training::set_micro_batch_samples)},
          {"--pad-to", "TOKENS",
           "With --micro-batch-samples: pad all micro-batches to this length [the longest sample "
           "of each]",
           Amount(&JobFlags::pad_to, Whole(1, 16777216), &v1::Padding::set_tokens)},
          {"--pad-multiple", "N", "With --micro-batch-samples: round lengths up to a multiple [1]",
           Amount(&JobFlags::pad_multiple, Whole(1, 65536), &v1::Padding::set_multiple)},
          {"--group-by-length", "",
           "With --micro-batch-samples: micro-batches of samples of similar length, as "
           "group_by_length of Hugging Face's Trainer makes them",
           Switch(&JobFlags::group_by_length, &v1::Training::set_group_by_length)}};
}

Options GroupOptions() {
  return {
      {"--groups", JoinedNames(kGroupSelectionNames, "|"),
       "Packing groups: one for all samples, HBP's published rule, or the best set "
       "[exact if some samples are much longer than most]",
       Name(&JobFlags::groups, kGroupSelectionNames, &v1::Training::set_group_selection)},
      {"--group-lengths", "N,N,...",
       "Lengths that packs of a group may have, in tokens [powers of two from 8192]",
       Several(&JobFlags::group_lengths, &v1::Training::mutable_group_lengths)},
      {"--curriculum", "STEPS",
       "Number of initial steps that run only the shortest group [500, at most a tenth of all]",
       Amount(&JobFlags::curriculum, Whole(0, 1000000000), &v1::Training::set_curriculum_steps)},
      {"--context-exchange", JoinedNames(kContextExchangeNames, "|"),
       "How GPUs that share a pack exchange attention: heads (ulysses), keys and "
       "values, or both (hierarchical); ulysses-or-ring: heads where there are enough "
       "of them [the trainer's]",
       Name(&JobFlags::context_exchange, kContextExchangeNames,
            &v1::Execution::set_context_exchange)}};
}

Options DegreeOptions() {
  constexpr char kDegree[] = "N|MIN:MAX";
  using C = v1::Constraints;
  return {{"--tp", kDegree, "Tensor-parallel degree [free]",
           Degree(&JobFlags::tensor, &C::mutable_tensor_parallel)},
          {"--pp", kDegree, "Pipeline-parallel degree [free]",
           Degree(&JobFlags::pipeline, &C::mutable_pipeline_parallel)},
          {"--dp", kDegree, "Data-parallel degree [free]",
           Degree(&JobFlags::data, &C::mutable_data_parallel)},
          {"--cp", kDegree, "Context-parallel degree [free]",
           Degree(&JobFlags::context, &C::mutable_context_parallel)},
          {"--ep", kDegree, "Expert-parallel degree [free]",
           Degree(&JobFlags::expert, &C::mutable_expert_parallel)},
          {"--encoder-dp", kDegree,
           "Ranks of a tensor and context group that divide the images of a pack among them [what "
           "the trainer does]",
           Degree(&JobFlags::encoder_data, &C::mutable_encoder_data_parallel)},
          {"--virtual-stages", kDegree, "Virtual stages on each pipeline stage [free]",
           Degree(&JobFlags::virtual_stages, &C::mutable_virtual_stages)}};
}

Options ConstraintOptions() {
  using C = v1::Constraints;
  return {
      {"--schedule", JoinedNames(kScheduleNames, "|"),
       "Schedule of the pipeline [1f1b or interleaved]",
       Name(&JobFlags::schedule, kScheduleNames, &C::set_schedule)},
      {"--partition", JoinedNames(kPartitionNames, "|"),
       "How the model is cut into stages [the trainer's only way, or exact]",
       Name(&JobFlags::partition, kPartitionNames, &C::set_partition_method)},
      {"--stage-layers", "N,N,...", "Transformer layers of each stage, such as 22,23,24,24 [free]",
       Several(&JobFlags::stage_layers, &C::mutable_stage_layers)},
      {"--recompute", JoinedNames(kRecomputeNames, "|"),
       "Which layers may be recomputed [what the trainer can do]",
       With(One(&JobFlags::recompute, CLI::Validator(RecomputeFault, "")),
            [](const JobFlags& flags, v1::Job* job) {
              if (!flags.recompute.empty())
                job->mutable_constraints()->set_recompute(
                    ValueOf(kRecomputeNames, flags.recompute));
            })},
      {"--memory-confidence", "SHARE",
       "Leave room for prediction errors, so that this share of runs fits, such as 0.8 [none: "
       "plans fit as predicted]",
       Amount(&JobFlags::memory_confidence, Real(0.5, 0.99), &C::set_memory_confidence_ratio)},
      {"--alternatives", "N", "Maximum number of alternatives to report [3]",
       One(&JobFlags::alternatives, Whole(0, 16))}};
}

Options ObjectiveOptions() {
  return {
      {"--objective", JoinedNames(kObjectiveNames, "|"),
       "What counts as best when GPU types or numbers are compared [step-time]",
       One(&JobFlags::objective, NameIn(kObjectiveNames))},
      {"--deadline", "HOURS", "Find the fewest GPUs that finish all epochs within this many hours",
       One(&JobFlags::deadline_hours, Real(0.001, 2000000))},
      {"--compare-sizes", "",
       "Also plan with one node fewer, one node more, and the next smaller and larger GPU type",
       Switch(&JobFlags::compare_sizes)},
      {"--compare-precisions", "",
       "Also plan in every other precision that the GPU and the trainer have",
       Switch(&JobFlags::compare_precisions)},
      {"--compare-shardings", "",
       "Also plan with every other ZeRO stage that the trainer has, over all GPUs and inside nodes",
       Switch(&JobFlags::compare_shardings)}};
}

Options FailureOptions() {
  return {{"--mtbf", "HOURS", "Mean time between failures of one node; needs --checkpoint-gbytes",
           Amount(&JobFlags::mtbf_hours, Real(0.02, 2000000),
                  &v1::Reliability::set_node_mean_time_between_failures_seconds, kHour)},
          {"--checkpoint-gbytes", "GB/S",
           "Gigabytes per second at which a node writes its share of a checkpoint",
           Amount(&JobFlags::checkpoint_gbytes, Real(0.001, 10000),
                  &v1::Reliability::set_checkpoint_bytes_per_second, kGiga)},
          {"--restart", "SECONDS", "Time from a failure until training goes on [0]",
           Amount(&JobFlags::restart_seconds, Real(0, 10000000),
                  &v1::Reliability::set_restart_seconds)},
          {"--checkpoint-interval", "SECONDS", "Training time between two checkpoints [the best]",
           Amount(&JobFlags::checkpoint_interval_seconds, Real(1, 10000000),
                  &v1::Reliability::set_checkpoint_interval_seconds)}};
}

struct Group {
  const char* title;  // in --help
  std::vector<Options> parts;
};

Options Joined(const std::vector<Group>& groups) {
  Options all;
  for (const Group& group : groups)
    for (const Options& part : group.parts)
      for (const JobOption& option : part) {
        all.push_back(option);
        all.back().group = group.title;
      }
  return all;
}

}  // namespace

Options PoolOptions() { return Joined({{"Cluster", {NodeOptions(), GpuOptions()}}}); }

Options JobOptions(const std::string& framework_flag) {
  return Joined({{"Job", {ModelOptions()}},
                 {"Cluster", {OfferOptions(), PoolOptions()}},
                 {"Training",
                  {BatchOptions(), StepOptions(), OffloadOptions(), PrecisionOptions(),
                   TrainedOptions(), TrainerOptions(framework_flag), PaddingOptions()}},
                 {"Long context", {GroupOptions()}},
                 {"Constraints", {DegreeOptions(), ConstraintOptions()}},
                 {"Objective", {ObjectiveOptions()}},
                 {"Failures", {FailureOptions()}}});
}

void AddJobFlags(CLI::App* command, JobFlags* flags, const std::string& framework_flag) {
  for (const JobOption& option : JobOptions(framework_flag))
    option.value.add(option, command, flags);
}

}  // namespace evenkeel::cli
