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
#include "server/planning/model_writer.h"

namespace evenkeel::server {
namespace {

// Version of the layout. Change it whenever the layout below changes.
constexpr std::string_view kLayout = "evenkeel-job-6";
constexpr std::string_view kOffersLayout = "evenkeel-offers-1";
constexpr std::string_view kDatasetLayout = "evenkeel-dataset-1";

// Writes a job field by field. Each struct is unpacked by name, so that a new field does not
// compile until it is written here. Tags count the fields of a struct from 1.
class JobWriter : public ModelWriter<JobWriter> {
 public:
  using ModelWriter::Put;

  static constexpr int kCalibrationTag = 64;
  static constexpr int kLaunchTag = 65;
  static constexpr int kMoreEncodersTag = 71;
  static constexpr int kPrecisionTag = 72;
  static constexpr int kExpertOverlapTag = 73;
  static constexpr int kDeterministicTag = 195;
  static constexpr int kComparePrecisionsTag = 74;
  static constexpr int kCompareShardingsTag = 213;
  static constexpr int kAutocastTag = 214;
  static constexpr int kFusionsTag = 215;
  static constexpr int kWeightRemaindersTag = 216;
  static constexpr int kRmsNormBytesTag = 217;
  static constexpr int kCollectiveLaunchesTag = 218;
  static constexpr int kReducedCopiesTag = 219;
  static constexpr int kRecomputeGatherTag = 220;
  static constexpr int kOptimizerTag = 75;
  static constexpr int kZeroGroupTag = 76;
  static constexpr int kDispatcherTag = 83;
  static constexpr int kLayers16BitTag = 84;
  static constexpr int kFabricTag = 85;
  static constexpr int kEncoderDataTag = 86;
  static constexpr int kNetworkTiersTag = 87;
  static constexpr int kNetworkSizesTag = 196;
  static constexpr int kOffloadTag = 90;
  static constexpr int kHostTag = 91;
  static constexpr int kPaddingTag = 96;
  static constexpr int kActivationsTag = 97;
  static constexpr int kOffloadedWeightsTag = 98;
  static constexpr int kFusedStepTag = 100;
  static constexpr int kModulesTag = 120;
  static constexpr int kFreedGradientsTag = 145;
  static constexpr int kWholeGradientsTag = 202;
  static constexpr int kFusedNormsTag = 203;
  static constexpr int kEarlyStopTag = 204;
  static constexpr int kPooledGradientsTag = 205;
  static constexpr int kTensorLossTag = 206;
  static constexpr int kWeightTrafficTag = 207;
  static constexpr int kReducesFp32Tag = 208;
  static constexpr int kFp32AdaptersTag = 210;
  static constexpr int kAdapterGatherTag = 211;
  static constexpr int kRepeatedExchangesTag = 212;
  static constexpr int kCopiedRowsTag = 209;
  static constexpr int kGroupByLengthTag = 121;
  static constexpr int kGivenShareTag = 197;
  static constexpr int kStageByGpusTag = 198;
  static constexpr int kFloat16GradientsTag = 199;
  static constexpr int kPowerLimitTag = 200;
  static constexpr int kKeepsBatchTag = 201;

  explicit JobWriter(CanonicalWriter& out) : ModelWriter(out) {}

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
                 pcie_bytes_per_second, scaleup_domain_gpus, node_gpus, power_watts,
                 full_power_watts, power_bound, power_limit_watts, costs] = gpu;
    (void)scaleup_domain_gpus;  // Cluster::domain says how much of it a job uses
    (void)node_gpus;            // Cluster::gpus_per_full_node
    (void)power_watts;          // of the catalogue's type, as its costs
    (void)full_power_watts;
    (void)power_bound;
    Fields(name, dense_16bit_flops, best_measured_16bit_flops, memory_bytes, hbm_bytes_per_second,
           bfloat16, scaleup_pairs_only, scaleup_bytes_per_second, pcie_bytes_per_second);
    if (power_limit_watts > 0) {
      out_.Count(kPowerLimitTag, 1);
      Fields(power_limit_watts);
    }
    // The costs of a catalogue's type follow from its name. The source shows the requested type.
    if (!costs.like.empty()) Fields(costs.like, costs.source);
  }

