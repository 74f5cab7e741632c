#include "server/convert/answer/to_proto.h"

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "evenkeel/v1/plan.pb.h"
#include "planner/catalog/catalog.h"
#include "planner/job.h"
#include "planner/model/towers.h"
#include "planner/plan.h"
#include "planner/space/network_tiers.h"
#include "planner/space/offload.h"
#include "server/base/visible_text.h"
#include "server/convert/answer/groups_to_proto.h"
#include "server/convert/answer/launch_to_proto.h"
#include "server/convert/answer/misfit_text.h"
#include "server/convert/answer/prediction_to_proto.h"
#include "server/convert/answer/stage_to_proto.h"
#include "server/convert/choices.h"
#include "server/convert/job/execution_from_proto.h"
#include "server/convert/job/objective_from_proto.h"
#include "server/convert/job/offload_from_proto.h"
#include "server/convert/numbers.h"
#include "server/convert/version.h"

namespace evenkeel::server {
namespace {

// Leaves a range unset if it excludes nothing.
template <typename Mutable>
void FillRange(const planner::DegreeRange& range, Mutable out) {
  if (range.min <= 1 && range.max == 0) return;
  v1::DegreeRange* to = out();
  to->set_min(Count(range.min));
  to->set_max(Count(range.max));
}

void FillConstraints(const planner::Constraints& constraints, v1::Constraints* out) {
  FillRange(constraints.tensor_parallel, [&] { return out->mutable_tensor_parallel(); });
  FillRange(constraints.pipeline_parallel, [&] { return out->mutable_pipeline_parallel(); });
  FillRange(constraints.data_parallel, [&] { return out->mutable_data_parallel(); });
  FillRange(constraints.context_parallel, [&] { return out->mutable_context_parallel(); });
  FillRange(constraints.expert_parallel, [&] { return out->mutable_expert_parallel(); });
  FillRange(constraints.virtual_stages, [&] { return out->mutable_virtual_stages(); });
  FillRange(constraints.encoder_data, [&] { return out->mutable_encoder_data_parallel(); });
  if (constraints.schedule) out->set_schedule(ToProto(kSchedules, *constraints.schedule));
  out->set_recompute(ToProto(kRecomputePolicies, constraints.recompute));
  out->set_partition_method(ToProto(kPartitionMethods, constraints.partition_method));
  if (constraints.memory_confidence > 0)
    out->set_memory_confidence_ratio(constraints.memory_confidence);
  for (const int64_t layers : constraints.stage_layers) out->add_stage_layers(Count(layers));
}

// Leaves padding to the longest of a micro-batch unset.
template <typename Mutable>
void FillPadding(const planner::Training& training, Mutable out) {
  if (training.pad_to_tokens > 0) out()->set_tokens(training.pad_to_tokens);
  if (training.pad_to_multiple > 1) out()->set_multiple(training.pad_to_multiple);
}

void FillTraining(const planner::Training& training, v1::PlanSubject* out) {
  out->set_global_batch_samples(training.global_batch_samples);
  out->set_epochs(Count(training.epochs));
  out->set_framework(ToProto(kFrameworks, training.trainer->framework));
  v1::Trainer& trainer = *out->mutable_trainer();
  trainer.set_name(training.trainer_name.empty() ? std::string(training.trainer->name)
                                                 : training.trainer_name);
  trainer.set_version(training.trainer_version);
  out->set_zero_stage(ToProto(kZeroStages, training.zero_stage));
  ExecutionToProto(training.execution, out->mutable_execution());
  out->set_gradient_precision(training.distributed_gradients_fp32 ? v1::GRADIENT_PRECISION_FP32
                                                                  : v1::GRADIENT_PRECISION_16BIT);
  if (training.precision != planner::Precision::k16Bit)
    out->set_precision(ToProto(kPrecisions, training.precision));
  out->set_zero_group(Count(training.zero_group));
  out->set_optimizer(ToProto(kOptimizers, training.optimizer));
  out->set_seed(static_cast<int64_t>(training.seed));
  out->set_isf_iterations(Count(training.isf_iterations));
  out->set_fused_step(training.fused_step);
  if (training.micro_batch_samples == 0) return;
  out->set_micro_batch_samples(training.micro_batch_samples);
  out->set_group_by_length(training.group_by_length);
  FillPadding(training, [out] { return out->mutable_padding(); });
}

void FillTiers(const planner::Cluster& cluster, v1::PlanSubject* out) {
  if (cluster.domain.gpus == 0 && cluster.pod.gpus == 0) return;
  const auto add = [out](const std::string& name, int64_t gpus, int64_t used, double rate) {
    v1::NetworkTier* tier = out->add_network_tiers();
    tier->set_name(name);
    tier->set_gpu_count(Count(gpus));
    tier->set_usable_gpu_count(Count(used));
    tier->set_bytes_per_second(rate);
  };
  const int64_t domain = planner::DomainGpus(cluster);
  if (cluster.domain.gpus > 0) {
    add(cluster.domain.name, cluster.domain.gpus, domain, cluster.intra_node_bytes_per_second);
  } else {
    add("node", cluster.gpus_per_full_node, domain, cluster.intra_node_bytes_per_second);
  }
  if (cluster.pod.gpus == 0) return;
  add(cluster.pod.name, cluster.pod.gpus, planner::PodGpus(cluster),
      cluster.inter_node_bytes_per_second);
  add("cluster", cluster.gpu_count, cluster.gpu_count, cluster.inter_pod_bytes_per_second);
}

void FillSubject(const planner::Job& job, v1::PlanSubject* out) {
  out->set_model(job.model.name);
  out->set_encoder(planner::EncoderNames(job.model));
  out->set_language_model(job.model.language_model.name);
  out->set_parameter_count(planner::CountParameters(job.model));
  const planner::Cluster& cluster = job.cluster;
  out->set_gpu_type(cluster.gpu.name);
  out->set_gpu_count(Count(cluster.gpu_count));
  out->set_gpus_per_node(Count(cluster.gpus_per_node));
  out->set_gpus_per_full_node(Count(cluster.gpus_per_full_node));
  out->set_reserved_bytes(cluster.reserved_bytes);
  out->set_price_per_gpu_hour(cluster.price_per_gpu_hour);
  out->set_intra_node_bytes_per_second(cluster.intra_node_bytes_per_second);
  out->set_inter_node_bytes_per_second(cluster.inter_node_bytes_per_second);
  out->set_network_fabric(ToProto(kFabrics, cluster.fabric));
  FillTiers(cluster, out);
  OffloadToProto(job, out);
  int64_t samples = 0;
  for (const planner::LengthBin& bin : job.dataset.bins) samples += bin.count;
  out->set_sample_count(samples);
  FillTraining(job.training, out);
  ObjectiveToProto(job.objective, out->mutable_objective());
  if (job.reliability.node_mean_time_between_failures_seconds > 0)
    ReliabilityToProto(job.reliability, out->mutable_reliability());
  FillConstraints(planner::FreeConstraints(job), out->mutable_constraints());
}

void FillMisfit(const planner::Misfit& misfit, v1::Misfit* out) {
  Fill(misfit.parallelism, out->mutable_parallelism());
  out->set_stage_index(Count(misfit.stage));
  for (const planner::LayerGroup& group : misfit.layers) Fill(group, out->add_layers());
  Fill(misfit.memory, out->mutable_memory());
  out->set_capacity_bytes(misfit.capacity_bytes);
  out->set_short_bytes(misfit.short_bytes);
  out->set_host_short_bytes(misfit.host_short_bytes);
  out->set_micro_batches(misfit.micro_batches);
  for (const planner::Remedy& remedy : misfit.remedies) {
    v1::Remedy* to = out->add_remedies();
    to->set_kind(ToProto(kRemedyKinds, remedy.kind));
    to->set_text(Visible(remedy.text));
    to->set_gpu_count(Count(remedy.gpu_count));
    to->set_unit_cap(remedy.unit_cap);
    to->set_token_cap(remedy.token_cap);
    to->set_gpu_type(remedy.gpu);
    to->set_micro_batch_samples(remedy.micro_batch_samples);
    to->set_global_batch_samples(remedy.global_batch_samples);
    to->set_host_memory_bytes(remedy.host_memory_bytes);
    if (remedy.precision != planner::Precision::k16Bit)
      to->set_precision(ToProto(kPrecisions, remedy.precision));
    for (const int64_t layers : remedy.stage_layers) to->add_stage_layers(Count(layers));
  }
  out->set_proven(misfit.proven);
  out->set_text(Visible(MisfitText(misfit)));
}

void FillAlternative(const planner::Alternative& alternative, v1::Alternative* out) {
  Fill(alternative.parallelism, out->mutable_parallelism());
  for (const int64_t layers : alternative.stage_layers) out->add_stage_layers(Count(layers));
  out->set_step_seconds(Seconds(alternative.step_ns));
  out->set_samples_per_step(alternative.samples_per_step);
  out->set_gpu_days(alternative.gpu_days);
  out->set_least_free_bytes(alternative.least_free_bytes);
  out->set_indistinguishable(alternative.indistinguishable);
}

void FillPadded(const planner::Training& training, const planner::PaddedBatches& padded,
                v1::PaddedBatches* out) {
  out->set_micro_batch_samples(training.micro_batch_samples);
  FillPadding(training, [out] { return out->mutable_padding(); });
  out->set_mean_row_tokens(padded.mean_row_tokens);
  out->set_longest_row_tokens(padded.longest_row_tokens);
  out->set_slowest_rank_ratio(padded.slowest_rank_ratio);
  if (!padded.packed) return;
  FillAlternative(*padded.packed, out->mutable_packed());
  out->set_packing_gain_ratio(padded.packing_gain);
}

void FillOtherSize(const planner::OtherSize& size, v1::OtherSize* out) {
  out->set_change(ToProto(kSizeChanges, size.change));
  out->set_gpu_type(size.gpu);
  out->set_gpu_count(Count(size.gpu_count));
  out->set_fits(size.fits);
  if (size.fits) FillAlternative(size.plan, out->mutable_plan());
}

void FillOtherPrecision(const planner::OtherPrecision& other, v1::OtherPrecision* out) {
  out->set_precision(ToProto(kPrecisions, other.precision));
  out->set_fits(other.plan.has_value());
  if (other.plan) FillAlternative(*other.plan, out->mutable_plan());
}

void FillOtherSharding(const planner::OtherSharding& other, v1::OtherSharding* out) {
  out->set_zero_stage(ToProto(kZeroStages, other.stage));
  out->set_zero_group(Count(other.group));
  out->set_fits(other.plan.has_value());
  if (other.plan) FillAlternative(*other.plan, out->mutable_plan());
}

void FillPlacement(const planner::Placement& placement, int64_t tensor, v1::Placement* out) {
  out->set_rank_order("tp-cp-dp-pp");
  out->set_gpus_per_node(Count(placement.gpus_per_node));
  out->set_node_count(Count(placement.nodes));
  out->set_stages_cross_nodes(placement.pipeline_neighbours_cross_nodes);
  out->set_colocated_ranks(Count(std::gcd(tensor, placement.gpus_per_node)));
  out->set_host_memory_bytes(placement.host_memory_bytes);
  out->set_shm_bytes(placement.shared_memory_bytes);
  for (const planner::PlacementTier& tier : placement.tiers) {
    v1::PlacementTier* to = out->add_tiers();
    to->set_name(tier.name);
    to->set_rank_count(Count(tier.ranks));
    to->set_unit_count(Count(tier.units));
    to->set_required_ranks(Count(tier.required_ranks));
  }
}

void FillOffload(const planner::OffloadPlan& offload, v1::OffloadReport* out) {
  out->set_optimizer_ratio(offload.ratio);
  out->set_weights(offload.weights);
  out->set_gpu_bytes(offload.gpu_bytes);
  out->set_host_bytes(offload.host_bytes);
  out->set_host_capacity_bytes(offload.host_capacity_bytes);
  out->set_added_seconds(Seconds(offload.added_ns));
  out->set_step_seconds(Seconds(offload.step_ns));
  if (offload.step_without_ns > 0) out->set_step_without_seconds(Seconds(offload.step_without_ns));
  if (!offload.activations_asked) return;
  if (!offload.of_modules) out->set_activation_layers(Count(offload.activation_layers));
  for (const auto& choice : kOffloadModules)
    if ((offload.modules & choice.ours) != 0) out->add_activation_modules(choice.theirs);
  out->set_activation_bytes(offload.activation_bytes);
  out->set_activation_host_bytes(offload.activation_host_bytes);
  out->set_activation_added_seconds(Seconds(offload.activation_added_ns));
}

// Fills in the fields that an evaluated plan also has: parallelism, schedule, stages and
// predictions.
void FillRun(const planner::Plan& plan, v1::Plan* out) {
  Fill(plan.parallelism, out->mutable_parallelism());
  out->set_schedule(ToProto(kSchedules, plan.schedule));
  for (const planner::StagePlan& stage : plan.stages) {
    const int index = out->stages_size();
    Fill(stage, index, out->add_stages());
  }
  Fill(plan.prediction, out->mutable_predictions());
  if (plan.goodput) Fill(*plan.goodput, out->mutable_predictions()->mutable_goodput());
  if (plan.offload) FillOffload(*plan.offload, out->mutable_offload());
  for (const planner::Launch& launch : plan.launch) Fill(launch, out->add_launch());
}

void FillProvenance(const planner::Calibration& calibration,
                    const std::vector<planner::FigureBasis>& figures, v1::Provenance* out) {
  out->set_planner_version(PlannerVersion());
  out->set_catalog_version(std::string(planner::kCatalogVersion));
  out->set_calibration_version(calibration.empty() ? "none" : calibration.version);
  out->set_layer_calibration_version(calibration.layer_version);
  for (const int64_t revision : *calibration.revisions) out->add_profile_revisions(revision);
  out->set_measured_rest_bytes(calibration.rest_bytes);
  for (const planner::FigureBasis& figure : figures) {
    v1::FigureBasis* to = out->add_figures();
    to->set_figure(figure.figure);
    to->set_basis(ToProto(kBases, figure.basis));
    to->set_detail(Visible(figure.detail));
  }
}

}  // namespace

void PlanToProto(const planner::Job& job, const planner::Plan& plan, const std::string& plan_id,
                 v1::Plan* out) {
  out->set_plan_id(plan_id);
  FillSubject(job, out->mutable_subject());
  Fill(plan.batch_rule, out->mutable_batch_rule());
  Fill(plan.proof, out->mutable_proof());
  FillProvenance(job.calibration, plan.figures, out->mutable_provenance());
  out->set_memory_fit(ToProto(kMemoryFits, plan.memory_fit));
  if (plan.misfit) {
    // There are no ranks here, so there is no imbalance between them.
    v1::BatchRule* rule = out->mutable_batch_rule();
    rule->clear_dist_ratio_units();
    rule->clear_dist_ratio_tokens();
    rule->clear_dist_ratio_attention();
    rule->clear_idle_ratio();
    FillMisfit(*plan.misfit, out->mutable_misfit());
    return;
  }
  FillRun(plan, out);
  if (plan.padded) FillPadded(job.training, *plan.padded, out->mutable_padded_batches());
  if (plan.encoder_data_gain) out->set_encoder_data_gain_ratio(*plan.encoder_data_gain);
  if (plan.trainer_limits_cost) out->set_trainer_limits_cost_ratio(*plan.trainer_limits_cost);
  FillGroups(plan, out);
  for (const planner::LadderRung& rung : plan.ladder) Fill(rung, out->add_ladder());
  for (const planner::Alternative& alternative : plan.alternatives) {
    FillAlternative(alternative, out->add_alternatives());
  }
  for (const planner::OtherSize& size : plan.other_sizes)
    FillOtherSize(size, out->add_other_sizes());
  for (const planner::OtherPrecision& other : plan.other_precisions)
    FillOtherPrecision(other, out->add_other_precisions());
  for (const planner::OtherSharding& other : plan.other_shardings)
    FillOtherSharding(other, out->add_other_shardings());
  for (const planner::DispatcherTime& time : plan.expert_dispatchers) {
    v1::DispatcherTime* to = out->add_expert_dispatchers();
    to->set_dispatcher(ToProto(kExpertDispatchers, time.dispatcher));
    to->set_planned(time.planned);
    to->set_step_seconds(Seconds(time.step_ns));
  }
  FillPlacement(plan.placement, plan.parallelism.tensor, out->mutable_placement());
}

void EvaluationToProto(const planner::Job& job, const planner::Plan& plan, v1::Plan* out) {
  FillSubject(job, out->mutable_subject());
  Fill(plan.batch_rule, out->mutable_batch_rule());
  out->set_memory_fit(ToProto(kMemoryFits, plan.memory_fit));
  FillRun(plan, out);
  if (plan.padded) FillPadded(job.training, *plan.padded, out->mutable_padded_batches());
  FillEvaluated(plan.proof, out->mutable_proof());
  FillProvenance(job.calibration, plan.figures, out->mutable_provenance());
  if (plan.fits()) return;
  FillMisfit(*plan.misfit, out->mutable_misfit());
  out->mutable_misfit()->set_text(Visible(ShortageText(*plan.misfit)));  // no remedy was tried
}

}  // namespace evenkeel::server
