// The figures by which publications compare partitions (OmniBal, arXiv 2407.20761, table 4).
#ifndef EVENKEEL_TESTS_BASELINES_PARTITION_METRICS_H_
#define EVENKEEL_TESTS_BASELINES_PARTITION_METRICS_H_

#include <cstdint>
#include <vector>

#include "planner/partition/segments.h"

namespace evenkeel::planner {

// Traffic, and variances over the stages (divided by P, not P - 1).
struct PartitionMetrics {
  // Variance of the parameters of a whole stage (all tensor ranks), in billions.
  double parameters_variance = 0;
  double layers_variance = 0;   // of transformer layers
  double forward_variance = 0;  // in ms, for the mean pack
  int64_t crossing_bytes = 0;   // one mean pack over all boundaries, per rank
};
PartitionMetrics MetricsOf(const Segments& segments, const std::vector<int64_t>& boundaries);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_TESTS_BASELINES_PARTITION_METRICS_H_
