// Finds datasets that were uploaded before.
#ifndef EVENKEEL_SERVER_BASE_DATASET_SOURCE_H_
#define EVENKEEL_SERVER_BASE_DATASET_SOURCE_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace evenkeel::server {

using DatasetBytes = std::shared_ptr<const std::string>;  // a serialised v1::Histogram

// Returns nullptr if the dataset is unknown.
using DatasetSource = std::function<DatasetBytes(std::string_view dataset_ref)>;

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_BASE_DATASET_SOURCE_H_
