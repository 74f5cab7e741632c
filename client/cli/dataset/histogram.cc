#include "client/cli/dataset/histogram.h"

#include <fmt/format.h>

#include "client/cli/base/text.h"

namespace evenkeel::cli {

std::string BinnedHistogram::Describe() const {
  const int bins = histogram.sample_count_size();
  const std::string size = Integer(bytes) + " bytes";
  if (exact()) return fmt::format("exact: {} distinct lengths, {}", Integer(bins), size);
  std::string text = fmt::format("{} distinct lengths in {} bins {} tokens wide", Integer(distinct),
                                 Integer(bins), Integer(token_width));
  if (unit_width > 1) text += fmt::format(" and {} units wide", Integer(unit_width));
  return text + " (each stands for its mean length), " + size;
}

BinnedHistogram BinLengths(const std::vector<LengthCount>& sorted, int64_t max_bytes,
                           size_t encoders) {
  std::vector<planner::LengthBin> bins;
  bins.reserve(sorted.size());
  for (const LengthCount& length : sorted) {
    bins.push_back({.units = length.units, .llm_tokens = length.tokens, .count = length.count});
  }
  return {server::BinLengths(bins, max_bytes, encoders)};
}

}  // namespace evenkeel::cli
