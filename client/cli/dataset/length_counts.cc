#include "client/cli/dataset/length_counts.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace evenkeel::cli {
namespace {

LengthSummary Summarize(const std::map<int64_t, int64_t>& counts,
                        const std::vector<double>& percentiles) {
  LengthSummary summary;
  summary.min = counts.begin()->first;
  summary.max = counts.rbegin()->first;
  int64_t samples = 0;
  double sum = 0;
  for (const auto& [value, count] : counts) {
    samples += count;
    sum += static_cast<double>(value) * static_cast<double>(count);
  }
  summary.mean = sum / static_cast<double>(samples);
  for (const double percent : percentiles) {
    const double exact = std::ceil(percent / 100 * static_cast<double>(samples));
    const int64_t rank = std::clamp<int64_t>(static_cast<int64_t>(exact), 1, samples);
    int64_t seen = 0;
    for (const auto& [value, count] : counts) {
      seen += count;
      if (seen < rank) continue;
      summary.percentiles.push_back(value);
      break;
    }
  }
  return summary;
}

}  // namespace

std::vector<LengthCount> LengthCounts::Sorted() const {
  std::vector<LengthCount> sorted;
  sorted.reserve(counts_.size());
  for (const auto& [key, count] : counts_) {
    LengthCount& length = sorted.emplace_back();
    for (size_t e = 0; e < planner::kEncodersAtMost; ++e) length.units[e] = key[e + 1];
    length.tokens = key[0];
    length.count = count;
  }
  std::sort(sorted.begin(), sorted.end(), [](const LengthCount& a, const LengthCount& b) {
    return a.units != b.units ? a.units.values() < b.units.values() : a.tokens < b.tokens;
  });
  return sorted;
}

LengthSummary SummarizeUnits(const std::vector<LengthCount>& sorted,
                             const std::vector<double>& percentiles, size_t encoder) {
  std::map<int64_t, int64_t> counts;
  for (const LengthCount& bin : sorted) counts[bin.units[encoder]] += bin.count;
  return Summarize(counts, percentiles);
}

LengthSummary SummarizeTokens(const std::vector<LengthCount>& sorted,
                              const std::vector<double>& percentiles) {
  std::map<int64_t, int64_t> counts;
  for (const LengthCount& bin : sorted) counts[bin.tokens] += bin.count;
  return Summarize(counts, percentiles);
}

}  // namespace evenkeel::cli
