#include "server/convert/packing/pack_answer.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "evenkeel/v1/packing.pb.h"
#include "server/convert/packing/packing_groups.h"
#include "server/convert/packing/packing_rule.h"

namespace evenkeel::server {
namespace {

int64_t Size(size_t size) { return static_cast<int64_t>(size); }

void FillRule(const planner::PackingJob& job, const planner::PackingResult& result,
              v1::BatchRule* out) {
  planner::PackingJob carried_out = job;
  carried_out.pack = result.rule;
  if (job.by_time) carried_out.deal.window = result.window;
  RuleToProto(carried_out, out);
  out->set_caps_derived(!result.caps_reason.empty());
  out->set_caps_reason(result.caps_reason);
  out->set_oversize_sample_count(Size(result.packing.oversize.size()));
  out->set_samples_per_pack(result.samples_per_pack);
  out->set_pack_count(Size(result.packing.size()));
  double units = 0;
  double tokens = 0;
  for (const planner::PackSums& sums : result.sums) {
    units += static_cast<double>(sums.units);
    tokens += static_cast<double>(sums.tokens);
  }
  const double packs = std::max(1.0, static_cast<double>(result.sums.size()));
  out->set_mean_units(units / packs);
  out->set_mean_tokens(tokens / packs);
  out->set_pad_ratio(result.pad_ratio);
  out->set_dist_ratio_units(result.balance.dist_ratio_units);
  out->set_dist_ratio_tokens(result.balance.dist_ratio_tokens);
  out->set_dist_ratio_attention(result.balance.dist_ratio_attention);
  out->set_pack_count_lower_bound(result.bound.packs);
  out->set_idle_ratio(result.balance.idle);
  out->set_order_gap_ratio(result.order_gap);
}

}  // namespace

void SummaryToProto(const planner::PackingJob& job, const planner::PackingResult& result,
                    int64_t sample_count, v1::PackDatasetSummary* out) {
  FillRule(job, result, out->mutable_rule());
  out->set_sample_count(sample_count);
  out->set_step_count(result.balance.steps);
  out->set_holed_step_count(result.balance.holed_steps);
  const auto& oversize = result.packing.oversize;
  const int64_t listed = std::min(Size(oversize.size()), kMaxOversizeIndices);
  out->mutable_oversize_sample_index()->Add(oversize.begin(), oversize.begin() + listed);
  out->set_rejected_sample_count(Size(result.packing.rejected.size()));
  out->set_lower_bound_method(result.bound.packs > 0 ? result.bound.method : "");
  out->set_unit_fill(result.unit_fill);
  out->set_token_fill(result.token_fill);
  out->set_dist_ratio_vision_time(result.balance.dist_ratio_vision_time);
  out->set_dist_ratio_language_time(result.balance.dist_ratio_language_time);
  out->set_step_spread(result.balance.step_spread);
  out->set_step_trend(result.balance.step_trend);
  out->set_idle_ratio_by_tokens(result.idle_by_tokens);
  GroupsToProto(result.groups, result.balance.mean_rank_tokens, out);
}

PackAnswer::PackAnswer(const planner::PackingJob& job, planner::PackingResult result,
                       int64_t sample_count, std::string dataset_ref, bool summary_only)
    : job_(job),
      result_(std::move(result)),
      sample_count_(sample_count),
      dataset_ref_(std::move(dataset_ref)) {
  if (!summary_only) return;
  pack_ = result_.packing.size();
  member_ = result_.packing.members.size();
  slot_ = result_.order.size();
  step_ = result_.groups.step_group.size();
}

bool PackAnswer::Next(v1::PackDatasetResponse* message) {
  if (NextPacks(message) || NextOrder(message)) return true;
  if (done_) return false;
  done_ = true;
  SummaryToProto(job_, result_, sample_count_, message->mutable_summary());
  message->mutable_summary()->set_dataset_ref(dataset_ref_);
  return true;
}

// A pack that does not fit into a message continues in the next one.
bool PackAnswer::NextPacks(v1::PackDatasetResponse* message) {
  const planner::Packing& packing = result_.packing;
  if (member_ == packing.members.size()) return false;
  v1::PackChunk* chunk = message->mutable_packs();
  const size_t end = std::min(packing.members.size(), member_ + kValuesPerMessage);
  for (; pack_ < packing.size() && static_cast<size_t>(packing.offsets[pack_]) < end; ++pack_) {
    chunk->add_sample_count(packing.offsets[pack_ + 1] - packing.offsets[pack_]);
  }
  chunk->mutable_sample_index()->Add(packing.members.begin() + static_cast<int64_t>(member_),
                                     packing.members.begin() + static_cast<int64_t>(end));
  member_ = end;
  return true;
}

bool PackAnswer::NextOrder(v1::PackDatasetResponse* message) {
  const planner::GroupFigures& groups = result_.groups;
  if (slot_ == result_.order.size() && step_ == groups.step_group.size()) return false;
  v1::StepOrderChunk* chunk = message->mutable_order();
  const size_t end = std::min(result_.order.size(), slot_ + kValuesPerMessage);
  chunk->mutable_pack_index()->Add(result_.order.begin() + static_cast<int64_t>(slot_),
                                   result_.order.begin() + static_cast<int64_t>(end));
  slot_ = end;
  const size_t steps = std::min(groups.step_group.size(), step_ + kStepsPerMessage);
  for (; step_ < steps; ++step_) {
    chunk->add_group_index(groups.step_group[step_]);
    chunk->add_loss_normalizer_tokens(groups.loss_normalizers[step_]);
  }
  return true;
}

int64_t PackAnswer::held_bytes() const {
  const planner::Packing& packing = result_.packing;
  return Size(packing.offsets.capacity() * sizeof(int64_t) +
              packing.members.capacity() * sizeof(uint32_t) +
              (packing.oversize.capacity() + packing.rejected.capacity()) * sizeof(uint32_t) +
              result_.sums.capacity() * sizeof(planner::PackSums) +
              result_.order.capacity() * sizeof(int64_t) +
              result_.groups.step_group.capacity() * sizeof(int32_t) +
              result_.groups.loss_normalizers.capacity() * sizeof(double));
}

}  // namespace evenkeel::server
