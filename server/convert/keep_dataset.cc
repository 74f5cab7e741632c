#include "server/convert/keep_dataset.h"

#include <vector>

#include "planner/job.h"
#include "planner/packing/sample_types.h"
#include "server/convert/bin_lengths.h"
#include "server/convert/fingerprint.h"
#include "server/convert/histogram_from_proto.h"

namespace evenkeel::server {
namespace {

std::string RefOf(const v1::Histogram& histogram) {
  std::vector<planner::LengthBin> bins;
  for (int i = 0; i < histogram.sample_count_size(); ++i) {
    bins.push_back({.units = histogram.units().empty() ? 0 : histogram.units(i),
                    .llm_tokens = histogram.llm_tokens(i),
                    .count = histogram.sample_count(i)});
  }
  NormalizeBins(&bins);
  return DatasetRef(bins);
}

}  // namespace

KeptDataset KeepDataset(const planner::Lengths& lengths) {
  std::vector<planner::LengthBin> bins;
  for (const planner::SampleType& type : planner::SortByType(lengths).types) {
    bins.push_back({.units = type.units, .llm_tokens = type.tokens, .count = type.count});
  }
  const v1::Histogram histogram = BinLengths(bins).histogram;
  return {.ref = RefOf(histogram), .bytes = histogram.SerializeAsString()};
}

bool IsKeptDataset(std::string_view ref, const std::string& bytes) {
  v1::Histogram histogram;
  const auto is_of = [&](const auto& values) {
    return values.empty() || values.size() == histogram.sample_count_size();
  };
  return histogram.ParseFromString(bytes) && histogram.sample_count_size() > 0 &&
         is_of(histogram.units()) && histogram.llm_tokens_size() == histogram.sample_count_size() &&
         RefOf(histogram) == ref && histogram.SerializeAsString() == bytes;
}

}  // namespace evenkeel::server
