#include "client/cli/job/job_flags.h"

#include <fmt/format.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <system_error>

#include "client/cli/base/flags.h"
#include "client/cli/job/option_names.h"

namespace evenkeel::cli {
namespace {

// Says what is wrong with a share of the optimizer; "" if nothing is.
std::string ShareFault(const std::string& text) {
  if (text == "auto") return "";
  double share = -1;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, share);
  const bool number = error == std::errc() && at == end && share >= 0 && share <= 1;
  return number ? "" : "must be auto or a number from 0 to 1";
}

// Says the same of a number of layers.
std::string LayersFault(const std::string& text) {
  if (text == "auto") return "";
  int layers = -1;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, layers);
  const bool number = error == std::errc() && at == end && layers >= 0 && layers <= 1024;
  return number ? "" : "must be auto or a whole number from 0 to 1024";
}

// Says the same of the name of a module, or auto.
std::string ModuleFault(const std::string& text) {
  const bool known =
      text == "auto" || ValueOf(kOffloadModuleNames, text) != v1::OFFLOAD_MODULE_UNSPECIFIED;
  return known ? "" : "must be auto, or some of " + JoinedNames(kOffloadModuleNames, ", ");
}

void AddModelFlags(CLI::App* command, JobFlags* flags) {
  const char* const kJob = "Job";
  Add(command, "--job", &flags->job_file, "FILE",
      "PlanJobRequest or Job as protobuf JSON ('-': standard input); other flags override it",
      kJob);
  Add(command, "--model", &flags->model, "NAME",
      "Model (see `models`), ENCODER+LANGUAGE_MODEL, or the path of a model's config.json "
      "or of a folder that has one",
      kJob);
  command
      ->add_option("--dataset", flags->datasets,
                   "Length file or histogram (see `stats`); repeatable, files are mixed [built-in "
                   "data, which the plan names]")
      ->type_name("FILE")
      ->group(kJob)
      ->take_all();
  const auto numbers = [&](const char* flag, std::vector<double>* values, const char* help,
                           double least, double most) {
    command->add_option(flag, *values, help)
        ->type_name("X,Y,...")
        ->delimiter(',')
        ->group(kJob)
        ->check(Real(least, most));
  };
  numbers("--dataset-weights", &flags->dataset_weights,
          "Passes over each --dataset in one epoch, in the order of the --dataset flags [1]", 1e-6,
          1e4);
  numbers("--dataset-shares", &flags->dataset_shares,
          "Share of the samples that comes from each --dataset, whatever its size [by their sizes]",
          1e-6, 1e6);
  Add(command, "--label", &flags->label, "TEXT", "Free text, repeated in the answer", kJob);
}

