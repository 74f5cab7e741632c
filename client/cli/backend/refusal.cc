#include "client/cli/backend/refusal.h"

namespace evenkeel::cli {
namespace {

// Training.framework is left out: `launch` has another flag for it than the other commands.
constexpr FlagOfField kFlagsOfFields[] = {
    {"label", "--label"},
    {"max_alternatives", "--alternatives"},
    {"compare_sizes", "--compare-sizes"},
    {"compare_precisions", "--compare-precisions"},
    {"compare_shardings", "--compare-shardings"},
    {"job.model.name", "--model"},
    {"job.model.config_json", "--model"},
    {"job.model.predicted_tokens", "--predicted-tokens"},
    {"job.model.encoder_train_mode", "--freeze, --lora"},
    {"job.model.language_model_train_mode", "--freeze, --lora"},
    {"job.model.lora", "--lora-rank, --lora-dropout, --lora-train, --lora-base"},
    {"job.model.lora.rank", "--lora-rank"},
    {"job.model.lora.dropout_ratio", "--lora-dropout"},
    {"job.model.lora.train_embedding", "--lora-train"},
    {"job.model.lora.train_head", "--lora-train"},
    {"job.model.lora.base_format", "--lora-base"},
    {"job.dataset", "--dataset"},
    {"job.cluster.pools[0].gpu_type", "--gpu"},
    {"job.cluster.pools[0].gpu_count", "--gpus"},
    {"job.cluster.pools[0].gpu_counts", "--gpus"},
    {"job.cluster.pools[0].gpus_per_node", "--gpus-per-node"},
    {"job.cluster.pools[0].network_tiers[0].gpu_count", "--domain-gpus"},
    {"job.cluster.pools[0].network_tiers[0].usable_gpu_count", "--usable-domain-gpus"},
    {"job.cluster.pools[0].network_tiers[1].gpu_count", "--pod-gpus"},
    {"job.cluster.pools[0].network_tiers[2].oversubscription_ratio", "--oversubscription"},
    {"job.cluster.pools[0].inter_node_bytes_per_second", "--inter-node-gbps"},
    {"job.cluster.pools[0].intra_node_bytes_per_second", "--intra-node-gbytes"},
    {"job.cluster.pools[0].network_fabric", "--network-fabric"},
    {"job.cluster.pools[0].reserved_bytes", "--reserve-gib"},
    {"job.cluster.pools[0].host_memory_bytes", "--host-memory-gib"},
    {"job.cluster.pools[0].host_link_bytes_per_second", "--host-link-gbytes"},
    {"job.cluster.pools[0].host_memory_bytes_per_second", "--host-memory-gbytes"},
    {"job.cluster.pools[0].power_limit_watts", "--power-limit"},
    {"job.cluster.pools[0].price_per_gpu_hour", "--price"},
    {"job.training.global_batch_samples", "--global-batch"},
    {"job.training.unit_cap", "--unit-cap"},
    {"job.training.token_cap", "--token-cap"},
    {"job.training.precision", "--precision"},
    {"job.training.optimizer", "--optimizer"},
    {"job.training.zero_stage", "--zero"},
    {"job.training.zero_group", "--zero-group"},
    {"job.training.epochs", "--epochs"},
    {"job.training.order_window", "--order-window"},
    {"job.training.seed", "--seed"},
    {"job.training.micro_batch_samples", "--micro-batch-samples"},
    {"job.training.padding.tokens", "--pad-to"},
    {"job.training.padding.multiple", "--pad-multiple"},
    {"job.training.group_by_length", "--group-by-length"},
    {"job.training.fused_step", "--fused-step"},
    {"job.training.gradient_precision", "--gradients"},
    {"job.training.execution.overlap_tensor", "--overlap-tensor"},
    {"job.training.execution.overlap_experts", "--overlap-experts"},
    {"job.training.offload.optimizer_ratio", "--offload-optimizer"},
    {"job.training.offload.choose_optimizer_ratio", "--offload-optimizer auto"},
    {"job.training.offload.activation_layers", "--offload-activations"},
    {"job.training.offload.choose_activation_layers", "--offload-activations auto"},
    {"job.training.offload.activation_modules", "--offload-modules"},
    {"job.training.offload.choose_activation_modules", "--offload-modules auto"},
    {"job.training.offload.weights", "--offload-weights"},
    {"job.training.trainer", "--trainer"},
    {"job.training.execution.expert_dispatcher", "--expert-dispatcher"},
    {"job.training.execution.start_layers_16bit", "--start-layers-16bit"},
    {"job.training.execution.end_layers_16bit", "--end-layers-16bit"},
    {"job.training.execution.context_exchange", "--context-exchange"},
    {"job.training.group_selection", "--groups"},
    {"job.training.group_lengths", "--group-lengths"},
    {"job.training.curriculum_steps", "--curriculum"},
    {"job.constraints.tensor_parallel", "--tp"},
    {"job.constraints.pipeline_parallel", "--pp"},
    {"job.constraints.data_parallel", "--dp"},
    {"job.constraints.context_parallel", "--cp"},
    {"job.constraints.expert_parallel", "--ep"},
    {"job.constraints.encoder_data_parallel", "--encoder-dp"},
    {"job.constraints.virtual_stages", "--virtual-stages"},
    {"job.constraints.schedule", "--schedule"},
    {"job.constraints.partition_method", "--partition"},
    {"job.constraints.stage_layers", "--stage-layers"},
    {"job.constraints.recompute", "--recompute"},
    {"job.constraints.memory_confidence_ratio", "--memory-confidence"},
    {"job.objective.kind", "--objective"},
    {"job.objective.deadline_seconds", "--deadline"},
    {"job.reliability.node_mean_time_between_failures_seconds", "--mtbf"},
    {"job.reliability.checkpoint_bytes_per_second", "--checkpoint-gbytes"},
    {"job.reliability.restart_seconds", "--restart"},
    {"job.reliability.checkpoint_interval_seconds", "--checkpoint-interval"},
};

// Returns whether `outer` is the path of `field`, or of a message or list that contains it.
bool Contains(std::string_view outer, std::string_view field) {
  if (!field.starts_with(outer)) return false;
  return field.size() == outer.size() || field[outer.size()] == '.' || field[outer.size()] == '[';
}

}  // namespace

std::span<const FlagOfField> FlagsOfFields() { return kFlagsOfFields; }

std::string RefusalLine(const std::string& field, const std::string& description) {
  if (field.empty()) return description;
  const FlagOfField* nearest = nullptr;
  for (const FlagOfField& entry : kFlagsOfFields) {
    if (!Contains(entry.field, field)) continue;
    if (nearest == nullptr || entry.field.size() > nearest->field.size()) nearest = &entry;
  }
  std::string line = field;
  if (nearest != nullptr) line += " (" + std::string(nearest->flag) + ")";
  return line + ": " + description;
}

}  // namespace evenkeel::cli
