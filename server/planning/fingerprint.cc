#include "server/planning/fingerprint.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "planner/catalog/catalog.h"
#include "planner/job.h"
#include "planner/model/model_spec.h"
#include "planner/plan.h"
#include "server/convert/digest.h"
#include "server/convert/version.h"
#include "server/planning/canonical_writer.h"

namespace evenkeel::server {
namespace {

// Version of the layout. Change it whenever the layout below changes.
constexpr std::string_view kLayout = "evenkeel-job-6";
constexpr std::string_view kOffersLayout = "evenkeel-offers-1";
constexpr std::string_view kDatasetLayout = "evenkeel-dataset-1";

// Writes a job field by field. Each struct is unpacked by name, so that a new field does not
// compile until it is written here. Tags count the fields of a struct from 1.
class JobWriter {
 public:
  static constexpr int kCalibrationTag = 64;
  static constexpr int kLaunchTag = 65;
  static constexpr int kMoeTag = 66;
  static constexpr int kLanguageModelTag = 67;
  static constexpr int kEncoderTag = 68;
  static constexpr int kProjectorTag = 69;
  static constexpr int kIndexTag = 70;
  static constexpr int kMoreEncodersTag = 71;
  static constexpr int kPrecisionTag = 72;
  static constexpr int kExpertOverlapTag = 73;
  static constexpr int kComparePrecisionsTag = 74;
  static constexpr int kOptimizerTag = 75;
  static constexpr int kZeroGroupTag = 76;
  static constexpr int kAudioTag = 77;
  static constexpr int kRouterScalesTag = 78;
  static constexpr int kRecurrentTag = 79;
  static constexpr int kLayerTag = 80;
  static constexpr int kMoreOfModelTag = 81;
  static constexpr int kEncoderNormsTag = 82;
  static constexpr int kDispatcherTag = 83;
  static constexpr int kLayers16BitTag = 84;
  static constexpr int kFabricTag = 85;
  static constexpr int kEncoderDataTag = 86;
  static constexpr int kNetworkTiersTag = 87;
  static constexpr int kOffloadTag = 90;
  static constexpr int kHostTag = 91;
  static constexpr int kFrozenFormatTag = 95;
  static constexpr int kPaddingTag = 96;
  static constexpr int kCrossTag = 110;
  static constexpr int kConformerTag = 111;
  static constexpr int kFrontTag = 112;
  static constexpr int kStepsTag = 113;
  static constexpr int kFullGateTag = 114;
  static constexpr int kLatentNormTag = 115;

  explicit JobWriter(CanonicalWriter& out) : out_(out) {}

  void Put(int tag, bool value) { out_.Flag(tag, value); }
  void Put(int tag, int64_t value) { out_.Integer(tag, value); }
  void Put(int tag, uint64_t value) { out_.Integer(tag, value); }
  void Put(int tag, double value) { out_.Real(tag, value); }
  void Put(int tag, const std::string& value) { out_.Text(tag, value); }

  template <typename Enum>
  requires std::is_enum_v<Enum>
  void Put(int tag, Enum value) { out_.Choice(tag, value); }

  template <typename Value>
  void Put(int tag, const std::optional<Value>& value) {
    out_.Count(tag, value ? 1 : 0);
    if (value) Put(1, *value);
  }

  template <typename Value>
  void Put(int tag, const std::vector<Value>& values) {
    out_.Count(tag, values.size());
    for (const Value& value : values) Put(1, value);
  }

  void Put(int /*tag*/, const planner::MoeSpec& moe) {
    const auto& [experts, top_k, expert_ffn, shared_ffn, first_dense_layers, expert_bias, mlp_bias,
                 shared_gate, latent, router_scales, latent_norm] = moe;
    Fields(experts, top_k, expert_ffn, shared_ffn, first_dense_layers, expert_bias);
    if (mlp_bias || shared_gate || latent != 0) {
      out_.Count(kMoeTag, 1);
      Fields(mlp_bias, shared_gate);
      if (latent != 0) Fields(latent);
    }
    if (router_scales) out_.Count(kRouterScalesTag, 1);
    if (latent_norm) out_.Count(kLatentNormTag, 1);
  }

