// Published ways to cut a pipeline, by name, for comparison. Each gives boundaries; every stage
// then takes its least recompute under the job's policy.
#ifndef EVENKEEL_PLANNER_PARTITION_METHODS_H_
#define EVENKEEL_PLANNER_PARTITION_METHODS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "planner/base/stop.h"
#include "planner/partition/segment_table.h"

namespace evenkeel::planner {

// Returns the boundaries by a method, P + 1 chain positions. kExact is CertifyPartition; kBmp is
// BmpPartition; kParameters, kLayers and kLayersLast are the splits below; kWeights is
// LayersByWeights; kProfile makes the slowest stage, or send, as quick as possible (PipeDream,
// arXiv 1806.03377, section 3.2).
//
// The splits and kWeights ignore memory. The others return only boundaries that fit, and an empty
// vector if none do or if `stop` ends the work. REQUIRES: no more stages than transformer layers.
std::vector<int64_t> PartitionBy(PartitionMethod method, const SegmentTable& table,
                                 const Stop& stop);

// Returns the cuts that the method would consider if all fitted: at most one for a split or
// kWeights, all moved ones for kBmp, and none for kExact and kProfile, which consider every cut.
std::vector<std::vector<int64_t>> CutsNamed(PartitionMethod method, const SegmentTable& table);

// Balanced model partitioning (OmniBal, arXiv 2407.20761, section 3.3). It starts from an anchor,
// which is greedy at equal forward time, and moves each of its P - 1 boundaries by up to `radius`.
// Candidates are ranked by the variance of the stages' forward times plus the bytes that cross
// boundaries; the best `runs` are simulated, and the fastest is kept. As in the publication, the
// sum adds ms^2 and MB as they are in the paper's table 4, with equal weight. The publication runs
// 10 to 15 of 27 candidates (P = 4, radius 1).
struct BmpSettings {
  int64_t radius = 1;
  int64_t runs = 15;
};
// `run` returns the time of a step with the given boundaries, in ns; by default, with mean packs.
std::vector<int64_t> BmpPartition(
    const SegmentTable& table, const BmpSettings& settings,
    const std::function<int64_t(const std::vector<int64_t>&)>& run = nullptr,
    const Stop& stop = {});

// Returns boundaries of stages with numbers of transformer layers as equal as possible. `longer`
// says which stages take the remainder. Ignores memory. REQUIRES: no more stages than transformer
// layers.
enum class Longer { kFirst, kLast };
std::vector<int64_t> SplitByLayers(const LayerProfile& profile, int64_t stages,
                                   Longer longer = Longer::kFirst);

// Returns boundaries of stages with numbers of parameters as equal as a greedy cut makes them, as
// frameworks do by default: the start of an unbalanced run. Ignores memory.
std::vector<int64_t> SplitByParameters(const LayerProfile& profile, int64_t stages);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PARTITION_METHODS_H_
