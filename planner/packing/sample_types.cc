#include "planner/packing/sample_types.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace evenkeel::planner {
namespace {

constexpr int kDigitBits = 16;
constexpr size_t kDigits = size_t{1} << kDigitBits;

int64_t Largest(std::span<const int32_t> values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

}  // namespace

// Radix sort of the key units * (longest + 1) + tokens, lowest digit first. With usual numbers of
// tiles and lengths, the key has one or two digits.
SortedSamples SortByType(const Lengths& lengths, const Stop& stop) {
  const size_t n = lengths.size();
  const uint64_t stride = static_cast<uint64_t>(Largest(lengths.tokens)) + 1;
  const uint64_t top = static_cast<uint64_t>(Largest(lengths.units)) * stride + stride - 1;
  const auto key = [&](size_t i) {
    return static_cast<uint64_t>(lengths.units[i]) * stride +
           static_cast<uint64_t>(lengths.tokens[i]);
  };
  SortedSamples sorted;
  std::vector<uint32_t> scratch;
  std::vector<uint32_t> begin(kDigits + 1);
  for (int shift = 0; shift == 0 || (top >> shift) > 0; shift += kDigitBits) {
    const auto digit = [&](size_t i) { return (key(i) >> shift) % kDigits; };
    stop.Spend(static_cast<int64_t>(20 * n));
    std::fill(begin.begin(), begin.end(), 0);
    for (size_t i = 0; i < n; ++i) ++begin[digit(i) + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    scratch.resize(n);
    if (shift == 0) {
      for (size_t i = 0; i < n; ++i) scratch[begin[digit(i)]++] = static_cast<uint32_t>(i);
    } else {
      for (const uint32_t i : sorted.order) scratch[begin[digit(i)]++] = i;
    }
    std::swap(sorted.order, scratch);
  }
  stop.Spend(static_cast<int64_t>(20 * n));
  for (const uint32_t i : sorted.order) {
    SampleTypes& types = sorted.types;
    if (types.empty() || types.back().tokens != lengths.tokens[i] ||
        types.back().units != lengths.units[i])
      types.push_back({lengths.units[i], lengths.tokens[i], 0});
    ++types.back().count;
  }
  return sorted;
}

}  // namespace evenkeel::planner