void AddClusterFlags(CLI::App* command, JobFlags* flags) {
  const char* const kCluster = "Cluster";
  Add(command, "--gpu", &flags->gpu, "NAME", "GPU type (see `gpus`)", kCluster);
  command
      ->add_option("--gpus", flags->gpus, "GPUs to use; several numbers are planned and compared")
      ->type_name("N[,N...]")
      ->delimiter(',')
      ->group(kCluster)
      ->take_all()
      ->check(Whole(1, 65536));
  command
      ->add_option("--pool", flags->pools,
                   "Other GPUs to compare with, such as h100-sxm-80gb:16,32@4.50 (price of a "
                   "GPU-hour); repeatable")
      ->type_name("TYPE:N[,N...][@PRICE]")
      ->group(kCluster)
      ->take_all();
  Add(command, "--gpus-per-node", &flags->gpus_per_node, "N",
      "GPUs that share a node [the GPU type's]", kCluster)
      ->check(Whole(1, 1024));
  Add(command, "--domain-gpus", &flags->domain_gpus, "N",
      "GPUs that the scale-up link joins across nodes, such as 72 in an NVL72 [the GPU type's]",
      kCluster)
      ->check(Whole(1, 65536));
  Add(command, "--usable-domain-gpus", &flags->usable_domain_gpus, "N",
      "GPUs of each scale-up domain to use at most, such as 64 of 72; the job then fills whole "
      "domains of this size, or part of one [the most that makes domains equal]",
      kCluster)
      ->check(Whole(1, 65536));
  CLI::Option* pod =
      Add(command, "--pod-gpus", &flags->pod_gpus, "N",
          "GPUs of a network pod, whose uplinks have less bandwidth than its inside", kCluster);
  pod->check(Whole(1, 65536));
  Add(command, "--oversubscription", &flags->oversubscription, "RATIO",
      "Bandwidth inside a pod divided by that between pods [1]", kCluster)
      ->needs(pod)
      ->check(Real(1, 100));
  Add(command, "--inter-node-gbps", &flags->inter_node_gbps, "GBIT/S",
      "Gigabits per second between nodes, per GPU and direction [200]", kCluster)
      ->check(Real(0.08, 80000));
  Add(command, "--network-fabric", &flags->network_fabric, "rdma|efa",
      "Network between nodes: InfiniBand or RoCE (rdma), or AWS's EFA [rdma]", kCluster)
      ->check(CLI::IsMember({"rdma", "efa"}).description(""));
  Add(command, "--intra-node-gbytes", &flags->intra_node_gbytes, "GB/S",
      "Gigabytes per second inside a node, per GPU and direction [the GPU type's]", kCluster)
      ->check(Real(0.1, 10000));
  Add(command, "--reserve-gib", &flags->reserve_gib, "GIB", "GiB of each GPU to keep free [0]",
      kCluster)
      ->check(Real(0, 4096));
  Add(command, "--host-memory-gib", &flags->host_memory_gib, "GIB",
      "GiB of host memory of a node that the job may use [no limit without offload]", kCluster)
      ->check(Real(1, 65536));
  Add(command, "--host-link-gbytes", &flags->host_link_gbytes, "GB/S",
      "Gigabytes per second between a GPU and its host, per direction [the GPU type's]", kCluster)
      ->check(Real(0.1, 10000));
  Add(command, "--host-memory-gbytes", &flags->host_memory_gbytes, "GB/S",
      "Gigabytes per second of the host memory of a node [the GPU type's]", kCluster)
      ->check(Real(1, 100000));
  Add(command, "--power-limit", &flags->power_limit, "WATTS",
      "Power limit of each GPU, which lowers its clock [the board's power]", kCluster)
      ->check(Real(10, 10000));
  Add(command, "--price", &flags->price, "PRICE", "Price of a GPU-hour, to predict the cost",
      kCluster)
      ->check(Real(0, 1000000));
}

void AddPaddingFlags(CLI::App* command, JobFlags* flags) {
  const char* const kTraining = "Training";
  Add(command, "--micro-batch-samples", &flags->micro_batch_samples, "N",
      "Samples per micro-batch, for a loader that pads instead of packing [packs]", kTraining)
      ->check(Whole(1, 65536));
  Add(command, "--pad-to", &flags->pad_to, "TOKENS",
      "With --micro-batch-samples: pad all micro-batches to this length [the longest sample of "
      "each]",
      kTraining)
      ->check(Whole(1, 16777216));
  Add(command, "--pad-multiple", &flags->pad_multiple, "N",
      "With --micro-batch-samples: round lengths up to a multiple [1]", kTraining)
      ->check(Whole(1, 65536));
  command
      ->add_flag("--group-by-length", flags->group_by_length,
                 "With --micro-batch-samples: micro-batches of samples of similar length, as "
                 "group_by_length of Hugging Face's Trainer makes them")
      ->group(kTraining);
}

void AddOffloadFlags(CLI::App* command, JobFlags* flags, const char* group) {
  Add(command, "--offload-optimizer", &flags->offload_optimizer, "auto|SHARE",
      "Share of the optimizer's states in host memory, 0 to 1; auto: the best share [none]", group)
      ->check(CLI::Validator(ShareFault, ""));
  Add(command, "--offload-activations", &flags->offload_activations, "auto|LAYERS",
      "Number of language layers whose activations are kept in host memory; auto: the best number "
      "[none]",
      group)
      ->check(CLI::Validator(LayersFault, ""));
  command
      ->add_option(
          "--offload-modules", flags->offload_modules,
          "Modules whose inputs wait in host memory (Megatron-Core's --offload-modules): " +
              JoinedNames(kOffloadModuleNames, ", ") + "; auto: the best of them [none]")
      ->type_name("auto|MODULES")
      ->delimiter(',')
      ->check(CLI::Validator(ModuleFault, ""))
      ->group(group);
  command
      ->add_flag("--offload-weights", flags->offload_weights,
                 "Keep weights, gradients and the optimizer's states in host memory (FSDP, "
                 "DeepSpeed)")
      ->group(group);
}

