// The parts of an upload that PlanJob can use: its histogram, and a reference to it.
#ifndef EVENKEEL_SERVER_PLANNING_KEEP_DATASET_H_
#define EVENKEEL_SERVER_PLANNING_KEEP_DATASET_H_

#include <string>
#include <string_view>

#include "planner/packing/packing.h"

namespace evenkeel::server {

struct KeptDataset {
  std::string ref;    // DatasetRef of the bins
  std::string bytes;  // a serialised v1::Histogram that PlanJob accepts
};

// Makes the dataset. Requires at least one sample. The result does not depend on the order of the
// samples.
KeptDataset KeepDataset(const planner::Lengths& lengths);

// Returns true if `bytes` are exactly those that KeepDataset made under that reference.
bool IsKeptDataset(std::string_view ref, const std::string& bytes);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_PLANNING_KEEP_DATASET_H_
