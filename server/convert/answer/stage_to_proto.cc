#include "server/convert/answer/stage_to_proto.h"

#include <cstddef>
#include <cstdint>

#include "evenkeel/v1/plan.pb.h"
#include "planner/plan.h"
#include "server/convert/choices.h"
#include "server/convert/numbers.h"

namespace evenkeel::server {

void Fill(const planner::Parallelism& parallelism, v1::Parallelism* out) {
  out->set_tensor(Count(parallelism.tensor));
  out->set_pipeline(Count(parallelism.pipeline));
  out->set_data(Count(parallelism.data));
  out->set_context(Count(parallelism.context));
  out->set_expert(Count(parallelism.expert));
  out->set_virtual_stages(Count(parallelism.virtual_stages));
  out->set_encoder_data(Count(parallelism.encoder_data));
}

void Fill(const planner::LayerGroup& group, v1::LayerGroup* out) {
  out->set_kind(ToProto(kLayerKinds, group.kind));
  out->set_first_layer(Count(group.first));
  out->set_layer_count(Count(group.count));
  out->set_recomputed_count(Count(group.recomputed_count()));
  for (const planner::RecomputedLayers& layers : group.recomputed) {
    v1::RecomputedLayers* to = out->add_recomputed();
    for (const auto& part : kRecomputeParts) {
      if ((layers.parts & part.ours) != 0) to->add_parts(part.theirs);
    }
    to->set_layer_count(Count(layers.count));
  }
  out->set_chunk(Count(group.chunk));
  out->set_encoder_index(Count(group.encoder));
}

void Fill(const planner::MemoryParts& memory, v1::MemoryParts* out) {
  out->set_weights_bytes(memory.weights);
  out->set_gradients_bytes(memory.gradients);
  out->set_optimizer_bytes(memory.optimizer);
  out->set_activations_bytes(memory.activations);
  out->set_workspace_bytes(memory.workspace);
  out->set_communication_bytes(memory.communication);
  out->set_framework_bytes(memory.framework);
  out->set_allocator_reserve_bytes(memory.allocator_reserve);
  out->set_total_bytes(memory.total());
  out->set_buffers_bytes(memory.buffers);
  out->set_allocated_bytes(memory.allocated());
  out->set_reserved_bytes(memory.reserved());
  out->set_logits_bytes(memory.logits);
  out->set_gradient_pool_bytes(memory.gradient_pool);
  for (const auto& [kind, bytes] : memory.activations_by_kind) {
    if (bytes == 0) continue;
    v1::KindBytes* to = out->add_activations_by_kind();
    to->set_kind(ToProto(kLayerKinds, kind));
    to->set_size_bytes(bytes);
  }
}

void Fill(const planner::StagePlan& stage, int index, v1::Stage* out) {
  out->set_index(index);
  for (const planner::LayerGroup& group : stage.layers) Fill(group, out->add_layers());
  out->set_forward_seconds(Seconds(stage.forward_ns));
  out->set_backward_seconds(Seconds(stage.backward_ns));
  out->set_recompute_seconds(Seconds(stage.recompute_ns));
  out->set_send_seconds(Seconds(stage.send_ns));
  out->set_send_bytes(stage.send_bytes);
  out->set_in_flight(Count(stage.in_flight));
  out->set_parameter_count(stage.parameters);
  Fill(stage.memory, out->mutable_memory());
  out->set_capacity_bytes(stage.capacity_bytes);
  out->set_free_bytes(stage.free_bytes());
}

}  // namespace evenkeel::server
