// What an upload leaves behind for PlanJob: its histogram, and the reference to it.
#ifndef EVENKEEL_SERVER_CONVERT_KEEP_DATASET_H_
#define EVENKEEL_SERVER_CONVERT_KEEP_DATASET_H_

#include <string>
#include <string_view>

#include "planner/packing/packing.h"

namespace evenkeel::server {

struct KeptDataset {
  std::string ref;    // DatasetRef of the bins
  std::string bytes;  // a serialised v1::Histogram, accepted by PlanJob
};

// Of at least one sample. Does not depend on their order.
KeptDataset KeepDataset(const planner::Lengths& lengths);

// Whether `bytes` are what KeepDataset made under that reference, and nothing else.
bool IsKeptDataset(std::string_view ref, const std::string& bytes);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_KEEP_DATASET_H_
