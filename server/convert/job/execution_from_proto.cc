#include "server/convert/job/execution_from_proto.h"

#include "evenkeel/v1/job.pb.h"
#include "planner/base/units.h"
#include "planner/job.h"
#include "server/convert/checks.h"
#include "server/convert/choices.h"

namespace evenkeel::server {

namespace {

// Megatron refuses a fused loss in deterministic mode (apply_determinism_to_args).
void RefuseFusedLoss(const v1::Execution& from, const FieldPath& path, ViolationSink& sink,
                     planner::Execution* to) {
  constexpr char kFault[] = "must be false with deterministic: its results differ between runs";
  if (from.fused_loss()) sink.Add(path.Child("fused_loss"), kFault);
  if (from.compiled_loss()) sink.Add(path.Child("compiled_loss"), kFault);
  to->fused_loss = to->compiled_loss = false;
}

// Converts the figures of an execution: rates, times and bytes.
void ConvertFigures(const v1::Execution& from, const FieldPath& path, ViolationSink& sink,
                    planner::Execution& to) {
  const auto real = [&](bool has, double value, const char* name, RealRange range, double unit,
                        double* slot) {
    if (has) *slot = unit * CheckReal(sink, path.Child(name), value, range);
  };
  real(from.has_expert_capacity_ratio(), from.expert_capacity_ratio(), "expert_capacity_ratio",
       {0, 100}, 1, &to.expert_capacity);
  real(from.has_kernel_rate_ratio(), from.kernel_rate_ratio(), "kernel_rate_ratio", {0.1, 1.25}, 1,
       &to.kernel_rate);
  real(from.has_update_parameter_bytes(), from.update_parameter_bytes(), "update_parameter_bytes",
       {0, 64}, 1, &to.update_bytes_per_parameter);
  real(from.has_loss_logit_bytes(), from.loss_logit_bytes(), "loss_logit_bytes", {0, 64}, 1,
       &to.loss_bytes_per_logit);
  real(from.has_tensor_loss_logit_bytes(), from.tensor_loss_logit_bytes(),
       "tensor_loss_logit_bytes", {0, 64}, 1, &to.tensor_loss_bytes_per_logit);
  real(from.has_rms_norm_bytes(), from.rms_norm_bytes(), "rms_norm_bytes", {0, 16}, 1,
       &to.rms_norm_bytes);
  real(from.has_gather_traffic_bytes(), from.gather_traffic_bytes(), "gather_traffic_bytes",
       {0, 256}, 1, &to.gather_traffic_bytes);
  real(from.has_reduce_traffic_bytes(), from.reduce_traffic_bytes(), "reduce_traffic_bytes",
       {0, 256}, 1, &to.reduce_traffic_bytes);
  real(from.has_host_launch_seconds(), from.host_launch_seconds(), "host_launch_seconds", {0, 0.01},
       planner::kNsPerSecond, &to.host_launch_ns);
  real(from.has_weight_hook_seconds(), from.weight_hook_seconds(), "weight_hook_seconds", {0, 0.1},
       planner::kNsPerSecond, &to.weight_hook_ns);
  real(from.has_adapter_gather_seconds(), from.adapter_gather_seconds(), "adapter_gather_seconds",
       {0, 0.1}, planner::kNsPerSecond, &to.adapter_gather_ns);
  real(from.has_rank_gather_seconds(), from.rank_gather_seconds(), "rank_gather_seconds", {0, 1},
       planner::kNsPerSecond, &to.gather_ns_per_rank);
}

// Converts the fusion of kernels, and the form of weights.
void ConvertFusionsAndWeights(const v1::Execution& from, const FieldPath& path, ViolationSink& sink,
                              planner::Execution& to) {
  using planner::Fusion;
  const auto fusion = [&](bool has, bool value, auto fuses, Fusion* slot) {
    if (!has) return;
    *slot = Fusion::kAsOthers;  // the canonical form of what holds anyway
    if (fuses(to) != value) *slot = value ? Fusion::kFused : Fusion::kApart;
  };
  fusion(from.has_fused_activation(), from.fused_activation(), planner::FusesActivation,
         &to.fused_activation);
  fusion(from.has_fused_rotary(), from.fused_rotary(), planner::FusesRotary, &to.fused_rotary);
  if (from.has_stores_weight_remainders())
    to.stores_weight_remainders = from.stores_weight_remainders();
  if (from.has_autocast()) to.autocast = from.autocast();
  if (to.autocast && from.casts_master_weights())
    sink.Add(path.Child("autocast"),
             "must not be true with casts_master_weights: it casts weights that are gathered in "
             "fp32");
}

}  // namespace

void ExecutionFromProto(const v1::Execution& from, const FieldPath& path, ViolationSink& sink,
                        planner::Execution* execution) {
  planner::Execution& to = *execution;
  const auto flag = [](bool has, bool value, bool* slot) { *slot = has ? value : *slot; };
  flag(from.has_sequence_parallel(), from.sequence_parallel(), &to.sequence_parallel);
  to.attention = FromProto(kAttentionKernels, from.attention_kernel(), to.attention,
                           path.Child("attention_kernel"), sink);
  to.context = FromProto(kContextExchanges, from.context_exchange(), to.context,
                         path.Child("context_exchange"), sink);
  flag(from.has_dropout(), from.dropout(), &to.dropout);
  flag(from.has_deterministic(), from.deterministic(), &to.deterministic);
  if (to.deterministic) RefuseFusedLoss(from, path, sink, &to);
  flag(from.has_fused_loss(), from.fused_loss(), &to.fused_loss);
  flag(from.has_overlap_gradient_reduce(), from.overlap_gradient_reduce(),
       &to.overlap_gradient_reduce);
  flag(from.has_overlap_weight_gather(), from.overlap_weight_gather(), &to.overlap_weight_gather);
  flag(from.has_overlap_tensor(), from.overlap_tensor(), &to.overlap_tensor);
  flag(from.has_overlap_experts(), from.overlap_experts(), &to.overlap_experts);
  to.dispatcher = FromProto(kExpertDispatchers, from.expert_dispatcher(), to.dispatcher,
                            path.Child("expert_dispatcher"), sink);
  flag(from.has_overlap_shared_expert(), from.overlap_shared_expert(), &to.overlap_shared_expert);
  const auto layers = [&](bool has, int32_t value, const char* name, int64_t* slot) {
    if (has) *slot = CheckInt(sink, path.Child(name), value, {0, 10'000});
  };
  layers(from.has_start_layers_16bit(), from.start_layers_16bit(), "start_layers_16bit",
         &to.start_layers_16bit);
  layers(from.has_end_layers_16bit(), from.end_layers_16bit(), "end_layers_16bit",
         &to.end_layers_16bit);
  flag(from.has_keeps_quantised_inputs(), from.keeps_quantised_inputs(),
       &to.keeps_quantised_inputs);
  flag(from.has_holds_quantised_weights(), from.holds_quantised_weights(),
       &to.holds_quantised_weights);
  to.expert_tensor = CheckIntOr(sink, path.Child("expert_tensor_parallel"),
                                from.expert_tensor_parallel(), {1, 1024}, to.expert_tensor);
  flag(from.has_fused_kernels(), from.fused_kernels(), &to.fused_kernels);
  flag(from.has_compiled_loss(), from.compiled_loss(), &to.compiled_loss);
  if (to.compiled_loss && to.fused_loss && from.has_compiled_loss()) {
    sink.Add(path.Child("compiled_loss"),
             "needs fused_loss false: a fused loss is not compiled as well");
  }
  flag(from.has_fused_weight_gradients(), from.fused_weight_gradients(),
       &to.fused_weight_gradients);
  flag(from.has_grouped_experts(), from.grouped_experts(), &to.grouped_experts);
  if (from.has_collective_launches()) {
    to.collective_launches =
        CheckInt(sink, path.Child("collective_launches"), from.collective_launches(), {0, 100});
  }
  if (from.has_bucket_bytes()) {
    to.bucket_bytes =
        CheckInt(sink, path.Child("bucket_bytes"), from.bucket_bytes(), {0, 1'000'000'000'000});
  }
  flag(from.has_casts_master_weights(), from.casts_master_weights(), &to.casts_master_weights);
  flag(from.has_keeps_gathered_inputs(), from.keeps_gathered_inputs(), &to.keeps_gathered_inputs);
  flag(from.has_frees_gradients(), from.frees_gradients(), &to.frees_gradients);
  flag(from.has_copies_reduced_gradients(), from.copies_reduced_gradients(),
       &to.copies_reduced_gradients);
  flag(from.has_gathers_to_recompute(), from.gathers_to_recompute(), &to.gathers_to_recompute);
  flag(from.has_copies_tensor_rows(), from.copies_tensor_rows(), &to.copies_tensor_rows);
  flag(from.has_reduces_fp32(), from.reduces_fp32(), &to.reduces_fp32);
  flag(from.has_repeats_expert_exchanges(), from.repeats_expert_exchanges(),
       &to.repeats_expert_exchanges);
  flag(from.has_fp32_adapters(), from.fp32_adapters(), &to.fp32_adapters);
  flag(from.has_pools_gradients(), from.pools_gradients(), &to.pools_gradients);
  flag(from.has_accumulates_whole_gradients(), from.accumulates_whole_gradients(),
       &to.accumulates_whole_gradients);
  flag(from.has_fused_norms(), from.fused_norms(), &to.fused_norms);
  flag(from.has_stops_recompute_early(), from.stops_recompute_early(), &to.stops_recompute_early);
  ConvertFusionsAndWeights(from, path, sink, to);
  ConvertFigures(from, path, sink, to);
}

void ExecutionToProto(const planner::Execution& execution, v1::Execution* out) {
  out->set_sequence_parallel(execution.sequence_parallel);
  out->set_attention_kernel(ToProto(kAttentionKernels, execution.attention));
  out->set_context_exchange(ToProto(kContextExchanges, execution.context));
  out->set_dropout(execution.dropout);
  out->set_deterministic(execution.deterministic);
  out->set_fused_loss(execution.fused_loss);
  out->set_overlap_gradient_reduce(execution.overlap_gradient_reduce);
  out->set_overlap_weight_gather(execution.overlap_weight_gather);
  out->set_overlap_tensor(execution.overlap_tensor);
  out->set_overlap_experts(execution.overlap_experts);
  out->set_expert_dispatcher(ToProto(kExpertDispatchers, execution.dispatcher));
  out->set_overlap_shared_expert(execution.overlap_shared_expert);
  out->set_start_layers_16bit(static_cast<int32_t>(execution.start_layers_16bit));
  out->set_end_layers_16bit(static_cast<int32_t>(execution.end_layers_16bit));
  out->set_keeps_quantised_inputs(execution.keeps_quantised_inputs);
  out->set_holds_quantised_weights(execution.holds_quantised_weights);
  out->set_expert_tensor_parallel(static_cast<int32_t>(execution.expert_tensor));
  out->set_fused_kernels(execution.fused_kernels);
  out->set_fused_activation(FusesActivation(execution));
  out->set_fused_rotary(FusesRotary(execution));
  out->set_compiled_loss(execution.compiled_loss);
  out->set_fused_weight_gradients(execution.fused_weight_gradients);
  out->set_expert_capacity_ratio(execution.expert_capacity);
  out->set_grouped_experts(execution.grouped_experts);
  out->set_bucket_bytes(execution.bucket_bytes);
  out->set_kernel_rate_ratio(execution.kernel_rate);
  out->set_collective_launches(static_cast<int32_t>(execution.collective_launches));
  out->set_weight_hook_seconds(execution.weight_hook_ns / planner::kNsPerSecond);
  out->set_rank_gather_seconds(execution.gather_ns_per_rank / planner::kNsPerSecond);
  out->set_loss_logit_bytes(execution.loss_bytes_per_logit);
  out->set_tensor_loss_logit_bytes(execution.tensor_loss_bytes_per_logit);
  out->set_gather_traffic_bytes(execution.gather_traffic_bytes);
  out->set_reduce_traffic_bytes(execution.reduce_traffic_bytes);
  out->set_casts_master_weights(execution.casts_master_weights);
  out->set_update_parameter_bytes(execution.update_bytes_per_parameter);
  out->set_frees_gradients(execution.frees_gradients);
  out->set_copies_reduced_gradients(execution.copies_reduced_gradients);
  out->set_gathers_to_recompute(execution.gathers_to_recompute);
  out->set_copies_tensor_rows(execution.copies_tensor_rows);
  out->set_reduces_fp32(execution.reduces_fp32);
  out->set_repeats_expert_exchanges(execution.repeats_expert_exchanges);
  out->set_fp32_adapters(execution.fp32_adapters);
  out->set_adapter_gather_seconds(execution.adapter_gather_ns / planner::kNsPerSecond);
  out->set_pools_gradients(execution.pools_gradients);
  out->set_accumulates_whole_gradients(execution.accumulates_whole_gradients);
  out->set_rms_norm_bytes(execution.rms_norm_bytes);
  out->set_fused_norms(execution.fused_norms);
  out->set_stops_recompute_early(execution.stops_recompute_early);
  out->set_stores_weight_remainders(execution.stores_weight_remainders);
  out->set_autocast(execution.autocast);
  out->set_keeps_gathered_inputs(execution.keeps_gathered_inputs);
  out->set_host_launch_seconds(execution.host_launch_ns / planner::kNsPerSecond);
}

}  // namespace evenkeel::server
