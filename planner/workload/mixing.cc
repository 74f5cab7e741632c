#include "planner/workload/mixing.h"

#include <algorithm>
#include <tuple>

#include "planner/base/integers.h"

namespace evenkeel::planner {
namespace {

Wide UnitsOfWeight(double weight) { return std::max<int64_t>(1, Nearest(weight / kWeightUnit)); }

int64_t CountOf(const std::vector<LengthBin>& bins) {
  int64_t count = 0;
  for (const LengthBin& bin : bins) count += bin.count;
  return count;
}

std::vector<LengthBin> Scaled(std::vector<LengthBin> bins, Wide numerator, Wide denominator) {
  const auto key = [](const LengthBin& bin) {
    return std::tie(bin.llm_tokens, bin.units.values());
  };
  std::sort(bins.begin(), bins.end(),
            [&](const LengthBin& a, const LengthBin& b) { return key(a) > key(b); });
  const auto up_to = [&](int64_t samples) {
    return static_cast<int64_t>((samples * numerator + denominator - 1) / denominator);
  };
  int64_t before = 0;
  std::vector<LengthBin> scaled;
  for (LengthBin bin : bins) {
    const int64_t after = before + bin.count;
    bin.count = up_to(after) - up_to(before);
    before = after;
    if (bin.count > 0) scaled.push_back(bin);
  }
  return scaled;
}

}  // namespace

std::vector<LengthBin> Repeated(const std::vector<LengthBin>& bins, double weight) {
  return Scaled(bins, UnitsOfWeight(weight), UnitsOfWeight(1));
}

std::vector<std::vector<LengthBin>> Shared(const std::vector<std::vector<LengthBin>>& parts,
                                           const std::vector<double>& shares) {
  Wide samples = 0, all = 0, so_far = 0;
  for (const std::vector<LengthBin>& part : parts) samples += CountOf(part);
  for (const double share : shares) all += UnitsOfWeight(share);
  std::vector<std::vector<LengthBin>> mixed;
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto up_to_here = [&] { return (2 * samples * so_far + all) / (2 * all); };
    const Wide before = up_to_here();
    so_far += UnitsOfWeight(shares[i]);
    const Wide of_part = std::max(Wide{1}, up_to_here() - before);
    mixed.push_back(Scaled(parts[i], of_part, CountOf(parts[i])));
  }
  return mixed;
}

}  // namespace evenkeel::planner