  void Put(int /*tag*/, const planner::MlaSpec& mla) {
    const auto& [q_lora_rank, kv_lora_rank, qk_nope_dim, qk_rope_dim, v_dim, index_heads,
                 index_dim] = mla;
    Fields(q_lora_rank, kv_lora_rank, qk_nope_dim, qk_rope_dim, v_dim);
    if (index_heads == 0) return;
    out_.Count(kIndexTag, 1);
    Fields(index_heads, index_dim);
  }

  void Put(int /*tag*/, const planner::LoraSpec& lora) {
    const auto& [rank, base, targets] = lora;
    Fields(rank, static_cast<int64_t>(targets));
    if (base == planner::FrozenFormat::k16Bit) return;
    out_.Count(kFrozenFormatTag, 1);
    Fields(base);
  }

  void Put(int /*tag*/, const planner::LanguageModel& model) {
    const auto& [name, layers, hidden, heads, kv_heads, head_dim, ffn, gated_mlp, norm, vocab,
                 tied_embeddings, qkv_bias, linear_bias, qk_norm, learned_positions, moe, mla,
                 predicted_tokens, train, lora, runs, layer_norms, norm_weights, out_bias, mlp_bias,
                 width_qk_norm, attention_sinks, head_bias, attention_gate, recurrent, index,
                 compressed, per_layer, streams, stream_kind, laurel_rank, key_bias, cross] = model;
    Fields(name, layers, hidden, heads, kv_heads, head_dim, ffn, gated_mlp, norm, vocab,
           tied_embeddings, qkv_bias, linear_bias, qk_norm, learned_positions, moe, mla,
           predicted_tokens, train, lora);
    if (index || compressed || per_layer || streams != 1) {
      out_.Count(kMoreOfModelTag, 1);
      Fields(index, compressed, per_layer, streams);
    }
    if (stream_kind != planner::StreamKind::kHyper || laurel_rank != 0 || !key_bias || cross) {
      out_.Count(kCrossTag, 1);
      Fields(stream_kind, laurel_rank, key_bias, cross);
    }
    const bool plain = runs.empty() && layer_norms == 2 && norm_weights && !out_bias && !mlp_bias &&
                       !width_qk_norm && !attention_sinks && !head_bias && !attention_gate &&
                       !recurrent;
    if (plain) return;
    out_.Count(kLanguageModelTag, 1);
    Fields(runs, layer_norms, norm_weights, out_bias, mlp_bias, width_qk_norm, attention_sinks,
           head_bias);
    if (attention_gate || recurrent) Fields(attention_gate, recurrent);
  }

  void Put(int /*tag*/, const planner::RecurrentSpec& recurrent) {
    const auto& [scan, key_heads, key_dim, value_heads, value_dim, conv_width, conv_bias,
                 linear_bias, step_rank, gate_rank, norm, full_gate] = recurrent;
    Fields(scan, key_heads, key_dim, value_heads, value_dim, conv_width, conv_bias, linear_bias,
           step_rank);
    if (gate_rank == 0 && norm) return;
    out_.Count(kRecurrentTag, 1);
    Fields(gate_rank, norm);
    if (full_gate) out_.Count(kFullGateTag, 1);
  }

  void Put(int /*tag*/, const planner::IndexSpec& index) {
    const auto& [heads, head_dim] = index;
    Fields(heads, head_dim);
  }

  void Put(int /*tag*/, const planner::CrossSpec& cross) {
    const auto& [width, tokens_per_unit] = cross;
    Fields(width, tokens_per_unit);
  }

  void Put(int /*tag*/, const planner::ConformerSpec& conformer) {
    const auto& [conv_width, pointwise, other_parameters, conv_bias] = conformer;
    Fields(conv_width, pointwise, other_parameters, conv_bias);
  }

  void Put(int /*tag*/, const planner::ProjectorStep& step) {
    const auto& [rows, in, out, bias, gated, split, norm_width, norm] = step;
    Fields(rows, in, out, bias, gated, split, norm_width, norm);
  }