  void Put(int /*tag*/, const planner::Cluster& cluster) {
    const auto& [gpu, gpu_count, gpus_per_node, gpus_per_full_node, intra_node_bytes_per_second,
                 inter_node_bytes_per_second, fabric, reserved_bytes, host_memory_bytes,
                 host_link_bytes_per_second, host_memory_bytes_per_second, price_per_gpu_hour,
                 domain, pod, inter_pod_bytes_per_second, joined_gpus, collectives] = cluster;
    (void)collectives;  // those of the calibration
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
    if (!domain.filled && !pod.filled && joined_gpus == 0) return;
    out_.Count(kNetworkSizesTag, 3);
    Fields(domain.filled, pod.filled, joined_gpus);
  }

  void Put(int /*tag*/, const planner::Execution& execution) {
    const auto& [sequence_parallel, attention, context, dropout, deterministic, fused_loss,
                 overlap_gradient_reduce, overlap_weight_gather, overlap_tensor, overlap_experts,
                 dispatcher, overlap_shared_expert, expert_tensor, fused_kernels, fused_activation,
                 fused_rotary, fused_norms, rms_norm_bytes, compiled_loss, expert_capacity,
                 grouped_experts, bucket_bytes, fused_weight_gradients, host_launch_ns,
                 collective_launches, weight_hook_ns, fp32_adapters, adapter_gather_ns, kernel_rate,
                 loss_bytes_per_logit, tensor_loss_bytes_per_logit, stops_recompute_early,
                 gathers_to_recompute, keeps_gathered_inputs, copies_tensor_rows,
                 repeats_expert_exchanges, casts_master_weights, autocast, stores_weight_remainders,
                 keeps_quantised_inputs, holds_quantised_weights, start_layers_16bit,
                 end_layers_16bit, update_bytes_per_parameter, frees_gradients,
                 copies_reduced_gradients, pools_gradients, accumulates_whole_gradients,
                 gather_traffic_bytes, reduce_traffic_bytes, reduces_fp32, gather_ns_per_rank] =
        execution;
    Fields(sequence_parallel, attention, context, dropout, fused_loss, overlap_gradient_reduce,
           overlap_weight_gather, overlap_tensor, expert_tensor, fused_kernels, compiled_loss,
           expert_capacity, grouped_experts, bucket_bytes, fused_weight_gradients, host_launch_ns,
           weight_hook_ns, kernel_rate, loss_bytes_per_logit, keeps_gathered_inputs,
           casts_master_weights, update_bytes_per_parameter, gather_ns_per_rank);
    // With products in 16 bits, the fields about quantised tensors change nothing: see Training.
    (void)keeps_quantised_inputs, (void)holds_quantised_weights;
    (void)start_layers_16bit, (void)end_layers_16bit;
    if (deterministic) out_.Count(kDeterministicTag, 1);
    if (overlap_experts) out_.Count(kExpertOverlapTag, 1);
    if (frees_gradients) out_.Count(kFreedGradientsTag, 1);
    if (accumulates_whole_gradients) out_.Count(kWholeGradientsTag, 1);
    if (fused_norms) out_.Count(kFusedNormsTag, 1);
    if (stops_recompute_early) out_.Count(kEarlyStopTag, 1);
    if (gathers_to_recompute) out_.Count(kRecomputeGatherTag, 1);
    if (pools_gradients) out_.Count(kPooledGradientsTag, 1);
    if (tensor_loss_bytes_per_logit != 0) {
      out_.Count(kTensorLossTag, 1);
      Fields(tensor_loss_bytes_per_logit);
    }
    if (copies_tensor_rows) out_.Count(kCopiedRowsTag, 1);
    if (reduces_fp32) out_.Count(kReducesFp32Tag, 1);
    if (repeats_expert_exchanges) out_.Count(kRepeatedExchangesTag, 1);
    if (autocast) out_.Count(kAutocastTag, 1);
    const bool with_others = fused_activation == planner::Fusion::kAsOthers &&
                             fused_rotary == planner::Fusion::kAsOthers;
    if (!with_others) {
      out_.Count(kFusionsTag, 1);
      Fields(fused_activation, fused_rotary);
    }
    if (rms_norm_bytes != 0) {
      out_.Count(kRmsNormBytesTag, 1);
      Fields(rms_norm_bytes);
    }
    if (stores_weight_remainders) out_.Count(kWeightRemaindersTag, 1);
    if (collective_launches != planner::Execution{}.collective_launches) {
      out_.Count(kCollectiveLaunchesTag, 1);
      Fields(collective_launches);
    }
    if (copies_reduced_gradients) out_.Count(kReducedCopiesTag, 1);
    if (fp32_adapters) out_.Count(kFp32AdaptersTag, 1);
    if (adapter_gather_ns != 0) {
      out_.Count(kAdapterGatherTag, 1);
      Fields(adapter_gather_ns);
    }
    if (gather_traffic_bytes != 0 || reduce_traffic_bytes != 0) {
      out_.Count(kWeightTrafficTag, 1);
      Fields(gather_traffic_bytes, reduce_traffic_bytes);
    }
    if (dispatcher != planner::Dispatcher::kAllToAll || overlap_shared_expert) {
      out_.Count(kDispatcherTag, 1);
      Fields(dispatcher, overlap_shared_expert);
    }
  }

