// Ways to cut a pipeline that are in use, by name, to compare with: each gives boundaries, and
// every stage then takes its least recompute under the job's policy.
#ifndef EVENKEEL_PLANNER_PARTITION_METHODS_H_
#define EVENKEEL_PLANNER_PARTITION_METHODS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "planner/base/stop.h"
#include "planner/partition/segment_table.h"

namespace evenkeel::planner {

// kExact is CertifyPartition; kBmp is BmpPartition; kParameters and kLayers are SplitByParameters
// and SplitByLayers; kProfile makes the slowest stage, or send, as quick as can be (PipeDream,
// arXiv 1806.03377, section 3.2).
//
// P + 1 chain positions. kParameters and kLayers do not look at memory; the others give only what
// fits: empty where nothing does, or where `stop` says so. REQUIRES no more stages than transformer
// layers.
std::vector<int64_t> PartitionBy(PartitionMethod method, const SegmentTable& table,
                                 const Stop& stop);

// The cuts that the method would take if all fitted, as far as it names them: one of kParameters
// and kLayers, all jittered ones of kBmp. None of kExact and kProfile, which look at every cut.
std::vector<std::vector<int64_t>> CutsNamed(PartitionMethod method, const SegmentTable& table);

// Balanced model partitioning (OmniBal, arXiv 2407.20761, section 3.3): an anchor, greedy at equal
// forward time, each of whose P - 1 boundaries moves by up to `radius`; candidates ranked by the
// variance of the stages' forward times plus the bytes that cross boundaries; the best `runs`
// simulated, the fastest kept. The published sum adds ms^2 and MB as they stand in the paper's
// table 4, so that one counts as much as the other; so it does here. The published runs are 10 to
// 15 of 27 candidates (P = 4, radius 1).
struct BmpSettings {
  int64_t radius = 1;
  int64_t runs = 15;
};
// `run` gives the time of a step with given boundaries, ns; unset: with mean packs.
std::vector<int64_t> BmpPartition(
    const SegmentTable& table, const BmpSettings& settings,
    const std::function<int64_t(const std::vector<int64_t>&)>& run = nullptr,
    const Stop& stop = {});

// Stages as equal as they come in transformer layers. REQUIRES no more stages than those. Memory is
// not looked at.
std::vector<int64_t> SplitByLayers(const LayerProfile& profile, int64_t stages);

// The start that an unbalanced run would take: stages as equal as they come in parameters (greedy,
// as frameworks do by default). Memory is not looked at.
std::vector<int64_t> SplitByParameters(const LayerProfile& profile, int64_t stages);

// What the paper's table 4 reports of a partition: variances over the stages (of all P, not P - 1),
// and traffic.
struct PartitionMetrics {
  double parameters_variance = 0;  // of 1e9 parameters of the whole stage, all tensor ranks
  double layers_variance = 0;      // of transformer layers
  double forward_variance = 0;     // of ms, mean pack
  int64_t crossing_bytes = 0;      // of one mean pack over all boundaries, per rank
};
PartitionMetrics MetricsOf(const Segments& segments, const std::vector<int64_t>& boundaries);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PARTITION_METHODS_H_
