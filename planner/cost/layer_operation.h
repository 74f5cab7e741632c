// A layer as a list of operations. All costs of a layer (times, weights, kept tensors, transients
// and ways to recompute) are sums or maxima over this list: docs/COST_MODEL.md, section 1.
#ifndef EVENKEEL_PLANNER_COST_LAYER_OPERATION_H_
#define EVENKEEL_PLANNER_COST_LAYER_OPERATION_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "planner/cost/pack_cost.h"
#include "planner/model/model_spec.h"
#include "planner/model/recompute_parts.h"
#include "planner/trainer/offload.h"

namespace evenkeel::planner {

// A tensor that stays in memory from an operation's forward to its backward pass.
struct KeptTensor {
  PackCost bytes;
  RecomputeParts dropped_by = 0;  // recomputing one of these parts brings it back
};

// The part of an operation's kept tensors that a module's offload moves to host memory.
struct MovableTensors {
  OffloadModule module = kOffloadQkv;
  PackCost bytes;
  RecomputeParts dropped_by = 0;
};

// One step of a layer's forward pass on one GPU. Times in ns, of the forward pass.
struct LayerOperation {
  const char* name = "";
  RecomputeParts repeated_by = 0;       // recomputing one of these parts runs it again
  PackCost matrices;                    // products with the layer's weights
  PackCost input_gradients;             // of those products: backward, if a layer before trains
  PackCost weight_gradients;            // of those products: backward, if the weight trains
  bool weight_trains = false;           // even if the component does not
  PackCost adapters;                    // products of LoRA's matrices
  PackCost attention;                   // forward: scores, softmax, product with the values
  PackCost attention_gradients;         // the backward pass of the attention
  PackCost streams;                     // norms, activations, residuals, rotations, permutations
  PackCost stream_gradients;            // their backward pass
  PackCost communication;               // the backward pass communicates as much
  PackCost gradient_communication;      // only of the backward pass, in addition
  PackCost flops;                       // FLOPs of the model, all ranks together
  int64_t launches = 0;                 // kernels that the host launches, forward
  bool host_waits = false;              // the host reads its result before it launches what follows
  std::vector<KeptTensor> kept;         // freed when this operation has run backward
  std::vector<MovableTensors> movable;  // of `kept`, where the job offloads modules
  PackCost transient;                   // bytes: gradients and copies that its backward pass holds
  // Under kAlternateProducts: the time of the products that run again, the bytes of the results
  // that are kept, and whether the result of `communication` is among them.
  PackCost products_again, kept_results;
  bool keeps_exchange = false;
  // The backward pass reads small tensors that the operation made, such as the order of rows.
  // `kept` leaves them out.
  bool reads_own = false;
};

// A layer of one component. Parameters are those of one GPU.
struct LayerWork {
  std::vector<LayerOperation> operations;
  double parameters = 0;
  double trained_parameters = 0;
  double expert_parameters = 0;  // of `parameters`: routed experts, copied on fewer ranks
  double trained_expert_parameters = 0;
  // The weights among `parameters` of linear layers in transformer layers.
  double matrix_parameters = 0;
  double matrix_expert_parameters = 0;
  // The part of `parameters` that is held in `packed_format`, 4 or 8 bits: frozen linear layers,
  // where adapters train.
  double packed_parameters = 0;
  double packed_expert_parameters = 0;
  FrozenFormat packed_format = FrozenFormat::k16Bit;
  double largest_packed = 0;     // parameters of the largest matrix among them
  bool quantised = false;        // the products of those run below 16 bits
  double cast_parameters = 0;    // of matrices that autocast casts, shared ones too
  double largest_weight = 0;     // parameters of the largest matrix that trains
  int64_t trained_tensors = 0;   // weights and biases that train in full
  int64_t adapter_matrices = 0;  // of LoRA: two for each adapter
  double weight_shapes = 0;      // parameters of one matrix of each shape that trains
  PackCost input_bytes;          // bytes that full recompute keeps
  bool stops_early = false;      // full recompute ends with the last tensor that is kept
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_LAYER_OPERATION_H_
