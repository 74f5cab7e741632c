#include "server/convert/bin_lengths.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace evenkeel::server {
namespace {

constexpr int64_t kMaxUnits = 1'000'000;

// Unsigned, because 10^12 samples of 2^24 tokens are just below 2^64.
struct Sums {
  uint64_t units = 0, tokens = 0, count = 0;
};

// Returns an empty histogram if there are too many bins to fit: each takes at least two bytes.
v1::Histogram Bin(const std::vector<planner::LengthBin>& sorted, int64_t unit_width,
                  int64_t token_width, int64_t max_bytes) {
  std::map<std::pair<int64_t, int64_t>, Sums> bins;
  for (const planner::LengthBin& bin : sorted) {
    Sums& sums = bins[{bin.units / unit_width, bin.llm_tokens / token_width}];
    const uint64_t count = static_cast<uint64_t>(bin.count);
    sums.units += static_cast<uint64_t>(bin.units) * count;
    sums.tokens += static_cast<uint64_t>(bin.llm_tokens) * count;
    sums.count += count;
    if (2 * static_cast<int64_t>(bins.size()) > max_bytes) return {};
  }
  v1::Histogram histogram;
  bool has_units = false;
  for (const auto& [key, sums] : bins) has_units = has_units || sums.units > 0;
  for (const auto& [key, sums] : bins) {
    const uint64_t up = unit_width > 1 ? sums.count - 1 : sums.count / 2;
    if (has_units) histogram.add_units(static_cast<int64_t>(sums.units / sums.count));
    histogram.add_llm_tokens(static_cast<int64_t>((sums.tokens + up) / sums.count));
    histogram.add_sample_count(static_cast<int64_t>(sums.count));
  }
  return histogram;
}

}  // namespace

BinnedLengths BinLengths(const std::vector<planner::LengthBin>& sorted, int64_t max_bytes) {
  BinnedLengths result;
  result.distinct = static_cast<int64_t>(sorted.size());
  const auto fits = [&](int64_t unit_width, int64_t token_width) {
    result.histogram = Bin(sorted, unit_width, token_width, max_bytes);
    result.unit_width = unit_width;
    result.token_width = token_width;
    result.bytes = static_cast<int64_t>(result.histogram.ByteSizeLong());
    return result.bytes < max_bytes && (result.bytes > 0 || sorted.empty());
  };
  for (int64_t unit_width = 1; unit_width <= 2 * kMaxUnits; unit_width *= 2) {
    for (int64_t token_width = 1; token_width <= 4096; token_width *= 2) {
      if (fits(unit_width, token_width)) return result;
      if (token_width > 1 && fits(unit_width, token_width / 2 * 3)) return result;
    }
  }
  return result;  // 4096 bins of tokens alone are below 64 KiB; only a smaller `max_bytes` gets
                  // here
}

}  // namespace evenkeel::server
