#include "planner/cost/cost_constant_list.h"

namespace evenkeel::planner {

std::span<const CostConstant> CostConstantList() {
  using C = CostConstants;
  static constexpr CostConstant kList[] = {
      {"ampere_clock", &C::ampere_clock, Basis::kFitted,
       "Korthikanti 2022, table 4: a layer of 22 billion parameters on eight A100"},
      {"ada_clock", &C::ada_clock, Basis::kFitted, "long against short products in L40S's table"},
      {"hopper_clock", &C::hopper_clock, Basis::kFitted,
       "Megatron-Core's model table, rows with a pipeline: five models on 768 to 6144 H100; NeMo's "
       "published runs of six models on 8 to 2304 H100"},
      {"blackwell_clock", &C::blackwell_clock, Basis::kFitted, "SimuMax's runs on eight B200"},
      {"blackwell_low_clock", &C::blackwell_low_clock, Basis::kFitted,
       "Megatron-Bridge's published FP8, MXFP8 and NVFP4 runs of dense models on B200 and GB200"},
      {"other_clock", &C::other_clock, Basis::kAssumed, "as Ampere"},
      {"hbm_efficiency", &C::hbm_efficiency, Basis::kAssumed, "no table of streaming kernels"},
      {"kernel_launch_ns", &C::kernel_launch_ns, Basis::kFitted,
       "shared by all GPUs' matrix tables"},
      {"attention_backward", &C::attention_backward, Basis::kPublished,
       "2.5 times the FLOPs at 0.86 of the rate: FlashAttention-2 63% against 73% of A100's peak "
       "(Dao 2023, 4.1), FlashAttention-3 561 against 648 TFLOP/s (Shah 2024, figures 5 and 6)"},
      {"inter_node_efficiency", &C::inter_node_efficiency, Basis::kAssumed,
       "no measurement between nodes; 0.85 to 0.95 are published for large messages"},
      {"inter_node_sharing", &C::inter_node_sharing, Basis::kAssumed,
       "each GPU has its own part of the network"},
      {"send_latency_ns", &C::send_latency_ns, Basis::kAssumed, "no measurement between nodes"},
      {"node_hop_ns", &C::node_hop_ns, Basis::kAssumed, "no measurement between nodes"},
      {"rank_hop_ns", &C::rank_hop_ns, Basis::kFitted,
       "small all-gathers over 2 to 8 ranks: 0.7 to 1.5 us per further rank"},
      {"tensor_overlap", &C::tensor_overlap, Basis::kFitted,
       "torchtitan's four pairs of runs with and without asynchronous tensor parallelism on H100 "
       "(benchmarks/asyncTP_llama3_h100_2025-06_torchtitan.md): 1.09 to 1.16 times as fast"},
      {"engine_overlap", &C::engine_overlap, Basis::kFitted,
       "NeMo's published runs of Nemotron-4 15B and 340B and Llama 3.1 70B on 16 to 2048 H100"},
      {"slowest_gpu_ratio", &C::slowest_gpu_ratio, Basis::kFitted,
       "growth of the step at a constant batch per GPU in NeMo's published runs of six models on 8 "
       "to 2304 H100: 0.25 to 1% per doubling"},
      {"collective_processors", &C::collective_processors, Basis::kAssumed,
       "NCCL runs 16 to 32 channels between nodes, a block each"},
      {"bucket_parameters", &C::bucket_parameters, Basis::kPublished,
       "Megatron-Core's default: max(40000000, 1000000 x data-parallel ranks)"},
      {"bucket_parameters_per_rank", &C::bucket_parameters_per_rank, Basis::kPublished,
       "Megatron-Core's default: max(40000000, 1000000 x data-parallel ranks)"},
  };
  return kList;
}

}  // namespace evenkeel::planner
