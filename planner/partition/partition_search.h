// Exact stage partition for the closed form of a 1F1B step: (m - 1) max_s T_s + sum_s T_s.
#ifndef EVENKEEL_PLANNER_PARTITION_PARTITION_SEARCH_H_
#define EVENKEEL_PLANNER_PARTITION_PARTITION_SEARCH_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "planner/base/stop.h"
#include "planner/partition/segment_table.h"

namespace evenkeel::planner {

struct Partition {
  std::vector<int64_t> boundaries;  // P + 1 chain positions
  int64_t slowest_ns = 0;           // max_s T_s
  int64_t sum_ns = 0;               // sum_s T_s
  int64_t closed_form_ns = 0;       // (m - 1) slowest + sum
};

struct PartitionSearchResult {
  std::optional<Partition> best;  // least closed form of all partitions; nullopt if none fits
  int64_t states = 0;             // (stage, boundary, cut) triples examined
  bool stopped = false;           // `stop` ended the work; `best` is not valid
};

// Returns the partition of least closed form. Proof of optimality: let S be a lower bound on the
// sum of every partition (the work without recompute and p2p). A partition better than an incumbent
// of value v has a bottleneck B with (m - 1) B + S < v. B is lowered from that limit: each pass
// finds the least sum under the bottleneck and the next B below it, until nothing fits. Each
// skipped partition has at least that sum and no smaller bottleneck. Among equal closed forms, the
// quicker bottleneck wins, because it waits less for the spread of packs.
PartitionSearchResult FindPartition(const SegmentTable& table, int64_t micro_batches,
                                    const Stop& stop);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PARTITION_PARTITION_SEARCH_H_
