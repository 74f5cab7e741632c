// Exact stage partition for the closed form of a 1F1B step: (m - 1) max_s T_s + sum_s T_s.
#ifndef EVENKEEL_PLANNER_PARTITION_PARTITION_SEARCH_H_
#define EVENKEEL_PLANNER_PARTITION_PARTITION_SEARCH_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "planner/partition/segment_table.h"

namespace evenkeel::planner {

struct Partition {
  std::vector<int64_t> boundaries;  // P + 1 chain positions
  int64_t slowest_ns = 0;           // max_s T_s
  int64_t sum_ns = 0;               // sum_s T_s
  int64_t closed_form_ns = 0;       // (m - 1) slowest + sum
};

struct PartitionSearch {
  int64_t pipeline_bound_ns = 0;  // no 1F1B of any partition is faster, mean packs; data sync apart
  std::optional<Partition> best;  // the least closed form of all partitions; nullopt: none fits
  int64_t states = 0;             // (stage, boundary, cut) triples examined
  bool stopped = false;           // `stop` said so; `best` means nothing
};

// Proof of optimality. Let S1 be the least sum and B* the least bottleneck. A partition better than
// an incumbent of value v has a bottleneck B with (m - 1) B + S1 < v and B >= B*. Walking B down
// from that limit, each pass finds the least sum under the bottleneck and the next B below it: what
// is skipped has a larger sum and no smaller bottleneck.
PartitionSearch FindPartition(const SegmentTable& table, int64_t micro_batches,
                              const std::function<bool()>& stop);

// Stages as equal as they come in transformer layers. REQUIRES no more stages than those. Memory is
// not looked at.
std::vector<int64_t> SplitByLayers(const LayerProfile& profile, int64_t stages);

// The start that an unbalanced run would take: stages as equal as they come in parameters (greedy,
// as frameworks do by default). Memory is not looked at.
std::vector<int64_t> SplitByParameters(const LayerProfile& profile, int64_t stages);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PARTITION_PARTITION_SEARCH_H_
