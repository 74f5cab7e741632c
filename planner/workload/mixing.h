// Datasets that are mixed by weights: how many samples of each an epoch has.
#ifndef EVENKEEL_PLANNER_WORKLOAD_MIXING_H_
#define EVENKEEL_PLANNER_WORKLOAD_MIXING_H_

#include <cstdint>
#include <vector>

#include "planner/workload/dataset.h"

namespace evenkeel::planner {

// Weights and shares are taken as multiples of this, so that counts follow from integers.
inline constexpr double kWeightUnit = 1.0 / (int64_t{1} << 40);

// Both functions scale the counts of a part by one ratio: from the longest sample down, the samples
// so far become their number times the ratio, rounded up. So the longest sample stays, the total is
// rounded up once, and whole ratios are exact. Bins that come to no sample are left out.

// Returns the bins of a part through which an epoch goes `weight` times.
std::vector<LengthBin> Repeated(const std::vector<LengthBin>& bins, double weight);

// Returns the bins of parts of which an epoch has these shares and as many samples as all parts
// hold together. Every part has at least one sample.
std::vector<std::vector<LengthBin>> Shared(const std::vector<std::vector<LengthBin>>& parts,
                                           const std::vector<double>& shares);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_WORKLOAD_MIXING_H_
