// The constants of the time model that belong to no single GPU type, in one place, so that a fit
// can list and vary them: docs/COST_MODEL.md, sections 2 and 3. Constants that are fitted per GPU
// type on its kernel tables are in planner/hardware. A CostConstants is a plain value that
// planner::Job holds. The basis and source of each constant are in cost_constant_list.cc.
#ifndef EVENKEEL_PLANNER_COST_COST_CONSTANTS_H_
#define EVENKEEL_PLANNER_COST_COST_CONSTANTS_H_

#include "planner/hardware/gpu_spec.h"

namespace evenkeel::planner {

// Every member is a double, and CostConstantList() (cost_constant_list.h) names them all.
struct CostConstants {
  // Sustained clock, by generation of GPU: the rate of matrix products and attention in a training
  // run, where heat and power lower the clock, over the rate of short isolated kernels.
  double ampere_clock = 0.91;
  double ada_clock = 0.70;
  double hopper_clock = 0.79;
  double blackwell_clock = 0.62;
  // Sustained clock of Blackwell in runs whose products have fewer than 16 bits. They draw less
  // power.
  double blackwell_low_clock = 0.77;
  double other_clock = 0.91;

  double hbm_efficiency = 0.8;  // share of the HBM rate that streaming kernels reach
  // Time from the end of one kernel to the first work of the next, on the GPU.
  double kernel_launch_ns = 2500;
  // Time of flash attention's backward pass over that of its forward pass, for kernels that
  // flash_attention.cc does not know.
  double attention_backward = 2.9;

  double inter_node_efficiency = 0.85;  // share of the given bandwidth that large messages reach
  // k ranks of a group in one node reach 1 + inter_node_sharing * (k - 1) times one rank's
  // bandwidth between nodes.
  double inter_node_sharing = 1;
  double send_latency_ns = 20e3;  // a point-to-point message between nodes, launch included
  double node_hop_ns = 5e3;       // one hop of a ring between nodes
  double rank_hop_ns = 1e3;       // one hop of a ring inside a node
  // Share of the exchanges during products (Execution::overlap_tensor) that the products hide:
  // PyTorch's asynchronous tensor parallelism, and TransformerEngine's copies (userbuffers).
  double tensor_overlap = 0.5, engine_overlap = 0.7;
  // A step waits for the slowest GPU: kernels take this share longer for each doubling of the GPUs
  // beyond eight.
  double slowest_gpu_ratio = 0.003;
  // Streaming multiprocessors that a collective takes from the compute that it overlaps with.
  double collective_processors = 20;
  // Gradients are reduced and weights gathered in buckets of at least this many parameters: the
  // larger of bucket_parameters and bucket_parameters_per_rank times the data-parallel ranks.
  double bucket_parameters = 40e6;
  double bucket_parameters_per_rank = 1e6;  // times the data-parallel ranks
};

// Returns the share of the rates of short isolated kernels that training runs reach on the GPU,
// whose linear layers multiply in `products`. Under a power limit it falls with the cube root of
// the power: dynamic power grows with the clock times the square of the voltage, which grows with
// the clock.
double SustainedClock(const GpuSpec& gpu, NumberFormat products, const CostConstants& constants);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_COST_CONSTANTS_H_
