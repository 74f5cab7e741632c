// What a plan keeps in host memory.
#ifndef EVENKEEL_PLANNER_PLAN_OFFLOAD_PLAN_H_
#define EVENKEEL_PLANNER_PLAN_OFFLOAD_PLAN_H_

#include <cstdint>

#include "planner/trainer/offload.h"

namespace evenkeel::planner {

// What the offload of an optimizer and of activations moves, costs and gains.
struct OffloadPlan {
  double ratio = 0;                   // of the optimizer's states
  bool weights = false;               // weights and gradients are in host memory, too
  int64_t gpu_bytes = 0;              // that leave the fullest GPU
  int64_t host_bytes = 0;             // of a node, that hold them
  int64_t host_capacity_bytes = 0;    // of a node
  int64_t added_ns = 0;               // per step, above an update of everything on the GPU
  int64_t step_ns = 0;                // for the requested batch, simulated
  int64_t step_without_ns = 0;        // the same of the best plan without; 0 if none fits
  bool activations_asked = false;     // else the figures below are 0
  int64_t activation_layers = 0;      // of the language model
  bool of_modules = false;            // asked for instead of layers
  OffloadModules modules = 0;         // whose inputs are in host memory
  int64_t activation_bytes = 0;       // of the GPU that has most of them in host memory
  int64_t activation_host_bytes = 0;  // of a node, that hold them
  int64_t activation_added_ns = 0;    // per step, while passes wait for copies
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PLAN_OFFLOAD_PLAN_H_
