#include "planner/packing/greedy_fill.h"

#include <algorithm>

namespace evenkeel::planner {
namespace {

constexpr int kLevelsAtMost = 64;  // levels examined for one sample

}  // namespace

GreedyFill::GreedyFill(const SortedSamples& sorted)
    : types_(sorted.types), samples_(sorted), places_(sorted.types.size()) {
  for (size_t place = 0; place < types_.size(); ++place) {
    const SampleType& type = At(place);
    if (levels_.empty() || levels_.back().units != type.units)
      levels_.push_back({type.units, place, place, 0});
    levels_.back().end = place + 1;
    levels_.back().left += type.count;
    left_ += type.count;
  }
}

size_t GreedyFill::Longest(const Level& level, int64_t tokens_left) {
  size_t low = level.begin, high = level.end;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (At(middle).tokens <= tokens_left)
      high = middle;
    else
      low = middle + 1;
  }
  return std::min(places_.From(low), level.end);
}

void GreedyFill::Fill(int64_t units_left, int64_t tokens_left, Packing& packing) {
  while (tokens_left > 0) {
    auto best = levels_.end();
    size_t best_place = 0;
    auto level = std::partition_point(levels_.begin(), levels_.end(),
                                      [&](const Level& l) { return l.units > units_left; });
    for (int looks = 0; level != levels_.end() && looks < kLevelsAtMost; ++level, ++looks) {
      const size_t place = Longest(*level, tokens_left);
      if (place == level->end) continue;
      if (best != levels_.end() && At(place).tokens <= At(best_place).tokens) continue;
      best = level;
      best_place = place;
    }
    if (best == levels_.end()) return;
    SampleType& type = At(best_place);
    const int64_t count = std::min(type.count, HowManyFit(units_left, tokens_left, type));
    samples_.Take(TypeAt(best_place), count, packing);
    units_left -= count * type.units;
    tokens_left -= count * type.tokens;
    type.count -= count;
    left_ -= count;
    best->left -= count;
    if (type.count == 0) places_.Remove(best_place);
    if (best->left == 0) levels_.erase(best);
  }
}

}  // namespace evenkeel::planner
