// The flags that describe a job, which several commands take, and the request that they make.
#ifndef EVENKEEL_CLIENT_CLI_JOB_JOB_FLAGS_H_
#define EVENKEEL_CLIENT_CLI_JOB_JOB_FLAGS_H_

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/v1/planner_service.pb.h"

namespace evenkeel::cli {

// The flags as given: job_options.cc says which flag each is. Unset flags leave the job file's
// value, or the server's default, unchanged.
struct JobFlags {
  std::string job_file;  // "-" for standard input
  std::string model, gpu;
  std::vector<int32_t> gpus;       // if there are several, each is an offer
  std::vector<std::string> pools;  // "TYPE:N[,N...][@PRICE]": further offers
  std::optional<int32_t> gpus_per_node, domain_gpus, usable_domain_gpus, pod_gpus;
  std::optional<double> oversubscription;
  std::optional<double> memory_confidence, inter_node_gbps, intra_node_gbytes, reserve_gib, price;
  std::vector<std::string> datasets;
  std::vector<double> dataset_weights, dataset_shares;  // empty, or one for each of `datasets`
  std::optional<int64_t> global_batch, unit_cap, token_cap, order_window, seed;
  std::optional<int32_t> epochs, zero, alternatives;
  // "N" or "MIN:MAX"
  std::string tensor, context, pipeline, data, expert, virtual_stages, encoder_data;
  std::string schedule, partition;  // names of kScheduleNames and kPartitionNames, or empty
  std::vector<int32_t> stage_layers;
  std::string framework;  // a name of kFrameworkNames, or empty
  std::string trainer;    // "NAME" or "NAME@VERSION"
  std::string groups;     // a name of kGroupSelectionNames, or empty
  std::vector<int64_t> group_lengths;
  std::optional<int64_t> curriculum;
  std::string context_exchange;   // a name of kContextExchangeNames, or empty
  std::string recompute;          // a name of kRecomputeNames, or empty
  std::string precision;          // a name of kPrecisionNames, or empty
  std::string expert_dispatcher;  // a name of kDispatcherNames, or empty
  std::string network_fabric;     // a name of kFabricNames, or empty
  std::optional<int32_t> start_layers_16bit, end_layers_16bit;
  std::optional<int32_t> zero_group;
  std::optional<int64_t> micro_batch_samples, pad_to, pad_multiple;
  bool group_by_length = false;
  std::string optimizer;          // a name of kOptimizerNames, or empty
  std::string offload_optimizer;  // "auto" or a share, or empty
  bool offload_weights = false;
  std::string fused_step;                    // a name of kOnOffNames, or empty
  std::string overlap_tensor;                // the same
  std::string overlap_experts;               // the same
  std::string gradients;                     // a name of kGradientNames, or empty
  std::string offload_activations;           // "auto" or a number of layers, or empty
  std::vector<std::string> offload_modules;  // only "auto", or names of kOffloadModuleNames
  std::optional<double> host_memory_gib, host_link_gbytes, host_memory_gbytes, power_limit;
  std::optional<int32_t> predicted_tokens;
  std::vector<std::string> freeze, lora;  // "encoder", "llm"
  std::optional<int32_t> lora_rank;
  std::optional<double> lora_dropout;
  std::vector<std::string> lora_train;  // "embedding", "head"
  std::string lora_base;                // a name of kFrozenFormatNames, or empty
  std::string label;
  std::string objective;  // a name of kObjectiveNames, or empty
  std::optional<double> deadline_hours, mtbf_hours, checkpoint_gbytes, restart_seconds,
      checkpoint_interval_seconds;
  bool compare_sizes = false;
  bool compare_precisions = false;
  bool compare_shardings = false;
  bool sizes_apart = false;  // the command has a flag of its own for the numbers of GPUs
};

// Declares the flags on `command`. They are written to *flags, which must outlive the parsing. A
// number out of its range is a CLI::ParseError. `framework_flag` is the flag that sets
// Training.framework.
void AddJobFlags(CLI::App* command, JobFlags* flags,
                 const std::string& framework_flag = "--framework");

// Reads job file and datasets, and overrides their values by the flags. Throws
// CommandError(kBadInput). Checks that the server can make (names, combinations of values) are left
// to it.
v1::PlanJobRequest RequestFromFlags(const JobFlags& flags);

// RequestFromFlags for flags that need not be a whole job, because another source has the rest.
v1::PlanJobRequest PartialRequestFromFlags(const JobFlags& flags);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_JOB_JOB_FLAGS_H_