  void Put(int /*tag*/, const planner::CompressedSpec& compressed) {
    const auto& [q_rank, out_groups, out_rank, index_heads, index_dim] = compressed;
    Fields(q_rank, out_groups, out_rank, index_heads, index_dim);
  }

  void Put(int /*tag*/, const planner::PerLayerSpec& per_layer) {
    const auto& [vocab, width] = per_layer;
    Fields(vocab, width);
  }

  void Put(int /*tag*/, const planner::LayerRun& run) {
    const auto& [layer, count] = run;
    const auto& [mixer, attention, window_tokens, heads, kv_heads, head_dim, experts, ffn, mlp,
                 value_dim, key_values, sinks, entry_tokens, entries, cross] = layer;
    Fields(attention, window_tokens, heads, kv_heads, head_dim, experts, ffn, count);
    if (mixer != planner::Mixer::kAttention || !mlp) Fields(mixer, mlp);
    if (cross) out_.Count(kCrossTag, 1);
    if (value_dim == 0 && key_values == planner::KeyValues::kProjected && !sinks &&
        entry_tokens == 0)
      return;
    out_.Count(kLayerTag, 1);
    Fields(value_dim, key_values, sinks, entry_tokens, entries);
  }

  void Put(int /*tag*/, const planner::Encoder& encoder) {
    const auto& [name, modality, layers, hidden, heads, head_dim, ffn, gated_mlp, norm, qkv_bias,
                 linear_bias, qk_norm, layer_scale, patch_pixels, temporal_patch, patch_bias,
                 class_tokens, learned_positions, tokens_per_unit, llm_tokens_per_unit,
                 native_resolution, train, lora, window_tokens, full_layers, other_parameters,
                 key_bias, front, head_norm, norms, conformer] = encoder;
    Fields(name, modality, layers, hidden, heads, head_dim, ffn, gated_mlp, norm, qkv_bias,
           linear_bias, qk_norm, layer_scale, patch_pixels, temporal_patch, patch_bias,
           class_tokens, learned_positions, tokens_per_unit, llm_tokens_per_unit, native_resolution,
           train, lora);
    if (window_tokens != 0 || other_parameters != 0) {
      out_.Count(kEncoderTag, 1);
      Fields(window_tokens, full_layers, other_parameters);
    }
    if (head_norm || norms != 2) {
      out_.Count(kEncoderNormsTag, 1);
      Fields(head_norm, norms);
    }
    if (conformer.conv_width > 0) {
      out_.Count(kConformerTag, 1);
      Fields(conformer);
    }
    const auto& [mel_bins, channels, second_channels, separable] = front;
    if (key_bias && front == planner::AudioFront{}) return;
    out_.Count(kAudioTag, 1);
    Fields(key_bias, mel_bins, channels);
    if (second_channels == 0 && !separable) return;
    out_.Count(kFrontTag, 1);
    Fields(second_channels, separable);
  }

  void Put(int /*tag*/, const planner::Projector& projector) {
    const auto& [input_width, hidden_width, norm, train, lora, norm_kind, norm_width, merging_width,
                 bias, deep_stacked, steps] = projector;
    Fields(input_width, hidden_width, norm, train, lora);
    if (!steps.empty()) {
      out_.Count(kStepsTag, 1);
      Fields(steps);
    }
    if (norm_kind == planner::Norm::kLayerNorm && norm_width == 0 && merging_width == 0 && bias &&
        deep_stacked == 0)
      return;
    out_.Count(kProjectorTag, 1);
    Fields(norm_kind, norm_width, merging_width, bias, deep_stacked);
  }

  void Put(int /*tag*/, const planner::EncoderTower& tower) {
    const auto& [encoder, projector] = tower;
    Fields(encoder, projector);
  }

  void Put(int /*tag*/, const planner::ModelSpec& model) {
    const auto& [name, towers, language_model] = model;
    Fields(name, towers, language_model);
  }

  void Put(int /*tag*/, const planner::LengthBin& bin) {
    const auto& [units, llm_tokens, count] = bin;
    Fields(units[0], llm_tokens, count);
    if (units == planner::PerEncoder<int64_t>(units[0])) return;
    out_.Count(kMoreEncodersTag, planner::kEncodersAtMost - 1);
    for (size_t e = 1; e < planner::kEncodersAtMost; ++e) Fields(units[e]);
  }

