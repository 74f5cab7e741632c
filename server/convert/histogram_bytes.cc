#include "server/convert/histogram_bytes.h"

#include "server/convert/bin_lengths.h"
#include "server/convert/histogram_from_proto.h"

namespace evenkeel::server {

std::string HistogramBytes(const std::vector<planner::LengthBin>& sorted) {
  return BinLengths(sorted).histogram.SerializeAsString();
}

std::optional<std::vector<planner::LengthBin>> BinsOf(const std::string& bytes) {
  v1::Histogram histogram;
  const auto is_of = [&](const auto& values) {
    return values.empty() || values.size() == histogram.sample_count_size();
  };
  const bool good = histogram.ParseFromString(bytes) && histogram.sample_count_size() > 0 &&
                    is_of(histogram.units()) &&
                    histogram.llm_tokens_size() == histogram.sample_count_size() &&
                    histogram.SerializeAsString() == bytes;
  if (!good) return std::nullopt;
  std::vector<planner::LengthBin> bins;
  for (int i = 0; i < histogram.sample_count_size(); ++i) {
    bins.push_back({.units = histogram.units().empty() ? 0 : histogram.units(i),
                    .llm_tokens = histogram.llm_tokens(i),
                    .count = histogram.sample_count(i)});
  }
  NormalizeBins(&bins);
  return bins;
}

}  // namespace evenkeel::server
