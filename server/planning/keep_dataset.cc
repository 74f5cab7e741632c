#include "server/planning/keep_dataset.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "planner/job.h"
#include "planner/packing/sample_types.h"
#include "server/convert/dataset/histogram_bytes.h"
#include "server/convert/dataset/histogram_from_proto.h"
#include "server/planning/fingerprint.h"

namespace evenkeel::server {

KeptDataset KeepDataset(const planner::Lengths& lengths) {
  const size_t encoders = std::max<size_t>(1, lengths.encoders());
  std::vector<planner::LengthBin> bins;
  if (encoders == 1) {
    for (const planner::SampleType& type : planner::SortByType(lengths).types)
      bins.push_back({.units = type.units, .llm_tokens = type.tokens, .count = type.count});
  } else {
    for (size_t i = 0; i < lengths.size(); ++i)
      bins.push_back({.units = lengths.UnitsOf(i), .llm_tokens = lengths.tokens[i], .count = 1});
    NormalizeBins(&bins);
  }
  std::string bytes = HistogramBytes(bins, encoders);
  return {.ref = DatasetRef(BinsOf(bytes).value()), .bytes = std::move(bytes)};
}

bool IsKeptDataset(std::string_view ref, const std::string& bytes) {
  const std::optional<std::vector<planner::LengthBin>> bins = BinsOf(bytes);
  return bins && DatasetRef(*bins) == ref;
}

}  // namespace evenkeel::server
