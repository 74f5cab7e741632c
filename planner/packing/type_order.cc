#include "planner/packing/type_order.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace evenkeel::planner {

std::vector<size_t> OrderTypes(const SampleTypes& types, const Caps& caps, TypeOrder order,
                               const Stop& stop) {
  const auto share = [&](const SampleType& type) {
    if (order == TypeOrder::kTokens) return int64_t{0};
    return std::max(type.units * caps.tokens, type.tokens * caps.units);
  };
  const auto key = [&](size_t i) {
    return std::make_tuple(share(types[i]), types[i].tokens, types[i].units);
  };
  std::vector<size_t> places(types.size());
  std::iota(places.begin(), places.end(), size_t{0});
  std::sort(places.begin(), places.end(), [&](size_t a, size_t b) {
    stop.Spend(10);
    return key(a) > key(b);
  });
  return places;
}

int64_t HowManyFit(int64_t units_left, int64_t tokens_left, const SampleType& type) {
  const int64_t by_tokens = tokens_left / type.tokens;
  return type.units == 0 ? by_tokens : std::min(by_tokens, units_left / type.units);
}

SamplesByType::SamplesByType(const SortedSamples& sorted) : samples_(sorted.order) {
  int64_t begin = 0;
  for (const SampleType& type : sorted.types) {
    next_.push_back(begin);
    begin += type.count;
  }
}

void SamplesByType::Take(size_t type, int64_t count, Packing& packing) {
  const auto from = samples_.begin() + next_[type];
  packing.members.insert(packing.members.end(), from, from + count);
  next_[type] += count;
}

}  // namespace evenkeel::planner