// Adds an option that takes components of a model.
void AddComponents(CLI::App* command, const char* name, std::vector<std::string>* components,
                   const char* text) {
  command->add_option(name, *components, text)
      ->type_name("encoder|llm")
      ->delimiter(',')
      ->group("Training")
      ->take_all()
      ->check(CLI::IsMember({"encoder", "llm"}).description(""));
}

void AddTrainedFlags(CLI::App* command, JobFlags* flags) {
  AddComponents(command, "--freeze", &flags->freeze, "Components whose weights do not train");
  AddComponents(command, "--lora", &flags->lora, "Components that train only LoRA adapters");
  Add(command, "--lora-rank", &flags->lora_rank, "N", "Rank of the adapters, with --lora [16]",
      "Training")
      ->check(Whole(1, 4096));
  Add(command, "--lora-dropout", &flags->lora_dropout, "SHARE",
      "Share of the adapters' inputs that dropout sets to zero, with --lora [0]", "Training")
      ->check(CLI::Range(0.0, .999));
  command
      ->add_option(
          "--lora-train", flags->lora_train,
          "Tables of the language model that train in full, in addition to adapters, with --lora "
          "(modules_to_save of PEFT)")
      ->type_name("embedding|head")
      ->delimiter(',')
      ->check(CLI::IsMember({"embedding", "head"}).description(""))
      ->group("Training");
  Add(command, "--lora-base", &flags->lora_base, "16bit|nf4|nf4-double|int8",
      "Format of the frozen linear layers beside adapters, with --lora [16bit]", "Training")
      ->check(CLI::IsMember(AllNames(kFrozenFormatNames)).description(""));
}

// What a trainer does in a step, where it differs from the trainer's record.
void AddStepFlags(CLI::App* command, JobFlags* flags, const char* group) {
  Add(command, "--gradients", &flags->gradients, "fp32|16bit",
      "Precision in which gradients are accumulated [the trainer's]", group)
      ->check(CLI::IsMember({"fp32", "16bit"}).description(""));
  Add(command, "--overlap-tensor", &flags->overlap_tensor, "on|off",
      "Overlap tensor-parallel communication with matrix products [the trainer's]", group)
      ->check(CLI::IsMember({"on", "off"}).description(""));
  Add(command, "--overlap-experts", &flags->overlap_experts, "on|off",
      "Overlap the exchanges of experts with the compute of another micro-batch [the trainer's]",
      group)
      ->check(CLI::IsMember({"on", "off"}).description(""));
  Add(command, "--fused-step", &flags->fused_step, "on|off",
      "Update each layer inside the backward pass, with one micro-batch per step [off]", group)
      ->check(CLI::IsMember({"on", "off"}).description(""));
}

