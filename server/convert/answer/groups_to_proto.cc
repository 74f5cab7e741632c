#include "server/convert/answer/groups_to_proto.h"

#include <cstdint>

#include "evenkeel/v1/plan.pb.h"
#include "server/convert/answer/prediction_to_proto.h"
#include "server/convert/answer/stage_to_proto.h"
#include "server/convert/choices.h"
#include "server/convert/numbers.h"

namespace evenkeel::server {
namespace {

void FillGroup(const planner::GroupPlan& group, v1::PackingGroup* out) {
  out->set_length_tokens(group.token_cap);
  out->set_sequence_parallel(Count(group.parallelism.context));
  out->set_data_parallel(Count(group.parallelism.data));
  out->set_packs_per_rank(Count(group.micro_batches));
  out->set_longest_sample_tokens(group.longest_sample);
  out->set_unit_cap(group.unit_cap);
  out->set_recomputed_layers(Count(group.recomputed_layers()));
  out->set_sample_count(group.samples);
  out->set_filler_count(group.fillers);
  out->set_pack_count(group.packs);
  out->set_step_count(group.steps);
  out->set_share(group.share);
  out->set_mean_tokens(group.mean_tokens);
  out->set_loss_normalizer_tokens(group.mean_tokens);
  out->set_dist_ratio_tokens(group.dist_ratio_tokens);
  out->set_dist_ratio_attention(group.dist_ratio_attention);
  out->set_idle_ratio(group.idle_ratio);
  out->set_step_seconds(Seconds(group.step.total_ns));
}

void FillRun(const planner::GroupPlan& group, v1::GroupRun* out) {
  Fill(group.parallelism, out->mutable_parallelism());
  for (const planner::StagePlan& stage : group.stages) {
    const int index = out->stages_size();
    Fill(stage, index, out->add_stages());
  }
  Fill(group.step, out->mutable_step_time());
  out->set_micro_batches(Count(group.micro_batches));
  out->set_reason(group.reason);
}

void FillBaseline(const planner::BatchingBaseline& baseline, v1::BatchingBaseline* out) {
  out->set_method(ToProto(kBatchingMethods, baseline.method));
  out->set_fits(baseline.fits);
  if (!baseline.fits) return;
  out->set_gpu_days(baseline.gpu_days);
  out->set_step_seconds(Seconds(baseline.step_ns));
  out->set_pad_ratio(baseline.pad_ratio);
  out->set_dist_ratio_tokens(baseline.dist_ratio_tokens);
  out->set_dist_ratio_attention(baseline.dist_ratio_attention);
  out->set_communication_ratio(baseline.communication_ratio);
  out->set_mean_rank_tokens(baseline.mean_rank_tokens);
}

void FillChoice(const planner::GroupChoice& choice, const planner::BatchRule& rule,
                v1::GroupChoice* out) {
  for (const int64_t length : choice.candidate_lengths) out->add_candidate_lengths(length);
  out->set_published_gpu_days(choice.published.gpu_days);
  for (const int64_t length : choice.published.lengths) out->add_published_lengths(length);
  for (const int64_t degree : choice.published.contexts)
    out->add_published_sequence_parallel(Count(degree));
  out->set_exact_gpu_days(choice.exact.gpu_days);
  for (const int64_t length : choice.exact.lengths) out->add_exact_lengths(length);
  for (const int64_t degree : choice.exact.contexts)
    out->add_exact_sequence_parallel(Count(degree));
  out->set_examined_set_count(choice.examined_sets);
  for (const planner::BatchingBaseline& baseline : choice.baselines)
    FillBaseline(baseline, out->add_baselines());
  out->set_curriculum_steps(choice.curriculum_steps);
  out->set_communication_ratio(choice.communication_ratio);
  out->set_dist_ratio_attention(rule.dist_ratio_attention);
  out->set_dist_ratio_tokens(rule.dist_ratio_tokens);
  out->set_mean_rank_tokens(choice.mean_rank_tokens);
}

}  // namespace

void FillGroups(const planner::Plan& plan, v1::Plan* out) {
  if (!plan.grouping) return;
  for (const planner::GroupPlan& group : plan.grouping->groups) {
    FillGroup(group, out->add_packing_groups());
    FillRun(group, out->add_group_runs());
  }
  FillChoice(plan.grouping->choice, plan.batch_rule, out->mutable_group_choice());
}

}  // namespace evenkeel::server
