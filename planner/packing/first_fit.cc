#include "planner/packing/first_fit.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace evenkeel::planner {
namespace {

// Types in placing order, with the number of samples of each that remain. A tree over them finds
// the next one that fits.
class Remaining {
 public:
  Remaining(const SampleTypes& types, const std::vector<size_t>& order, const Stop& stop)
      : stop_(stop) {
    while (leaves_ < order.size()) leaves_ *= 2;
    least_.resize(2 * leaves_);
    for (size_t i = 0; i < order.size(); ++i) {
      types_.push_back(types[order[i]]);
      least_[leaves_ + i] = {types_[i].units, types_[i].tokens};
    }
    for (size_t node = leaves_ - 1; node > 0; --node) Update(node);
  }

  static constexpr size_t kNone = std::numeric_limits<size_t>::max();
  size_t FirstFrom(size_t place, int64_t units_left, int64_t tokens_left) const {
    return Find(1, 0, leaves_, place, units_left, tokens_left);
  }
  const SampleType& operator[](size_t place) const { return types_[place]; }
  void Remove(size_t place, int64_t count) {
    types_[place].count -= count;
    if (types_[place].count > 0) return;
    size_t node = leaves_ + place;
    least_[node] = {};
    while (node /= 2) Update(node);
  }

 private:
  static constexpr int32_t kGone = std::numeric_limits<int32_t>::max();
  struct Least {  // least units and tokens below a node; may be of two types
    int32_t units = kGone, tokens = kGone;
  };

  void Update(size_t node) {
    const Least &a = least_[2 * node], &b = least_[2 * node + 1];
    least_[node] = {std::min(a.units, b.units), std::min(a.tokens, b.tokens)};
  }
  // A node's two least values may come from different types, so a descent can fail and step back.
  size_t Find(size_t node, size_t begin, size_t end, size_t place, int64_t units,
              int64_t tokens) const {
    stop_.Spend(8);
    const Least& least = least_[node];
    if (end <= place || least.tokens > tokens || least.units > units) return kNone;
    if (least.units == kGone || least.tokens == kGone) return kNone;
    if (node >= leaves_) return begin;
    const size_t middle = begin + (end - begin) / 2;
    const size_t found = Find(2 * node, begin, middle, place, units, tokens);
    return found != kNone ? found : Find(2 * node + 1, middle, end, place, units, tokens);
  }

  const Stop stop_;
  size_t leaves_ = 1;
  SampleTypes types_;
  std::vector<Least> least_;
};

}  // namespace

Packing PackFirstFit(const Lengths& lengths, const Caps& caps, TypeOrder order, const Stop& stop) {
  const SortedSamples sorted = SortByType(lengths, stop);
  const std::vector<size_t> places = OrderTypes(sorted.types, caps, order, stop);
  stop.Spend(static_cast<int64_t>(40 * places.size()));
  Remaining remaining(sorted.types, places, stop);
  SamplesByType samples(sorted);
  Packing packing;
  packing.members.reserve(lengths.size());
  std::vector<std::pair<size_t, int64_t>> pattern;  // (place, samples)
  while (true) {
    pattern.clear();
    int64_t units = caps.units, tokens = caps.tokens;
    int64_t times = std::numeric_limits<int64_t>::max();
    size_t place = remaining.FirstFrom(0, units, tokens);
    for (; place != Remaining::kNone; place = remaining.FirstFrom(place + 1, units, tokens)) {
      const SampleType& type = remaining[place];
      const int64_t count = std::min(type.count, HowManyFit(units, tokens, type));
      units -= count * type.units;
      tokens -= count * type.tokens;
      times = std::min(times, type.count / count);
      pattern.emplace_back(place, count);
    }
    if (pattern.empty()) return packing;
    // While every type lasts for another pack of this pattern, the next pack is the same.
    for (int64_t i = 0; i < times; ++i) {
      stop.Spend(static_cast<int64_t>(20 * pattern.size()));
      for (const auto& [p, count] : pattern) samples.Take(places[p], count, packing);
      packing.ClosePack();
    }
    for (const auto& [p, count] : pattern) remaining.Remove(p, count * times);
  }
}

}  // namespace evenkeel::planner
