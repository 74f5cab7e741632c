#include "planner/trainer/carried.h"

#include <cstddef>
#include <tuple>
#include <utility>

namespace evenkeel::planner {
namespace {

auto FieldsOf(Execution& execution) {
  auto& [sequence_parallel, attention, context, dropout, deterministic, fused_loss,
         overlap_gradient_reduce, overlap_weight_gather, overlap_tensor, overlap_experts,
         dispatcher, overlap_shared_expert, expert_tensor, fused_kernels, fused_activation,
         fused_rotary, fused_norms, rms_norm_bytes, compiled_loss, expert_capacity, grouped_experts,
         bucket_bytes, fused_weight_gradients, host_launch_ns, collective_launches, weight_hook_ns,
         fp32_adapters, adapter_gather_ns, kernel_rate, loss_bytes_per_logit,
         tensor_loss_bytes_per_logit, stops_recompute_early, gathers_to_recompute,
         keeps_gathered_inputs, copies_tensor_rows, repeats_expert_exchanges, casts_master_weights,
         autocast, stores_weight_remainders, keeps_quantised_inputs, holds_quantised_weights,
         start_layers_16bit, end_layers_16bit, update_bytes_per_parameter, frees_gradients,
         copies_reduced_gradients, pools_gradients, accumulates_whole_gradients,
         gather_traffic_bytes, reduce_traffic_bytes, reduces_fp32, gather_ns_per_rank] = execution;
  return std::tie(sequence_parallel, attention, context, dropout, deterministic, fused_loss,
                  overlap_gradient_reduce, overlap_weight_gather, overlap_tensor, overlap_experts,
                  dispatcher, overlap_shared_expert, expert_tensor, fused_kernels, fused_activation,
                  fused_rotary, fused_norms, rms_norm_bytes, compiled_loss, expert_capacity,
                  grouped_experts, bucket_bytes, fused_weight_gradients, host_launch_ns,
                  collective_launches, weight_hook_ns, fp32_adapters, adapter_gather_ns,
                  kernel_rate, loss_bytes_per_logit, tensor_loss_bytes_per_logit,
                  stops_recompute_early, gathers_to_recompute, keeps_gathered_inputs,
                  copies_tensor_rows, repeats_expert_exchanges, casts_master_weights, autocast,
                  stores_weight_remainders, keeps_quantised_inputs, holds_quantised_weights,
                  start_layers_16bit, end_layers_16bit, update_bytes_per_parameter, frees_gradients,
                  copies_reduced_gradients, pools_gradients, accumulates_whole_gradients,
                  gather_traffic_bytes, reduce_traffic_bytes, reduces_fp32, gather_ns_per_rank);
}

}  // namespace

Execution CarryOverrides(Execution defaults, Execution job, Execution new_defaults) {
  const auto carry = [](auto usual_fields, auto job_fields, auto new_fields) {
    [&]<size_t... kAt>(std::index_sequence<kAt...>) {
      const auto one = [](const auto& usual, const auto& set, auto& to) {
        if (!(usual == set)) to = set;
      };
      (one(std::get<kAt>(usual_fields), std::get<kAt>(job_fields), std::get<kAt>(new_fields)), ...);
    }
    (std::make_index_sequence<std::tuple_size_v<decltype(usual_fields)>>());
  };
  carry(FieldsOf(defaults), FieldsOf(job), FieldsOf(new_defaults));
  return new_defaults;
}

}  // namespace evenkeel::planner
