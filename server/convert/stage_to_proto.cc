#include "server/convert/stage_to_proto.h"

#include <cstdint>

#include "evenkeel/v1/plan.pb.h"
#include "planner/plan.h"
#include "server/convert/to_proto.h"

namespace evenkeel::server {
namespace {

int32_t Count(int64_t value) { return static_cast<int32_t>(value); }

v1::LayerKind KindOf(planner::LayerKind kind) {
  switch (kind) {
    case planner::LayerKind::kPatchEmbedding:
      return v1::LAYER_KIND_PATCH_EMBEDDING;
    case planner::LayerKind::kEncoder:
      return v1::LAYER_KIND_ENCODER;
    case planner::LayerKind::kProjector:
      return v1::LAYER_KIND_PROJECTOR;
    case planner::LayerKind::kTokenEmbedding:
      return v1::LAYER_KIND_TOKEN_EMBEDDING;
    case planner::LayerKind::kDense:
      return v1::LAYER_KIND_DENSE;
    case planner::LayerKind::kMoe:
      return v1::LAYER_KIND_MOE;
    case planner::LayerKind::kHead:
      return v1::LAYER_KIND_HEAD;
  }
  return v1::LAYER_KIND_UNSPECIFIED;
}

}  // namespace

void Fill(const planner::Parallelism& parallelism, v1::Parallelism* out) {
  out->set_tensor(Count(parallelism.tensor));
  out->set_pipeline(Count(parallelism.pipeline));
  out->set_data(Count(parallelism.data));
  out->set_context(1);
  out->set_expert(1);
  out->set_virtual_stages(1);
}

void Fill(const planner::LayerGroup& group, v1::LayerGroup* out) {
  out->set_kind(KindOf(group.kind));
  out->set_first_layer(Count(group.first));
  out->set_layer_count(Count(group.count));
  out->set_recomputed_count(Count(group.recomputed));
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
