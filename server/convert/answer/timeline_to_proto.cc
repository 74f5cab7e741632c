#include "server/convert/answer/timeline_to_proto.h"

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/v1/timeline.pb.h"
#include "server/convert/choices.h"
#include "server/convert/numbers.h"

namespace evenkeel::server {
namespace {

constexpr Choice<planner::OperationKind, v1::OperationKind> kOperationKinds[] = {
    {planner::OperationKind::kParameterGather, v1::OPERATION_KIND_PARAMETER_GATHER},
    {planner::OperationKind::kForward, v1::OPERATION_KIND_FORWARD},
    {planner::OperationKind::kRecompute, v1::OPERATION_KIND_RECOMPUTE},
    {planner::OperationKind::kBackward, v1::OPERATION_KIND_BACKWARD},
    {planner::OperationKind::kWeightGradient, v1::OPERATION_KIND_WEIGHT_GRADIENT},
    {planner::OperationKind::kSendActivation, v1::OPERATION_KIND_SEND_ACTIVATION},
    {planner::OperationKind::kSendGradient, v1::OPERATION_KIND_SEND_GRADIENT},
    {planner::OperationKind::kGradientSync, v1::OPERATION_KIND_GRADIENT_SYNC},
    {planner::OperationKind::kOptimizer, v1::OPERATION_KIND_OPTIMIZER}};

constexpr Choice<planner::PassKind, v1::OperationKind> kPassKinds[] = {
    {planner::PassKind::kForward, v1::OPERATION_KIND_FORWARD},
    {planner::PassKind::kBackward, v1::OPERATION_KIND_BACKWARD},
    {planner::PassKind::kWeightGradient, v1::OPERATION_KIND_WEIGHT_GRADIENT}};

void FillOperations(const std::vector<planner::Operation>& operations, v1::Operations* out) {
  const int count = static_cast<int>(operations.size());
  out->mutable_kinds()->Reserve(count);
  out->mutable_chunks()->Reserve(count);
  out->mutable_packs()->Reserve(count);
  out->mutable_start_seconds()->Reserve(count);
  out->mutable_end_seconds()->Reserve(count);
  for (const planner::Operation& operation : operations) {
    out->add_kinds(ToProto(kOperationKinds, operation.kind));
    out->add_chunks(Count(operation.chunk));
    out->add_packs(Count(operation.micro_batch));
    out->add_start_seconds(Seconds(operation.start_ns));
    out->add_end_seconds(Seconds(operation.end_ns));
  }
}

void FillTime(const planner::StageRun& stage, v1::StageTime* out) {
  out->set_forward_seconds(Seconds(stage.forward_ns));
  out->set_recompute_seconds(Seconds(stage.recompute_ns));
  out->set_backward_seconds(Seconds(stage.backward_ns));
  out->set_weight_gradient_seconds(Seconds(stage.weight_gradient_ns));
  out->set_send_seconds(Seconds(stage.send_ns));
  out->set_parameter_gather_seconds(Seconds(stage.gather_ns));
  out->set_wait_p2p_seconds(Seconds(stage.wait_p2p_ns));
  out->set_wait_forward_seconds(Seconds(stage.wait_forward_ns));
  out->set_wait_backward_seconds(Seconds(stage.wait_backward_ns));
  out->set_gradient_sync_seconds(Seconds(stage.sync_ns));
  out->set_wait_sync_seconds(Seconds(stage.wait_sync_ns));
  out->set_optimizer_seconds(Seconds(stage.optimizer_ns));
  out->set_wait_optimizer_seconds(Seconds(stage.wait_optimizer_ns));
}

void FillMemory(const planner::StageMemory& memory, const std::vector<std::string>& names,
                v1::MemoryCurve* out) {
  for (const planner::MemoryStep& step : memory.curve) {
    out->add_at_seconds(Seconds(step.ns));
    out->add_held_bytes(step.bytes);
  }
  out->set_peak_bytes(memory.peak_bytes);
  out->set_peak_at_seconds(Seconds(memory.peak_ns));
  out->set_peak_operation(ToProto(kPassKinds, memory.peak_pass.kind));
  out->set_peak_chunk(memory.peak_pass.chunk);
  out->set_peak_pack(memory.peak_pass.micro_batch);
  for (size_t i = 0; i < names.size(); ++i) {
    v1::NamedBytes* part = out->add_peak_parts();
    part->set_name(names[i]);
    part->set_size_bytes(memory.peak_parts[i]);
  }
  out->set_peak_in_flight(Count(memory.peak_in_flight.whole));
  out->set_peak_weight_gradient_in_flight(Count(memory.peak_in_flight.weight_gradient));
}

}  // namespace

void Fill(const planner::Timeline& timeline, v1::Timeline* out) {
  const std::vector<planner::RankRun>& ranks = timeline.run.ranks;
  const planner::PipelineRun& shown = ranks[timeline.shown_rank].pipeline;
  out->set_schedule_name(std::string(planner::TitleOf(timeline.shape.schedule)));
  out->set_virtual_stages(Count(timeline.shape.chunks));
  out->set_micro_batches(Count(timeline.shape.micro_batches));
  out->set_data_index(Count(static_cast<int64_t>(timeline.shown_rank)));
  out->set_pipeline_seconds(Seconds(timeline.run.pipeline_ns));
  out->set_step_seconds(Seconds(timeline.run.step_ns));
  for (size_t s = 0; s < timeline.operations.size(); ++s) {
    v1::StageTimeline* stage = out->add_stages();
    FillOperations(timeline.operations[s], stage->mutable_operations());
    FillTime(shown.stages[s], stage->mutable_time());
    if (!timeline.memory.empty()) {
      FillMemory(timeline.memory[s], timeline.part_names, stage->mutable_memory());
    }
  }
  for (const planner::RankRun& rank : ranks) {
    if (ranks.size() == 1) break;
    v1::RankTime* time = out->add_ranks();
    time->set_pipeline_seconds(Seconds(rank.pipeline.pipeline_ns));
    time->set_idle_seconds(Seconds(rank.idle_ns));
  }
}

}  // namespace evenkeel::server