  void Put(int /*tag*/, const planner::Dataset& dataset) {
    const auto& [bins, is_default, unit_scales] = dataset;  // the scales follow from the model
    (void)unit_scales;
    Fields(bins, is_default);
  }

  void Put(int /*tag*/, const planner::GpuSpec& gpu) {
    const auto& [name, dense_16bit_flops, best_measured_16bit_flops, memory_bytes,
                 hbm_bytes_per_second, bfloat16, scaleup_pairs_only, scaleup_bytes_per_second,
                 pcie_bytes_per_second, scaleup_domain_gpus, costs] = gpu;
    (void)scaleup_domain_gpus;  // Cluster::domain says what of it a job uses
    Fields(name, dense_16bit_flops, best_measured_16bit_flops, memory_bytes, hbm_bytes_per_second,
           bfloat16, scaleup_pairs_only, scaleup_bytes_per_second, pcie_bytes_per_second);
    // The costs of a catalogue's type follow from its name. The source shows what was asked for.
    if (!costs.like.empty()) Fields(costs.like, costs.source);
  }

  void Put(int /*tag*/, const planner::Cluster& cluster) {
    const auto& [gpu, gpu_count, gpus_per_node, gpus_per_full_node, intra_node_bytes_per_second,
                 inter_node_bytes_per_second, fabric, reserved_bytes, host_memory_bytes,
                 host_link_bytes_per_second, host_memory_bytes_per_second, price_per_gpu_hour,
                 domain, pod, inter_pod_bytes_per_second] = cluster;
    Fields(gpu, gpu_count, gpus_per_node, gpus_per_full_node, intra_node_bytes_per_second,
           inter_node_bytes_per_second, reserved_bytes, price_per_gpu_hour);
    if (host_memory_bytes != 0 || host_link_bytes_per_second != 0 ||
        host_memory_bytes_per_second != 0) {
      out_.Count(kHostTag, 1);
      Fields(host_memory_bytes, host_link_bytes_per_second, host_memory_bytes_per_second);
    }
    if (fabric != planner::Fabric::kRdma) {
      out_.Count(kFabricTag, 1);
      Fields(fabric);
    }
    if (domain.gpus == 0 && pod.gpus == 0) return;
    out_.Count(kNetworkTiersTag, 7);
    for (const planner::NetworkUnit* unit : {&domain, &pod})
      Fields(unit->name, unit->gpus, unit->usable);
    Fields(inter_pod_bytes_per_second);
  }

  void Put(int /*tag*/, const planner::Execution& execution) {
    const auto& [sequence_parallel, attention, context, dropout, fused_loss,
                 overlap_gradient_reduce, overlap_weight_gather, overlap_tensor, overlap_experts,
                 dispatcher, overlap_shared_expert, expert_tensor, fused_kernels, compiled_loss,
                 expert_capacity, grouped_experts, bucket_bytes, fused_weight_gradients,
                 host_launch_ns, weight_hook_ns, kernel_rate, loss_bytes_per_logit,
                 keeps_gathered_inputs, casts_master_weights, keeps_quantised_inputs,
                 holds_quantised_weights, start_layers_16bit, end_layers_16bit,
                 update_bytes_per_parameter, gather_ns_per_rank] = execution;
    Fields(sequence_parallel, attention, context, dropout, fused_loss, overlap_gradient_reduce,
           overlap_weight_gather, overlap_tensor, expert_tensor, fused_kernels, compiled_loss,
           expert_capacity, grouped_experts, bucket_bytes, fused_weight_gradients, host_launch_ns,
           weight_hook_ns, kernel_rate, loss_bytes_per_logit, keeps_gathered_inputs,
           casts_master_weights, update_bytes_per_parameter, gather_ns_per_rank);
    // With products in 16 bits, what happens to quantised tensors changes nothing: see Training.
    (void)keeps_quantised_inputs, (void)holds_quantised_weights;
    (void)start_layers_16bit, (void)end_layers_16bit;
    if (overlap_experts) out_.Count(kExpertOverlapTag, 1);
    if (dispatcher != planner::Dispatcher::kAllToAll || overlap_shared_expert) {
      out_.Count(kDispatcherTag, 1);
      Fields(dispatcher, overlap_shared_expert);
    }
  }