void AddTrainingFlags(CLI::App* command, JobFlags* flags, const std::string& framework_flag) {
  const char* const kTraining = "Training";
  Add(command, "--global-batch", &flags->global_batch, "N", "Mean samples per optimizer step [512]",
      kTraining)
      ->check(Whole(1, 10000000));
  Add(command, "--unit-cap", &flags->unit_cap, "N",
      "Maximum encoder units per pack [from the data]", kTraining)
      ->check(Whole(1, 1000000));
  Add(command, "--token-cap", &flags->token_cap, "N", "Maximum tokens per pack [from the data]",
      kTraining)
      ->check(Whole(1, 16777216));
  Add(command, "--epochs", &flags->epochs, "N", "Passes over the data [1]", kTraining)
      ->check(Whole(1, 10000));
  Add(command, "--zero", &flags->zero, "0|1|2|3", "ZeRO stage [the trainer's]", kTraining)
      ->check(Whole(0, 3));
  Add(command, "--zero-group", &flags->zero_group, "N",
      "Ranks over which states are sharded; each group of this many ranks has a copy [all]",
      kTraining)
      ->check(Whole(1, 65536));
  AddStepFlags(command, flags, kTraining);
  Add(command, "--optimizer", &flags->optimizer, "adam|muon|...",
      "adam-16bit-moments, adam-8bit-moments, adam-16bit and adam-8bit (without master "
      "weights), adafactor, lion, sgd or muon [adam]",
      kTraining)
      ->check(CLI::IsMember(AllNames(kOptimizerNames)).description(""));
  AddOffloadFlags(command, flags, kTraining);
  Add(command, "--precision", &flags->precision, "bf16|fp16|fp8|...",
      "Format of weights and activations, or of the products of linear layers: fp8 (a scale for "
      "each tensor), fp8-delayed, fp8-block, mxfp8, nvfp4. V100s have no bf16 [bf16]",
      kTraining)
      ->check(CLI::IsMember(AllNames(kPrecisionNames)).description(""));
  Add(command, "--start-layers-16bit", &flags->start_layers_16bit, "N",
      "With a precision below 16 bits: number of first layers to keep in 16 bits [0]", kTraining)
      ->check(Whole(0, 10000));
  Add(command, "--end-layers-16bit", &flags->end_layers_16bit, "N",
      "With a precision below 16 bits: number of last layers to keep in 16 bits [0]", kTraining)
      ->check(Whole(0, 10000));
  Add(command, "--expert-dispatcher", &flags->expert_dispatcher, "all-to-all|deepep|...",
      "How expert-parallel ranks exchange tokens: all-to-all, all-gather, deepep, "
      "hybridep, or least-time (the quickest of these, all-gather excluded) [all-to-all]",
      kTraining)
      ->check(CLI::IsMember(AllNames(kDispatcherNames)).description(""));
  Add(command, "--predicted-tokens", &flags->predicted_tokens, "N",
      "Multi-token prediction layers to train, at most those of the model [0]", kTraining)
      ->check(Whole(1, 8));
  AddTrainedFlags(command, flags);
  command
      ->add_option(framework_flag, flags->framework,
                   "Kind of trainer: deepspeed is ZeRO with Ulysses around Hugging Face modules "
                   "[the trainer's, or megatron]")
      ->type_name(JoinedNames(kFrameworkNames, "|"))
      ->group(kTraining)
      ->take_last()
      ->check(CLI::IsMember(AllNames(kFrameworkNames)).description(""));
  Add(command, "--trainer", &flags->trainer, "NAME[@VERSION]",
      "Trainer to plan for, such as torchtitan or llm-foundry (see `trainers`) [megatron-core]",
      kTraining);
  Add(command, "--seed", &flags->seed, "N", "Seed of all random choices [0]", kTraining)
      ->check(Whole(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()));
}

void AddGroupFlags(CLI::App* command, JobFlags* flags) {
  const char* const kGroups = "Long context";
  command
      ->add_option("--groups", flags->groups,
                   "Packing groups: one for all samples, HBP's published rule, or the best set "
                   "[exact if some samples are much longer than most]")
      ->type_name(JoinedNames(kGroupSelectionNames, "|"))
      ->group(kGroups)
      ->take_last()
      ->check(CLI::IsMember(AllNames(kGroupSelectionNames)).description(""));
  command
      ->add_option("--group-lengths", flags->group_lengths,
                   "Lengths that packs of a group may have, in tokens [powers of two from 8192]")
      ->type_name("N,N,...")
      ->delimiter(',')
      ->group(kGroups)
      ->take_all();
  Add(command, "--curriculum", &flags->curriculum, "STEPS",
      "Number of initial steps that run only the shortest group [500, at most a tenth of all]",
      kGroups)
      ->check(Whole(0, 1000000000));
  command
      ->add_option("--context-exchange", flags->context_exchange,
                   "How GPUs that share a pack exchange attention: heads (ulysses), keys and "
                   "values, or both (hierarchical); ulysses-or-ring: heads where there are enough "
                   "of them [the trainer's]")
      ->type_name(JoinedNames(kContextExchangeNames, "|"))
      ->group(kGroups)
      ->take_last()
      ->check(CLI::IsMember(AllNames(kContextExchangeNames)).description(""));
}

