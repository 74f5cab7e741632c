// Code that the decreasing packers share: the order in which they place types, and the samples of
// each type.
#ifndef EVENKEEL_PLANNER_PACKING_TYPE_ORDER_H_
#define EVENKEEL_PLANNER_PACKING_TYPE_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "planner/base/stop.h"
#include "planner/packing/packing.h"
#include "planner/packing/sample_types.h"

namespace evenkeel::planner {

// Largest first. Ties: more tokens, then more units.
enum class TypeOrder {
  kTokens,       // as in the published packers, which know only tokens
  kLargerShare,  // by the larger of units / cap and tokens / cap
};
// Returns the indices of `types` in the order that `order` names.
std::vector<size_t> OrderTypes(const SampleTypes& types, const Caps& caps, TypeOrder order,
                               const Stop& stop = {});

// Returns how many samples of this type fit into the room that is left. REQUIRES: type.tokens > 0.
int64_t HowManyFit(int64_t units_left, int64_t tokens_left, const SampleType& type);

// Hands out samples of a type, lowest index first.
class SamplesByType {
 public:
  explicit SamplesByType(const SortedSamples& sorted);

  // Appends the next `count` samples of a type to the open pack.
  void Take(size_t type, int64_t count, Packing& packing);

 private:
  const std::vector<uint32_t>& samples_;
  std::vector<int64_t> next_;  // per type, into samples_
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_TYPE_ORDER_H_
