#include "server/convert/dataset/bin_lengths.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace evenkeel::server {
namespace {

// Unsigned, because 10^12 samples of 2^24 tokens are just below 2^64.
struct Sums {
  planner::PerEncoder<uint64_t> units;
  uint64_t tokens = 0, count = 0;
};

// The bins of a sample's lengths.
using Key = std::pair<std::array<int64_t, planner::kEncodersAtMost>, int64_t>;

// Returns an empty histogram if there are too many bins to fit: each takes at least two bytes.
v1::Histogram Bin(const std::vector<planner::LengthBin>& sorted, int64_t unit_width,
                  int64_t token_width, int64_t max_bytes, size_t least_encoders) {
  std::map<Key, Sums> bins;
  for (const planner::LengthBin& bin : sorted) {
    Sums& sums = bins[{(bin.units / unit_width).values(), bin.llm_tokens / token_width}];
    const uint64_t count = static_cast<uint64_t>(bin.count);
    sums.units += bin.units.As<uint64_t>() * count;
    sums.tokens += static_cast<uint64_t>(bin.llm_tokens) * count;
    sums.count += count;
    if (2 * static_cast<int64_t>(bins.size()) > max_bytes) return {};
  }
  v1::Histogram histogram;
  size_t encoders = 0;
  for (const auto& [key, sums] : bins)
    for (size_t e = encoders; e < planner::kEncodersAtMost; ++e)
      if (sums.units[e] > 0) encoders = e + 1;
  if (least_encoders > 1) encoders = std::max(encoders, least_encoders);
  if (encoders > 1) histogram.set_encoder_count(static_cast<int32_t>(encoders));
  for (const auto& [key, sums] : bins) {
    const uint64_t up = unit_width > 1 ? sums.count - 1 : sums.count / 2;
    for (size_t e = 0; e < encoders; ++e)
      histogram.add_units(static_cast<int64_t>(sums.units[e] / sums.count));
    histogram.add_llm_tokens(static_cast<int64_t>((sums.tokens + up) / sums.count));
    histogram.add_sample_count(static_cast<int64_t>(sums.count));
  }
  return histogram;
}

}  // namespace

BinnedLengths BinLengths(const std::vector<planner::LengthBin>& sorted, int64_t max_bytes,
                         size_t encoders) {
  BinnedLengths result;
  result.distinct = static_cast<int64_t>(sorted.size());
  const auto fits = [&](int64_t unit_width, int64_t token_width) {
    result.histogram = Bin(sorted, unit_width, token_width, max_bytes, encoders);
    result.unit_width = unit_width;
    result.token_width = token_width;
    result.bytes = static_cast<int64_t>(result.histogram.ByteSizeLong());
    return result.bytes < max_bytes && (result.bytes > 0 || sorted.empty());
  };
  for (int64_t unit_width = 1; unit_width <= 2 * planner::kMaxSampleUnits; unit_width *= 2) {
    for (int64_t token_width = 1; token_width <= 4096; token_width *= 2) {
      if (fits(unit_width, token_width)) return result;
      if (token_width > 1 && fits(unit_width, token_width / 2 * 3)) return result;
    }
  }
  return result;  // 4096 bins of tokens alone are below 64 KiB; only a smaller `max_bytes` gets
                  // here
}

}  // namespace evenkeel::server
