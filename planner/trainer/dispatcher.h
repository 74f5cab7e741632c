// Dispatchers of experts' tokens: how trainers exchange rows between the ranks that hold experts,
// and what that costs by tier of the network. Adding a dispatcher means adding a record.
#ifndef EVENKEEL_PLANNER_TRAINER_DISPATCHER_H_
#define EVENKEEL_PLANNER_TRAINER_DISPATCHER_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace evenkeel::planner {

// kLeastTime takes the one with the least time of those that trainer and cluster have.
enum class Dispatcher { kAllToAll, kAllGather, kDeepEp, kHybridEp, kLeastTime };

// A set of dispatchers: bits of DispatcherBit.
using DispatcherSet = uint32_t;
constexpr DispatcherSet DispatcherBit(Dispatcher dispatcher) {
  return 1u << static_cast<unsigned>(dispatcher);
}
inline constexpr DispatcherSet kNcclDispatchers =
    DispatcherBit(Dispatcher::kAllToAll) | DispatcherBit(Dispatcher::kAllGather);
inline constexpr DispatcherSet kMegatronDispatchers =
    kNcclDispatchers | DispatcherBit(Dispatcher::kDeepEp) | DispatcherBit(Dispatcher::kHybridEp);

// How the kernels of a library move rows between nodes over one kind of network.
struct NetworkRates {
  double efficiency = 0;   // share of the given bandwidth; 0 if it does not run on this network
  double startup_ns = 0;   // of one exchange
  double per_node_ns = 0;  // more for each other node
  double row_ns = 0;       // at least, for each row sent: where the host posts every message
};

// A library's kernels send a row once to each rank (inside a node) or node that holds some of its
// experts; NCCL's exchanges send it once to each expert. Rates count what each rank receives,
// its own rows included where `per_rank` is in the name.
struct DispatcherRecord {
  Dispatcher dispatcher = Dispatcher::kAllToAll;
  std::string_view name;              // short, such as "deepep"
  std::string_view title;             // for people
  bool nccl = true;                   // NCCL's collectives; the fields below are of other kernels
  double link_efficiency = 0;         // share of the scale-up link
  double bytes_per_ns_per_rank = 0;   // most that its processors move in a node
  double forwarded_bytes_per_ns = 0;  // per rank, if rows also come from other nodes
  double startup_ns = 0;              // of one exchange in a node
  NetworkRates rdma, efa;             // InfiniBand or RoCE; AWS's Elastic Fabric Adapter
  std::string_view source;
};

// Returns all dispatchers, in the order of their values.
std::span<const DispatcherRecord> Dispatchers();

// REQUIRES: not kLeastTime.
const DispatcherRecord& RecordOf(Dispatcher dispatcher);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_TRAINER_DISPATCHER_H_
