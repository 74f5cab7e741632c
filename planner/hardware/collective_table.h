// Measured times of NCCL collectives inside one node: docs/COST_MODEL.md, section 3.
#ifndef EVENKEEL_PLANNER_HARDWARE_COLLECTIVE_TABLE_H_
#define EVENKEEL_PLANNER_HARDWARE_COLLECTIVE_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace evenkeel::planner {

// kSendReceive, from each rank to the next, has no table: it is only ever measured.
enum class Collective { kAllGather, kReduceScatter, kAllReduce, kAllToAll, kSendReceive };

struct CollectiveTable {
  static constexpr std::array<double, 6> kBytes = {65536.0,    1048576.0,  4194304.0,
                                                   16777216.0, 67108864.0, 536870912.0};
  static constexpr std::array<int64_t, 3> kRanks = {2, 4, 8};

  double link_bytes_per_second = 0;  // per GPU and direction, in the measured node
  // Microseconds, by [Collective][index of kRanks][index of kBytes].
  std::array<std::array<std::array<double, 6>, 3>, 4> us = {};

  // REQUIRES: `op` is not kSendReceive. Returns the time of `op` in nanoseconds over `ranks` >= 2
  // GPUs of a node whose link has `bytes_per_second`. `bytes` counts as in nccl-tests: the bytes
  // that an all-gather gathers, that a reduce-scatter or all-reduce reduces, or that one rank sends
  // in an all-to-all. The time is linear between the table's sizes and ranks. Beyond 8 ranks, the
  // bytes that a ring puts on each link and its latency keep growing.
  double Time(Collective op, int64_t ranks, double bytes, double bytes_per_second) const;

 private:
  double TimeAt(Collective op, std::size_t ranks_index, double bytes,
                double bytes_per_second) const;
};

const CollectiveTable& A100Collectives();
const CollectiveTable& H100Collectives();
const CollectiveTable& B200Collectives();
const CollectiveTable& L40sCollectives();  // over PCIe and the host, which is slow from 4 GPUs on
const CollectiveTable& PcieCollectives();  // over PCIe, elsewhere

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_HARDWARE_COLLECTIVE_TABLE_H_
