// Sources: _process_fsdp_args() of transformers/training_args.py (5.15), its __post_init__()
// (4.56), and FullyShardedDataParallelPlugin of accelerate/utils/dataclasses.py (1.15).
#include "client/cli/from/run/fsdp.h"

#include <fmt/format.h>

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_split.h>
#include <algorithm>

#include "client/cli/base/command_error.h"
#include "planner/base/units.h"
#include "planner/trainer/executions.h"
#include "planner/trainer/trainers.h"

namespace evenkeel::cli {
namespace {

// Trainers whose records have FSDP's stages.
constexpr char kFullShards[] = "pytorch-fsdp";
constexpr char kOtherShards[] = "huggingface-trainer";

// A strategy of FSDP's version 1 (FSDPOption of transformers/trainer_utils.py).
struct StrategyRecord {
  const char* name;
  v1::ZeroStage stage;
  bool within_node = false;  // each node holds all states
  bool in_version_2 = false;
};
constexpr StrategyRecord kShardings[] = {{"full_shard", v1::ZERO_STAGE_3, false, true},
                                         {"shard_grad_op", v1::ZERO_STAGE_2, false, true},
                                         {"no_shard", v1::ZERO_STAGE_0},
                                         {"hybrid_shard", v1::ZERO_STAGE_3, true},
                                         {"hybrid_shard_zero2", v1::ZERO_STAGE_2, true}};

const StrategyRecord* ShardingOf(const std::string& name) {
  for (const StrategyRecord& record : kShardings)
    if (absl::EqualsIgnoreCase(name, record.name)) return &record;
  return nullptr;
}

// 1 or 2, or 0 if the configuration does not say: 1 in transformers 4, 2 in 5.
int64_t VersionOf(const UserConfig& config) { return config.Int(Field::kFsdpVersion, 0, 1, 2); }

// Returns whether a word names a strategy. Where nothing says the version, such words mean 1.
bool NamesStrategy(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(),
                     [](const std::string& word) { return ShardingOf(word) != nullptr; });
}

bool IsVersionOneUnlessSaid(const UserConfig& config) {
  return NamesStrategy(FsdpOptions(config)) || IsFsdpOfAccelerate(config);
}

// Version 1 takes a strategy, version 2 a truth value. It comes before the words of "fsdp".
const StrategyRecord& ReshardedAs(const UserConfig& config) {
  const std::string text = config.Text(Field::kReshard);
  const StrategyRecord* const strategy = ShardingOf(text);
  const int64_t version = VersionOf(config);
  if (strategy != nullptr) {
    if (version == 2)
      config.Refuse(Field::kReshard, "must be true or false with version 2 of FSDP");
    return *strategy;
  }
  const bool reshards = absl::EqualsIgnoreCase(text, "true");
  if (version == 1 || (!reshards && !absl::EqualsIgnoreCase(text, "false")))
    config.Refuse(Field::kReshard,
                  "must be true or false (version 2 of FSDP), or with version 1 full_shard, "
                  "shard_grad_op, no_shard, hybrid_shard or hybrid_shard_zero2");
  // ShardingStrategy["FALSE"] of accelerate is a KeyError.
  if (version == 0 && IsVersionOneUnlessSaid(config))
    config.Refuse(
        Field::kReshard,
        "needs version 2 of FSDP, and it is 1 unless said: \"version\": 2 in fsdp_config, "
        "or fsdp_version: 2 for axolotl and accelerate");
  return reshards ? kShardings[0] : kShardings[1];
}

// Returns the strategy that the words name, at most one.
const StrategyRecord& NamedBy(const UserConfig& config, const std::vector<std::string>& words) {
  const StrategyRecord* named = nullptr;
  for (const std::string& word : words) {
    const StrategyRecord* const strategy = ShardingOf(word);
    if (strategy == nullptr) {
      if (word == "offload" || word == "auto_wrap" || word == "true" || word.empty()) continue;
      config.Refuse(Field::kFsdp,
                    "unknown word \"" + word +
                        "\"; accepted: full_shard, shard_grad_op, no_shard, hybrid_shard, "
                        "hybrid_shard_zero2, offload, auto_wrap, true");
    }
    if (named != nullptr && named != strategy)
      config.Refuse(Field::kFsdp, fmt::format("must not name both {} and {}", named->name, word));
    named = strategy;
  }
  return named == nullptr ? kShardings[0] : *named;
}

// Returns how many groups of ranks each hold all states: one for each node.
int64_t GroupsOfNodes(UserRun* run) {
  const v1::GpuPool& pool = run->job.cluster().pools(0);
  const int32_t per_node = pool.gpus_per_node() > 0 ? pool.gpus_per_node() : 8;
  if (pool.gpus_per_node() == 0)
    run->assumed.push_back("hybrid_shard: nodes of 8 GPUs; --gpus-per-node says otherwise");
  if (pool.gpu_count() > per_node && pool.gpu_count() % per_node != 0)
    throw CommandError(ExitCode::kBadInput,
                       fmt::format("fsdp hybrid_shard: {} GPUs are no whole nodes of {}: give "
                                   "--gpus-per-node",
                                   pool.gpu_count(), per_node));
  return std::max(1, pool.gpu_count() / per_node);
}

// Returns the key of accelerate's file that says what FSDP shards.
std::string ShardingKey(const UserConfig& config) {
  const auto found = config.fields.find(Field::kReshard);
  if (found == config.fields.end())
    return VersionOf(config) == 2 ? "fsdp_reshard_after_forward" : "fsdp_sharding_strategy";
  return "fsdp_" + found->second.key.substr(found->second.key.find_last_of('.') + 1);
}

// Returns the key of fsdp_config that names the strategy of version 1, if no word of "fsdp" does.
std::string StrategyKey(const UserConfig& config) {
  if (config.Has(Field::kReshard)) return "reshard_after_forward";
  const std::string key = config.fields.at(Field::kFsdp).AsWritten().key;
  return absl::EndsWith(key, "sharding_strategy") ? key.substr(key.find_last_of('.') + 1) : "";
}

// accelerate's version is 1 unless said. That of the Trainer's arguments is 1 in transformers 4,
// whose words name strategies, and 2 in 5.
void SetFsdpVersion(const UserConfig& config, const StrategyRecord& strategy, UserRun* run) {
  run->fsdp_version = VersionOf(config);
  if (run->fsdp_version != 0) return;
  run->fsdp_version = IsVersionOneUnlessSaid(config) || !strategy.in_version_2 ? 1 : 2;
  if (IsFsdpOfAccelerate(config)) return;
  run->assumed.push_back(
      strategy.in_version_2
          ? fmt::format("fsdp: version {}; \"version\" in fsdp_config says otherwise",
                        run->fsdp_version)
          : fmt::format("fsdp: version 1, as {} needs it; transformers 5 wants \"version\": 1 in "
                        "fsdp_config",
                        strategy.name));
}

}  // namespace