  void Put(int /*tag*/, const planner::Training& training) {
    const auto& [global_batch_samples, keeps_batch, unit_cap, token_cap, zero_stage, stage_by_gpus,
                 zero_group, trainer, trainer_name, trainer_version, execution, precision,
                 optimizer, offload, activations, distributed_gradients_fp32,
                 gradients_follow_float16, epochs, seed, isf_iterations, packer, order_window,
                 group_selection, group_lengths, curriculum_steps, micro_batch_samples,
                 pad_to_tokens, pad_to_multiple, group_by_length, fused_step] = training;
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
    if (offload.weights) out_.Count(kOffloadedWeightsTag, 1);
    // These matter only for remedies and other sizes.
    if (offload.given && offload.ratio == 0 && activations.asked) out_.Count(kGivenShareTag, 1);
    if (stage_by_gpus) out_.Count(kStageByGpusTag, 1);
    if (keeps_batch) out_.Count(kKeepsBatchTag, 1);
    if (gradients_follow_float16) out_.Count(kFloat16GradientsTag, 1);
    if (fused_step) out_.Count(kFusedStepTag, 1);
    if (activations.asked) {
      out_.Count(kActivationsTag, 1);
      Fields(activations.choose, activations.layers, activations.free_recompute,
             activations.free_pipeline, activations.free_virtual_stages);
    }
    if (activations.of_modules) {
      out_.Count(kModulesTag, 1);
      for (const uint32_t set : {activations.given_modules, activations.modules,
                                 activations.beside.dense_parts, activations.beside.moe_parts})
        Fields(int64_t{set});
    }
    if (micro_batch_samples != 0) {
      out_.Count(kPaddingTag, 1);
      Fields(micro_batch_samples, pad_to_tokens, pad_to_multiple);
    }
    if (group_by_length) out_.Count(kGroupByLengthTag, 1);
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
    const auto& [version, layer_version, layers, collectives, step, rest_bytes, rest_count,
                 revisions] = calibration;
    (void)collectives;  // the versions are digests of them
    Fields(version, layer_version, layers, step, rest_bytes, rest_count, *revisions);
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
    // A request does not name the encoder of its layers: they follow the model.
    const auto& [kind, first, count, recomputed, chunk, encoder] = group;
    (void)encoder;
    Fields(kind, first, count, recomputed, chunk);
  }

  void Put(int /*tag*/, const planner::ChunkSpec& chunk) {
    const auto& [layers] = chunk;
    Fields(layers);
  }

  void Put(int /*tag*/, const planner::PlanSpec& spec) {
    const auto& [parallelism, schedule, chunks, micro_batches, planned_micro_batches] = spec;
    Fields(parallelism, schedule, chunks, micro_batches, planned_micro_batches);
  }

  void Put(int tag, const planner::LaunchRequest& launch) {
    const auto& [frameworks, float16] = launch;
    out_.Count(tag, 1);
    Fields(frameworks, float16);
  }

  void Put(int /*tag*/, const planner::Job& job) {
    // The cost model's constants are fixed by kPlannerRevision, because no request can set them.
    const auto& [model, dataset, cluster, training, constraints, constants, objective, reliability,
                 compare_sizes, compare_precisions, compare_shardings, max_alternatives, figures,
                 calibration, launch] = job;
    Fields(model, dataset, cluster, training, constraints, objective, reliability, compare_sizes,
           max_alternatives, figures);
    if (compare_precisions) out_.Count(kComparePrecisionsTag, 1);
    if (compare_shardings) out_.Count(kCompareShardingsTag, 1);
    // Left out if nothing was measured, so that measurements of other models change no id.
    if (!calibration.empty()) Put(kCalibrationTag, calibration);
    // Left out if no launch settings are asked for. They are part of the answer's bytes.
    if (!launch.frameworks.empty()) Put(kLaunchTag, launch);
  }
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