  void Put(int /*tag*/, const planner::Training& training) {
    const auto& [global_batch_samples, unit_cap, token_cap, zero_stage, zero_group, trainer,
                 trainer_name, trainer_version, execution, precision, optimizer, offload,
                 distributed_gradients_fp32, epochs, seed, isf_iterations, packer, order_window,
                 group_selection, group_lengths, curriculum_steps, micro_batch_samples,
                 pad_to_tokens, pad_to_multiple] = training;
    Fields(global_batch_samples, unit_cap, token_cap, zero_stage, std::string(trainer->name),
           trainer_name, trainer_version, execution, distributed_gradients_fp32, epochs, seed,
           isf_iterations, packer, order_window, group_selection, group_lengths, curriculum_steps);
    if (zero_group != 0) {
      out_.Count(kZeroGroupTag, 1);
      Fields(zero_group);
    }
    if (optimizer != planner::Optimizer::kAdam) {
      out_.Count(kOptimizerTag, 1);
      Fields(optimizer);
    }
    if (offload.asked) {
      out_.Count(kOffloadTag, 1);
      Fields(offload.choose, offload.ratio);
    }
    if (micro_batch_samples != 0) {
      out_.Count(kPaddingTag, 1);
      Fields(micro_batch_samples, pad_to_tokens, pad_to_multiple);
    }
    if (precision == planner::Precision::k16Bit) return;
    out_.Count(kPrecisionTag, 1);
    Fields(precision, execution.keeps_quantised_inputs, execution.holds_quantised_weights);
    if (execution.start_layers_16bit == 0 && execution.end_layers_16bit == 0) return;
    out_.Count(kLayers16BitTag, 1);
    Fields(execution.start_layers_16bit, execution.end_layers_16bit);
  }

  void Put(int /*tag*/, const planner::DegreeRange& range) {
    const auto& [min, max] = range;
    Fields(min, max);
  }

  void Put(int /*tag*/, const planner::Constraints& constraints) {
    const auto& [tensor_parallel, pipeline_parallel, data_parallel, context_parallel,
                 expert_parallel, virtual_stages, encoder_data, schedule, recompute, stage_layers,
                 partition_method, memory_confidence] = constraints;
    Fields(tensor_parallel, pipeline_parallel, data_parallel, context_parallel, expert_parallel,
           virtual_stages, schedule, recompute, stage_layers, partition_method, memory_confidence);
    if (encoder_data.min == 1 && encoder_data.max == 0) return;
    out_.Count(kEncoderDataTag, 1);
    Fields(encoder_data);
  }

  void Put(int /*tag*/, const planner::Objective& objective) {
    const auto& [kind, deadline_seconds] = objective;
    Fields(kind, deadline_seconds);
  }

  void Put(int /*tag*/, const planner::Reliability& reliability) {
    const auto& [node_mean_time_between_failures_seconds, checkpoint_bytes_per_second,
                 restart_seconds, checkpoint_interval_seconds] = reliability;
    Fields(node_mean_time_between_failures_seconds, checkpoint_bytes_per_second, restart_seconds,
           checkpoint_interval_seconds);
  }

  void Put(int /*tag*/, const planner::FigureBasis& figure_basis) {
    const auto& [figure, basis, detail] = figure_basis;
    Fields(figure, basis, detail);
  }

  void Put(int /*tag*/, const planner::MeasuredRatio& ratio) {
    const auto& [value, count, spread] = ratio;
    Fields(value, count, spread);
  }

  void Put(int /*tag*/, const planner::LayerCalibration& layer) {
    const auto& [kind, tensor, forward, backward, activation] = layer;
    Fields(kind, tensor, forward, backward, activation);
  }

  void Put(int /*tag*/, const planner::Calibration& calibration) {
    const auto& [version, layer_version, layers, step, rest_bytes, rest_count, revisions] =
        calibration;
    Fields(version, layer_version, layers, step, rest_bytes, rest_count, revisions);
  }