bool IsFsdpOfAccelerate(const UserConfig& config) {
  const auto found = config.fields.find(Field::kFsdp);
  return found != config.fields.end() && found->second.key != "fsdp";
}

std::vector<std::string> FsdpOptions(const UserConfig& config) {
  if (IsFsdpOfAccelerate(config)) return {""};
  std::vector<std::string> options;
  for (const std::string& value : config.List(Field::kFsdp))
    for (const auto option : absl::StrSplit(value, ' ', absl::SkipEmpty()))
      if (!absl::EqualsIgnoreCase(option, "false"))
        options.push_back(absl::AsciiStrToLower(option));
  return options;
}

v1::ZeroStage FsdpSharding(const UserConfig& config, UserRun* run, int64_t* groups) {
  const std::vector<std::string> words = FsdpOptions(config);
  if (config.uses_deepspeed) config.Refuse(Field::kFsdp, "must be unset with deepspeed");
  const StrategyRecord* strategy = &NamedBy(config, words);
  if (config.Has(Field::kReshard)) {
    strategy = &ReshardedAs(config);
  } else if (VersionOf(config) == 2 && !strategy->in_version_2) {
    config.Refuse(Field::kFsdp, fmt::format("{} needs version 1 of FSDP: \"fsdp_config\": "
                                            "{{\"version\": 1}}",
                                            strategy->name));
  }
  SetFsdpVersion(config, *strategy, run);
  const std::string wrap = config.Text(Field::kFsdpWrap, "TRANSFORMER_BASED_WRAP");
  if (absl::EqualsIgnoreCase(wrap, "NO_WRAP"))
    config.Refuse(Field::kFsdpWrap, "not yet: only weights that are gathered layer by layer");
  const bool accelerate = IsFsdpOfAccelerate(config);
  if (accelerate) run->accelerate_key = ShardingKey(config);
  run->strategy_key = StrategyKey(config);
  const bool wraps = config.Has(Field::kFsdpWrap) ||
                     std::count(words.begin(), words.end(), "auto_wrap") > 0 ||
                     std::count(words.begin(), words.end(), "true") > 0 ||
                     (config.Has(Field::kFsdpVersion) && !accelerate);
  // set_auto_wrap_policy() of accelerate's plugin takes NO_WRAP, with either version.
  if (!wraps && strategy->stage != v1::ZERO_STAGE_0)
    run->assumed.push_back(
        std::string("fsdp: weights are gathered layer by layer; ") +
        (accelerate ? "accelerate gathers the whole model at once without fsdp_auto_wrap_policy"
                    : "transformers 4 gathers the whole model at once without auto_wrap"));
  // Gradients and the optimizer's states go along with the weights (CPUOffloadPolicy of PyTorch).
  if (std::count(words.begin(), words.end(), "offload") > 0 || config.On(Field::kFsdpOffload))
    run->job.mutable_training()->mutable_offload()->set_weights(true);
  if (run->job.training().offload().weights() && strategy->stage != v1::ZERO_STAGE_3)
    config.Refuse(Field::kFsdp, fmt::format("not yet: weights in host memory with {}; accepted: "
                                            "full_shard, hybrid_shard",
                                            strategy->name));
  run->fsdp = true;
  run->syncs_each_batch = config.On(Field::kSyncEachBatch);
  if (strategy->within_node) *groups = GroupsOfNodes(run);
  return strategy->stage;
}

