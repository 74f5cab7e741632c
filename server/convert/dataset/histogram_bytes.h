// The histogram of an upload, as bytes that PlanJob accepts.
#ifndef EVENKEEL_SERVER_CONVERT_DATASET_HISTOGRAM_BYTES_H_
#define EVENKEEL_SERVER_CONVERT_DATASET_HISTOGRAM_BYTES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "planner/job.h"

namespace evenkeel::server {

// Returns the serialised v1::Histogram of BinLengths. `sorted` has distinct lengths, ascending.
std::string HistogramBytes(const std::vector<planner::LengthBin>& sorted, size_t encoders = 1);

// Returns the bins, sorted and merged as in a job. Returns nullopt if HistogramBytes cannot have
// made the bytes.
std::optional<std::vector<planner::LengthBin>> BinsOf(const std::string& bytes);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_DATASET_HISTOGRAM_BYTES_H_