  void Put(int /*tag*/, const planner::Parallelism& parallelism) {
    const auto& [tensor, pipeline, data, context, expert, virtual_stages, encoder_data] =
        parallelism;
    Fields(tensor, pipeline, data, context, expert, virtual_stages);
    if (encoder_data == 1) return;
    out_.Count(kEncoderDataTag, 1);
    Fields(encoder_data);
  }

  void Put(int /*tag*/, const planner::RecomputedLayers& layers) {
    const auto& [parts, count] = layers;
    Fields(static_cast<int64_t>(parts), count);
  }

  void Put(int /*tag*/, const planner::LayerGroup& group) {
    // A request does not say of which encoder its layers are: they follow the model.
    const auto& [kind, first, count, recomputed, chunk, encoder] = group;
    (void)encoder;
    Fields(kind, first, count, recomputed, chunk);
  }

  void Put(int /*tag*/, const planner::ChunkSpec& chunk) {
    const auto& [layers] = chunk;
    Fields(layers);
  }

  void Put(int /*tag*/, const planner::PlanSpec& spec) {
    const auto& [parallelism, schedule, chunks, micro_batches] = spec;
    Fields(parallelism, schedule, chunks, micro_batches);
  }

  void Put(int tag, const planner::LaunchRequest& launch) {
    const auto& [frameworks, float16] = launch;
    out_.Count(tag, 1);
    Fields(frameworks, float16);
  }

  void Put(int /*tag*/, const planner::Job& job) {
    // The cost model's constants are fixed by kPlannerRevision, because no request can set them.
    const auto& [model, dataset, cluster, training, constraints, constants, objective, reliability,
                 compare_sizes, compare_precisions, max_alternatives, figures, calibration,
                 launch] = job;
    Fields(model, dataset, cluster, training, constraints, objective, reliability, compare_sizes,
           max_alternatives, figures);
    if (compare_precisions) out_.Count(kComparePrecisionsTag, 1);
    // Left out if nothing was measured, so that measurements of other models change no id.
    if (!calibration.empty()) Put(kCalibrationTag, calibration);
    // Left out if no launch settings are asked for. They are part of the answer's bytes.
    if (!launch.frameworks.empty()) Put(kLaunchTag, launch);
  }

 private:
  template <typename... Values>
  void Fields(const Values&... values) {
    int tag = 0;
    (Put(++tag, values), ...);
  }

  CanonicalWriter& out_;
};

}  // namespace

std::string CanonicalBytes(const planner::Job& job) {
  CanonicalWriter out;
  out.Reserve(4096 + 12 * job.dataset.bins.size());
  out.Text(1, kLayout);
  out.Integer(2, PlannerRevision());
  out.Text(3, planner::kCatalogVersion);
  JobWriter(out).Put(4, job);
  return out.bytes();
}

std::string PlanId(const planner::Job& job) { return "plan-" + Digest(CanonicalBytes(job)); }

std::string ComparisonId(const std::vector<std::string>& offers,
                         const planner::Objective& objective) {
  CanonicalWriter out;
  out.Text(1, kOffersLayout);
  JobWriter writer(out);
  writer.Put(2, offers);
  writer.Put(3, objective);
  return "plan-" + Digest(out.bytes());
}

std::string EvaluationId(const EvaluationJob& evaluation, int64_t unit_cap, int64_t token_cap) {
  CanonicalWriter out;
  out.Text(1, CanonicalBytes(evaluation.packs));
  out.Integer(2, unit_cap);
  out.Integer(3, token_cap);
  JobWriter(out).Put(4, evaluation.plan.spec);
  out.Flag(5, evaluation.include_timeline);
  return "evaluation-" + Digest(out.bytes());
}

std::string DatasetRef(const std::vector<planner::LengthBin>& bins) {
  CanonicalWriter out;
  out.Reserve(64 + 12 * bins.size());
  out.Text(1, kDatasetLayout);
  JobWriter(out).Put(2, bins);
  return std::string(kDatasetPrefix) + Digest(out.bytes());
}

}  // namespace evenkeel::server