void AddConstraintFlags(CLI::App* command, JobFlags* flags) {
  const char* const kConstraints = "Constraints";
  Add(command, "--tp", &flags->tensor, "N|MIN:MAX", "Tensor-parallel degree [free]", kConstraints);
  Add(command, "--pp", &flags->pipeline, "N|MIN:MAX", "Pipeline-parallel degree [free]",
      kConstraints);
  Add(command, "--dp", &flags->data, "N|MIN:MAX", "Data-parallel degree [free]", kConstraints);
  Add(command, "--cp", &flags->context, "N|MIN:MAX", "Context-parallel degree [free]",
      kConstraints);
  Add(command, "--ep", &flags->expert, "N|MIN:MAX", "Expert-parallel degree [free]", kConstraints);
  Add(command, "--encoder-dp", &flags->encoder_data, "N|MIN:MAX",
      "Ranks of a tensor and context group that divide the images of a pack among them [what the "
      "trainer does]",
      kConstraints);
  Add(command, "--virtual-stages", &flags->virtual_stages, "N|MIN:MAX",
      "Virtual stages on each pipeline stage [free]", kConstraints);
  command
      ->add_option("--schedule", flags->schedule, "Schedule of the pipeline [1f1b or interleaved]")
      ->type_name(JoinedNames(kScheduleNames, "|"))
      ->group(kConstraints)
      ->take_last()
      ->check(CLI::IsMember(AllNames(kScheduleNames)).description(""));
  command
      ->add_option("--partition", flags->partition,
                   "How the model is cut into stages [the trainer's only way, or exact]")
      ->type_name(JoinedNames(kPartitionNames, "|"))
      ->group(kConstraints)
      ->take_last()
      ->check(CLI::IsMember(AllNames(kPartitionNames)).description(""));
  command
      ->add_option("--stage-layers", flags->stage_layers,
                   "Transformer layers of each stage, such as 22,23,24,24 [free]")
      ->type_name("N,N,...")
      ->delimiter(',')
      ->group(kConstraints)
      ->take_all();
  command
      ->add_option("--recompute", flags->recompute,
                   "Which layers may be recomputed [what the trainer can do]")
      ->type_name(JoinedNames(kRecomputeNames, "|"))
      ->group(kConstraints)
      ->take_last()
      ->check(CLI::IsMember(AllNames(kRecomputeNames)).description(""));
  Add(command, "--memory-confidence", &flags->memory_confidence, "SHARE",
      "Leave room for prediction errors, so that this share of runs fits, such as 0.8 [none: plans "
      "fit as predicted]",
      kConstraints)
      ->check(Real(0.5, 0.99));
  Add(command, "--alternatives", &flags->alternatives, "N",
      "Maximum number of alternatives to report [3]", kConstraints)
      ->check(Whole(0, 16));
}

void AddObjectiveFlags(CLI::App* command, JobFlags* flags) {
  const char* const kObjective = "Objective";
  command
      ->add_option("--objective", flags->objective,
                   "What counts as best when GPU types or numbers are compared [step-time]")
      ->type_name(JoinedNames(kObjectiveNames, "|"))
      ->group(kObjective)
      ->take_last()
      ->check(CLI::IsMember(AllNames(kObjectiveNames)).description(""));
  Add(command, "--deadline", &flags->deadline_hours, "HOURS",
      "Find the fewest GPUs that finish all epochs within this many hours", kObjective)
      ->check(Real(0.001, 2000000));
  command
      ->add_flag("--compare-sizes", flags->compare_sizes,
                 "Also plan a node less, a node more, and the next smaller and larger GPU type")
      ->group(kObjective);
  command
      ->add_flag("--compare-precisions", flags->compare_precisions,
                 "Also plan in every other precision that the GPU and the trainer have")
      ->group(kObjective);
  const char* const kFailures = "Failures";
  Add(command, "--mtbf", &flags->mtbf_hours, "HOURS",
      "Mean time between failures of one node; needs --checkpoint-gbytes", kFailures)
      ->check(Real(0.02, 2000000));
  Add(command, "--checkpoint-gbytes", &flags->checkpoint_gbytes, "GB/S",
      "Gigabytes per second at which a node writes its share of a checkpoint", kFailures)
      ->check(Real(0.001, 10000));
  Add(command, "--restart", &flags->restart_seconds, "SECONDS",
      "Time from a failure until training goes on [0]", kFailures)
      ->check(Real(0, 10000000));
  Add(command, "--checkpoint-interval", &flags->checkpoint_interval_seconds, "SECONDS",
      "Training time between two checkpoints [the best]", kFailures)
      ->check(Real(1, 10000000));
}

}  // namespace

void AddJobFlags(CLI::App* command, JobFlags* flags, const std::string& framework_flag) {
  AddModelFlags(command, flags);
  AddClusterFlags(command, flags);
  AddTrainingFlags(command, flags, framework_flag);
  AddPaddingFlags(command, flags);
  AddGroupFlags(command, flags);
  AddConstraintFlags(command, flags);
  AddObjectiveFlags(command, flags);
}

}  // namespace evenkeel::cli