void SetFsdpTrainer(UserRun* run) {
  v1::Training* training = run->job.mutable_training();
  const v1::ZeroStage stage = training->zero_stage();
  const bool shards_weights = stage == v1::ZERO_STAGE_3;
  training->mutable_trainer()->set_name(shards_weights ? kFullShards : kOtherShards);
  v1::Execution* e = training->mutable_execution();
  e->clear_bucket_bytes();
  e->clear_weight_hook_seconds();
  if (!run->unfused_adam) e->clear_update_parameter_bytes();
  e->clear_kernel_rate_ratio();
  e->clear_overlap_gradient_reduce();
  e->clear_overlap_weight_gather();
  // training_step() of transformers/trainer.py runs all micro-batches but the last under no_sync(),
  // which works with version 2 since accelerate's pull request 3762 of September 2025.
  e->set_accumulates_whole_gradients(!run->syncs_each_batch &&
                                     (shards_weights || stage == v1::ZERO_STAGE_2));
  // accelerate's version 2 does not wrap what PEFT's policy names (fsdp2_prepare_auto_wrap_policy
  // of accelerate/utils/fsdp_utils.py), and version 1 computes adapters in 16 bits.
  const bool adapters = run->job.model().has_lora();
  if (adapters && shards_weights && run->fsdp_version == 1)
    e->set_adapter_gather_seconds(planner::kAdapterGatherNs / planner::kNsPerSecond);
  if (adapters) e->set_fp32_adapters(false);
  if (shards_weights) return;
  if (training->gradient_precision() == v1::GRADIENT_PRECISION_UNSPECIFIED)
    training->set_gradient_precision(v1::GRADIENT_PRECISION_FP32);
  e->set_bucket_bytes(0);
  e->set_weight_hook_seconds(0);
  if (!run->unfused_adam) e->set_update_parameter_bytes(0);
  e->set_kernel_rate_ratio(planner::FindTrainer(kFullShards)->default_execution.kernel_rate);
  e->set_overlap_gradient_reduce(true);
  e->set_overlap_weight_gather(stage != v1::ZERO_STAGE_0);
}

}  // namespace evenkeel::cli
