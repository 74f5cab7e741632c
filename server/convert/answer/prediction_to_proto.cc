#include "server/convert/answer/prediction_to_proto.h"

#include <cstdint>

#include "evenkeel/v1/plan.pb.h"
#include "planner/plan.h"
#include "server/base/visible_text.h"
#include "server/convert/choices.h"
#include "server/convert/numbers.h"
#include "server/convert/packing/packing_rule.h"

namespace evenkeel::server {

void Fill(const planner::Interval& interval, v1::Interval* out) {
  out->set_centre_ratio(interval.centre);
  out->set_low_ratio(interval.low);
  out->set_high_ratio(interval.high);
  out->set_coverage_ratio(planner::kIntervalCoverage);
  out->set_evidence(ToProto(kEvidences, interval.evidence));
  out->set_run_count(Count(interval.runs));
  out->set_narrowed_by(std::string(interval.narrowed_by));
}

void Fill(const planner::StepTime& step, v1::StepTime* out) {
  out->set_encoder_compute_seconds(Seconds(step.encoder_compute_ns));
  out->set_language_compute_seconds(Seconds(step.language_compute_ns));
  out->set_recompute_seconds(Seconds(step.recompute_ns));
  out->set_tensor_communication_seconds(Seconds(step.tensor_communication_ns));
  out->set_pipeline_bubble_seconds(Seconds(step.pipeline_bubble_ns));
  out->set_imbalance_seconds(Seconds(step.imbalance_ns));
  out->set_data_sync_seconds(Seconds(step.data_sync_ns));
  out->set_optimizer_seconds(Seconds(step.optimizer_ns));
  out->set_total_seconds(Seconds(step.total_ns));
  out->set_measured_correction_seconds(Seconds(step.measured_correction_ns));
}

void Fill(const planner::BatchRule& rule, v1::BatchRule* out) {
  ScalesToProto(rule.unit_scales, out);
  out->set_unit_cap(rule.unit_cap);
  out->set_token_cap(rule.token_cap);
  out->set_keep_units(rule.keep_units);
  out->set_keep_tokens(rule.keep_tokens);
  out->set_packer(ToProto(kPackers, rule.packer));
  out->set_order_window(rule.order_window);
  out->set_iterations(Count(rule.iterations));
  out->set_seed(static_cast<int64_t>(rule.seed));
  out->set_caps_derived(rule.caps_derived);
  out->set_sampled_count(rule.sampled);
  out->set_oversize_sample_count(rule.oversize_samples);
  out->set_samples_per_pack(rule.samples_per_pack);
  out->set_pack_count(rule.packs);
  out->set_mean_units(rule.mean_units);
  out->set_mean_tokens(rule.mean_tokens);
  out->set_pad_ratio(rule.pad_ratio);
  out->set_dist_ratio_units(rule.dist_ratio_units);
  out->set_dist_ratio_tokens(rule.dist_ratio_tokens);
  out->set_dist_ratio_attention(rule.dist_ratio_attention);
  out->set_oversize_policy(ToProto(kOversizePolicies, rule.oversize));
  TimesToProto(rule.pack_times, out);
  out->set_pack_count_lower_bound(rule.pack_lower_bound);
  out->set_idle_ratio(rule.idle_ratio);
  out->set_caps_reason(Visible(rule.caps_reason));
}

void Fill(const planner::Prediction& prediction, v1::Predictions* out) {
  Fill(prediction.step, out->mutable_step());
  out->set_micro_batches(Count(prediction.micro_batches));
  out->set_steps_per_epoch(prediction.steps_per_epoch);
  out->set_holed_steps(Count(prediction.holed_steps));
  out->set_samples_per_step(prediction.samples_per_step);
  out->set_epoch_seconds(prediction.epoch_seconds);
  out->set_gpu_days(prediction.gpu_days);
  out->set_cost(prediction.cost);
  out->set_mfu(prediction.mfu);
  out->set_llm_tokens_per_second(prediction.llm_tokens_per_second);
  out->set_bubble_ratio(prediction.bubble_ratio);
  out->set_step_uncertainty_ratio(prediction.step_uncertainty);
  out->set_memory_uncertainty_ratio(prediction.memory_uncertainty);
  Fill(prediction.step_interval, out->mutable_step_interval());
  Fill(prediction.memory_interval, out->mutable_memory_interval());
}

void Fill(const planner::Goodput& goodput, v1::Goodput* out) {
  out->set_useful_share(goodput.useful_share);
  out->set_checkpoint_bytes(goodput.checkpoint_bytes);
  out->set_checkpoint_seconds(goodput.checkpoint_seconds);
  out->set_checkpoint_interval_steps(goodput.interval_steps);
  out->set_mean_time_between_failures_seconds(goodput.mean_time_between_failures_seconds);
  out->set_finish_seconds(goodput.seconds);
  out->set_gpu_days(goodput.gpu_days);
  out->set_cost(goodput.cost);
}

void Fill(const planner::LadderRung& rung, v1::LadderRung* out) {
  out->set_name(rung.name);
  out->set_fits(rung.fits);
  out->set_gpu_days(rung.gpu_days);
  out->set_step_seconds(Seconds(rung.step_ns));
  out->set_pad_ratio(rung.pad_ratio);
  out->set_dist_ratio_units(rung.dist_ratio_units);
  out->set_dist_ratio_tokens(rung.dist_ratio_tokens);
}

void Fill(const planner::Proof& proof, v1::Proof* out) {
  out->set_step_seconds(Seconds(proof.step_ns));
  out->set_lower_bound_seconds(Seconds(proof.lower_bound_ns));
  out->set_gap(proof.gap);
  out->set_plan_lower_bound_seconds(Seconds(proof.plan_lower_bound_ns));
  out->set_closed_form_seconds(Seconds(proof.closed_form_ns));
  out->set_closed_form_optimum_seconds(Seconds(proof.closed_form_optimum_ns));
  out->set_search_end(ToProto(kSearchEnds, proof.end));
  out->set_status(proof.step_ns <= 0 || proof.lower_bound_ns <= 0 ? v1::PROOF_STATUS_UNSPECIFIED
                  : proof.step_ns == proof.lower_bound_ns         ? v1::PROOF_STATUS_OPTIMAL
                                                                  : v1::PROOF_STATUS_BOUNDED);
  out->set_parallelism_count(Count(proof.parallelisms));
  out->set_pruned_parallelism_count(Count(proof.parallelisms_pruned));
  out->set_unfit_parallelism_count(Count(proof.parallelisms_unfit));
  out->set_unsearched_parallelism_count(Count(proof.parallelisms_unsearched));
  out->set_unrefined_parallelism_count(Count(proof.parallelisms_unrefined));
  out->set_examined_state_count(proof.partitions_examined);
}

void FillEvaluated(const planner::Proof& proof, v1::Proof* out) {
  out->set_step_seconds(Seconds(proof.step_ns));
  out->set_plan_lower_bound_seconds(Seconds(proof.plan_lower_bound_ns));
}

}  // namespace evenkeel::server
