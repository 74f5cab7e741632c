#include "server/convert/keep_dataset.h"

#include <vector>

#include "planner/job.h"
#include "planner/packing/sample_types.h"
#include "server/convert/bin_lengths.h"
#include "server/convert/fingerprint.h"
#include "server/convert/histogram_from_proto.h"

namespace evenkeel::server {

KeptDataset KeepDataset(const planner::Lengths& lengths) {
  std::vector<planner::LengthBin> bins;
  for (const planner::SampleType& type : planner::SortByType(lengths).types) {
    bins.push_back({.units = type.units, .llm_tokens = type.tokens, .count = type.count});
  }
  const v1::Histogram histogram = BinLengths(bins).histogram;
  bins.clear();
  for (int i = 0; i < histogram.sample_count_size(); ++i) {
    bins.push_back({.units = histogram.units().empty() ? 0 : histogram.units(i),
                    .llm_tokens = histogram.llm_tokens(i),
                    .count = histogram.sample_count(i)});
  }
  NormalizeBins(&bins);
  return {.ref = DatasetRef(bins), .bytes = histogram.SerializeAsString()};
}

}  // namespace evenkeel::server
