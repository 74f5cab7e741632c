#include "planner/trainer/dispatcher.h"

#include <array>
#include <cstddef>

namespace evenkeel::planner {
namespace {

// Rates of the kernels that Megatron-Core starts: 20 streaming multiprocessors for DeepEP
// (moe_deepep_num_sms), 16 for HybridEP (moe_hybridep_num_sms).
constexpr std::array kDispatchers = {
    DispatcherRecord{.dispatcher = Dispatcher::kAllToAll,
                     .name = "all-to-all",
                     .title = "NCCL all-to-all",
                     .source = "NCCL's measured all-to-all inside a node; between nodes assumed"},
    DispatcherRecord{.dispatcher = Dispatcher::kAllGather,
                     .name = "all-gather",
                     .title = "NCCL all-gather",
                     .source = "NCCL's measured all-gather and reduce-scatter inside a node; "
                               "between nodes assumed"},
    // In a node: 314 GB/s on H100 and 350 on B200 with the rank's own rows, 16-bit combine of 4096
    // rows of 7168 (aiconfigurator's tables of DeepEP's normal kernels); 153 to 158 on H800
    // (DeepEP, docs/legacy.md). Between nodes: 58 to 61 GB/s over 4 nodes of H800 and H100 with
    // 50 GB/s each, of which 3/4 leaves the node; forwarding over 2 nodes moves 181 to 213 GB/s.
    // Over EFA a processor of the host passes each row on as a message, so rows of 4096 and of 7168
    // values take the same time. Fitted on AWS's runs of Qwen3 235B, DeepSeek-V3 and Kimi K2.
    DispatcherRecord{
        .dispatcher = Dispatcher::kDeepEp,
        .name = "deepep",
        .title = "DeepEP",
        .nccl = false,
        .link_efficiency = 0.62,
        .bytes_per_ns_per_rank = 350,
        .forwarded_bytes_per_ns = 190,
        .startup_ns = 50e3,
        .rdma = {.efficiency = 0.9, .startup_ns = 100e3},
        .efa = {.efficiency = 0.9, .startup_ns = 400e3, .per_node_ns = 200e3, .row_ns = 500},
        .source = "DeepEP's published tables, and measured kernels on H100 and B200"},
    // 735 GB/s in the kernel on 8 B200 and 613 on 36 GB200, 536 and 470 with the calls around it
    // (Hybrid-EP_Implementation.md: 4096 rows of 7168, 16 processors); between nodes 41 to 47 GB/s
    // over 4 and 8 nodes of H100 with 50 GB/s each, of which 3/4 and 7/8 leave the node. Its
    // transport between nodes needs InfiniBand verbs.
    DispatcherRecord{.dispatcher = Dispatcher::kHybridEp,
                     .name = "hybridep",
                     .title = "HybridEP",
                     .nccl = false,
                     .link_efficiency = 0.64,
                     .bytes_per_ns_per_rank = 720,
                     .forwarded_bytes_per_ns = 300,
                     .startup_ns = 150e3,
                     .rdma = {.efficiency = 0.72, .startup_ns = 150e3},
                     .source = "HybridEP's published tables on H100, B200 and GB200"}};

}  // namespace

std::span<const DispatcherRecord> Dispatchers() { return kDispatchers; }

const DispatcherRecord& RecordOf(Dispatcher dispatcher) {
  return kDispatchers[static_cast<size_t>(dispatcher)];
}

}  // namespace evenkeel::planner
