#include "server/convert/dataset/histogram_bytes.h"

#include <algorithm>

#include "server/convert/checks.h"
#include "server/convert/dataset/bin_lengths.h"
#include "server/convert/dataset/histogram_from_proto.h"

namespace evenkeel::server {

std::string HistogramBytes(const std::vector<planner::LengthBin>& sorted, size_t encoders) {
  return BinLengths(sorted, kMaxHistogramBytes, encoders).histogram.SerializeAsString();
}

std::optional<std::vector<planner::LengthBin>> BinsOf(const std::string& bytes) {
  v1::Histogram histogram;
  const auto has_units = [&] {
    const int64_t encoders = std::max(1, histogram.encoder_count());
    return histogram.encoder_count() >= 0 && encoders <= kMaxEncoders &&
           (histogram.units().empty() ||
            histogram.units_size() == encoders * histogram.sample_count_size());
  };
  const bool good = histogram.ParseFromString(bytes) && histogram.sample_count_size() > 0 &&
                    has_units() && histogram.llm_tokens_size() == histogram.sample_count_size() &&
                    histogram.SerializeAsString() == bytes;
  if (!good) return std::nullopt;
  std::vector<planner::LengthBin> bins;
  for (int i = 0; i < histogram.sample_count_size(); ++i) {
    bins.push_back({.units = UnitsOfBin(histogram, i),
                    .llm_tokens = histogram.llm_tokens(i),
                    .count = histogram.sample_count(i)});
  }
  NormalizeBins(&bins);
  return bins;
}

}  // namespace evenkeel::server
