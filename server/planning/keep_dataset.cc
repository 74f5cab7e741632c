#include "server/planning/keep_dataset.h"

#include <optional>
#include <utility>
#include <vector>

#include "planner/job.h"
#include "planner/packing/sample_types.h"
#include "server/convert/histogram_bytes.h"
#include "server/planning/fingerprint.h"

namespace evenkeel::server {

KeptDataset KeepDataset(const planner::Lengths& lengths) {
  std::vector<planner::LengthBin> bins;
  for (const planner::SampleType& type : planner::SortByType(lengths).types) {
    bins.push_back({.units = type.units, .llm_tokens = type.tokens, .count = type.count});
  }
  std::string bytes = HistogramBytes(bins);
  return {.ref = DatasetRef(BinsOf(bytes).value()), .bytes = std::move(bytes)};
}

bool IsKeptDataset(std::string_view ref, const std::string& bytes) {
  const std::optional<std::vector<planner::LengthBin>> bins = BinsOf(bytes);
  return bins && DatasetRef(*bins) == ref;
}

}  // namespace evenkeel::server
