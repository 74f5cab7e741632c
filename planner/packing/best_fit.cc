#include "planner/packing/best_fit.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "planner/base/integers.h"
#include "planner/packing/open_packs.h"

namespace evenkeel::planner {
namespace {

constexpr size_t kNothing = std::numeric_limits<size_t>::max();

// Contents of packs are chains of links, so that they can share their beginnings.
struct Link {
  size_t type;
  int64_t count;  // of that type
  size_t before;
};

class BestFit {
 public:
  BestFit(const SortedSamples& sorted, const Caps& caps, const Stop& stop)
      : sorted_(sorted), caps_(caps), stop_(stop) {
    for (const SampleType& type : sorted.types) {
      least_units_ = std::min<int64_t>(least_units_, type.units);
      least_tokens_ = std::min<int64_t>(least_tokens_, type.tokens);
    }
  }

  // Places all samples of a type. The pack that the first sample fills best is also the best one
  // for the second sample once the first is inside. So packs are filled one after the other until
  // the samples run out.
  void Place(size_t type_index) {
    const SampleType& type = sorted_.types[type_index];
    int64_t left = type.count;
    while (left > 0) {
      stop_.Spend(1000);
      const AlikePacks packs = TakeBest(type, left);
      const int64_t each = HowManyFit(packs.units_left, packs.tokens_left, type);
      const int64_t filled = std::min(packs.count, left / each);
      Put(packs, filled, type_index, each);
      left -= filled * each;
      const int64_t partly = filled < packs.count && left > 0 ? 1 : 0;
      Put(packs, partly, type_index, left);
      left -= partly * left;
      Keep({packs.units_left, packs.tokens_left, packs.count - filled - partly, packs.content});
    }
  }

  void Write(Packing& packing) {
    SamplesByType samples(sorted_);
    const auto write = [&](const AlikePacks& packs) {
      for (int64_t i = 0; i < packs.count; ++i) {
        stop_.Spend(100);
        for (size_t at = packs.content; at != kNothing; at = links_[at].before)
          samples.Take(links_[at].type, links_[at].count, packing);
        packing.ClosePack();
      }
    };
    std::for_each(full_.begin(), full_.end(), write);
    std::vector<AlikePacks> open = open_.All();
    std::stable_sort(open.begin(), open.end(), [](const AlikePacks& a, const AlikePacks& b) {
      return a.units_left < b.units_left;
    });
    std::for_each(open.begin(), open.end(), write);
  }

 private:
  // Takes the packs that a sample fills best. If there are none, makes new packs for `samples`
  // samples of the type.
  AlikePacks TakeBest(const SampleType& type, int64_t samples) {
    if (const auto best = open_.TakeBest(type.units, type.tokens)) return *best;
    const int64_t each = HowManyFit(caps_.units, caps_.tokens, type);
    return {caps_.units, caps_.tokens, CeilDivide(samples, each), kNothing};
  }

  // Keeps `packs` of the packs in `before`, each with `samples` of the type added.
  void Put(const AlikePacks& before, int64_t packs, size_t type_index, int64_t samples) {
    if (packs == 0) return;
    const SampleType& type = sorted_.types[type_index];
    links_.push_back({type_index, samples, before.content});
    Keep({before.units_left - samples * type.units, before.tokens_left - samples * type.tokens,
          packs, links_.size() - 1});
  }

  void Keep(const AlikePacks& packs) {
    if (packs.count == 0) return;
    if (packs.units_left < least_units_ || packs.tokens_left < least_tokens_)
      full_.push_back(packs);
    else
      open_.Add(packs);
  }

  const SortedSamples& sorted_;
  const Caps caps_;
  const Stop stop_;
  int64_t least_units_ = std::numeric_limits<int64_t>::max();
  int64_t least_tokens_ = std::numeric_limits<int64_t>::max();
  OpenPacks open_;
  std::vector<AlikePacks> full_;  // nothing more fits
  std::vector<Link> links_;
};

}  // namespace

Packing PackBestFit(const Lengths& lengths, const Caps& caps, TypeOrder order, const Stop& stop) {
  const SortedSamples sorted = SortByType(lengths, stop);
  BestFit best_fit(sorted, caps, stop);
  for (const size_t type : OrderTypes(sorted.types, caps, order, stop)) best_fit.Place(type);
  Packing packing;
  packing.members.reserve(lengths.size());
  best_fit.Write(packing);
  return packing;
}

}  // namespace evenkeel::planner
