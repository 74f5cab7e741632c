// The offload of a plan to host memory.
#ifndef EVENKEEL_PLANNER_PLAN_OFFLOAD_PLAN_H_
#define EVENKEEL_PLANNER_PLAN_OFFLOAD_PLAN_H_

#include <cstdint>

#include "planner/trainer/offload.h"

namespace evenkeel::planner {

// The offload of an optimizer and of activations: its bytes, its time and its gain.
struct OffloadPlan {
  double ratio = 0;                   // offloaded share of the optimizer's states
  bool weights = false;               // weights and gradients are in host memory, too
  int64_t gpu_bytes = 0;              // bytes that leave the fullest GPU
  int64_t host_bytes = 0;             // bytes that they take in a node's host
  int64_t host_capacity_bytes = 0;    // of a node
  int64_t added_ns = 0;               // per step, above an update of everything on the GPU
  int64_t step_ns = 0;                // for the requested batch, simulated
  int64_t step_without_ns = 0;        // step_ns of the best plan without offload; 0: none fits
  bool activations_asked = false;     // else the figures below are 0
  int64_t activation_layers = 0;      // offloaded layers of the language model
  bool of_modules = false;            // the job asks for modules instead of layers
  OffloadModules modules = 0;         // modules whose inputs are in host memory
  int64_t activation_bytes = 0;       // of the GPU that has most of them in host memory
  int64_t activation_host_bytes = 0;  // bytes that they take in a node's host
  int64_t activation_added_ns = 0;    // per step, while passes wait for copies
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PLAN_OFFLOAD_PLAN_H_
