// The second half of levelling: packs exchange samples.
#include <algorithm>
#include <cstdlib>

#include "planner/base/random.h"
#include "planner/packing/level.h"

namespace evenkeel::planner {
namespace {

constexpr int kRoundsAtMost = 40;
constexpr int64_t kEnoughParts = 32;     // a round that moves fewer of the uneven packs is the last
constexpr int32_t kCandidates = 16;      // samples of a run that an exchange examines
constexpr size_t kRescueWork = 1 << 20;  // number of pairs of packs
constexpr size_t kVainPairs = 1 << 15;   // a rescue gives up after these without an exchange

}  // namespace

// Runs rounds of exchanges until all packs are level or a round moves almost nothing.
void Leveler::Exchange() {
  for (int round = 0; round < kRoundsAtMost; ++round) {
    int64_t off = 0;
    for (size_t p = 0; p < need_.size(); ++p) off += Off(p);
    if (off == 0 || ExchangeOnce(static_cast<uint64_t>(round)) * kEnoughParts < off) return;
  }
}

// Pairs uneven long packs with uneven short ones at random, those over the cap first. Packs left on
// one side are paired with any pack of the other side.
int64_t Leveler::ExchangeOnce(uint64_t round) {
  Random random(round);
  for (std::vector<uint32_t>* list : {&long_, &short_, &long_even_, &short_even_}) list->clear();
  for (size_t p = 0; p < need_.size(); ++p) {
    const bool off = Off(p);
    (need_[p] < 0 ? (off ? long_ : long_even_) : (off ? short_ : short_even_))
        .push_back(static_cast<uint32_t>(p));
  }
  random.Shuffle(long_);
  random.Shuffle(short_);
  std::stable_partition(long_.begin(), long_.end(), [&](uint32_t p) { return Over(p); });
  const auto partner = [&](const std::vector<uint32_t>& off, const std::vector<uint32_t>& even,
                           size_t i) {
    if (i < off.size()) return off[i];
    const std::vector<uint32_t>& any = even.empty() ? off : even;
    return any[random.Below(any.size())];
  };
  int64_t moved = 0;
  for (size_t i = 0; i < std::max(long_.size(), short_.size()); ++i) {
    if (i >= short_.size() && short_.empty() && short_even_.empty()) break;
    if (i >= long_.size() && long_.empty() && long_even_.empty()) break;
    stop_.Spend(100);
    const uint32_t longer = partner(long_, long_even_, i);
    moved += ExchangePair(longer, partner(short_, short_even_, i), round) ? 1 : 0;
  }
  return moved;
}

// Makes the exchange of two samples of equal units that brings both packs nearest to their common
// mean.
bool Leveler::ExchangePair(size_t longer, size_t shorter, uint64_t round) {
  const int64_t want = (need_[shorter] - need_[longer]) / 2;
  if (want <= 0) return false;
  int64_t best = want, from = -1, to = -1;
  const int64_t a = first_slot_[longer], b = first_slot_[shorter];
  const std::vector<Run>& runs = shapes_[shape_of_[longer]].runs;
  const std::vector<Run>& others = shapes_[shape_of_[shorter]].runs;
  for (size_t i = 0, j = 0; i < runs.size() && j < others.size();) {
    if (runs[i].units != others[j].units) {
      runs[i].units < others[j].units ? ++i : ++j;
      continue;
    }
    stop_.Spend(kCandidates * kCandidates);
    const Run &x = runs[i++], &y = others[j++];
    // Long runs are only sampled, with different samples in the next round.
    const int32_t step_x = 1 + (x.end - x.begin) / kCandidates;
    const int32_t step_y = 1 + (y.end - y.begin) / kCandidates;
    const int32_t turn = static_cast<int32_t>(round);
    for (int64_t s = a + x.begin + turn % step_x; s < a + x.end; s += step_x) {
      for (int64_t t = b + y.begin + turn % step_y; t < b + y.end; t += step_y) {
        const int64_t off = std::abs(int64_t{tokens_[static_cast<size_t>(s)]} -
                                     tokens_[static_cast<size_t>(t)] - want);
        if (off < best) best = off, from = s, to = t;
      }
    }
  }
  if (from < 0) return false;
  Swap(longer, static_cast<size_t>(from), shorter, static_cast<size_t>(to));
  return true;
}

// Swaps the samples of slot s of pack a and slot t of pack b.
void Leveler::Swap(size_t a, size_t s, size_t b, size_t t) {
  const int64_t moved = int64_t{tokens_[s]} - tokens_[t];
  need_[a] += moved;
  need_[b] -= moved;
  std::swap(tokens_[s], tokens_[t]);
  std::swap(member_[s], member_[t]);
}

// Each pack over the cap tries other packs, each from a different starting point.
void Leveler::Rescue() {
  std::vector<size_t> over;
  for (size_t p = 0; p < need_.size(); ++p)
    if (Over(p)) over.push_back(p);
  if (over.empty() || room_ < 0) return;
  units_.assign(need_.size(), 0);
  for (size_t p = 0; p < need_.size(); ++p)
    for (int64_t s = first_slot_[p]; s < first_slot_[p + 1]; ++s)
      units_[p] += lengths_.units[member_[static_cast<size_t>(s)]];
  Random random(over.size());
  const size_t tries = std::min<size_t>(need_.size(), kRescueWork / over.size());
  size_t vain = 0;
  for (const size_t p : over) {
    size_t other = random.Below(need_.size());
    Examined samples;
    for (size_t i = 0; i < tries && Over(p); ++i, other = (other + 1) % need_.size()) {
      if (vain == kVainPairs) return;
      if (other == p) continue;
      ++vain;
      // A pack of few samples is examined whole: again only after an exchange.
      if (samples.count == 0 || StepOf(p) > 1) samples = Examine(p, static_cast<int64_t>(other));
      if (RescueOnce(p, samples, other)) samples.count = vain = 0;
    }
  }
}

// Returns the samples of a pack that a rescue examines: of long packs only some, others for another
// `turn`.
Leveler::Examined Leveler::Examine(size_t pack, int64_t turn) const {
  Examined some;
  const int64_t step = StepOf(pack);
  for (int64_t s = first_slot_[pack] + turn % step; s < first_slot_[pack + 1]; s += step) {
    const size_t slot = static_cast<size_t>(s);
    some.samples[some.count++] = {slot, tokens_[slot], lengths_.units[member_[slot]]};
  }
  return some;
}

// Makes the exchange that takes most of the excess off `over`, or all of it with the least change,
// and keeps `other` within the caps.
bool Leveler::RescueOnce(size_t over, const Examined& of_over, size_t other) {
  const int64_t excess = -need_[over] - room_, free = need_[other] + room_;
  if (free <= 0) return false;
  stop_.Spend(2 * kRescueCandidates * kRescueCandidates);
  const int64_t most_units = caps_.units - units_[other], least_units = units_[over] - caps_.units;
  const Examined of_other = Examine(other, static_cast<int64_t>(other));
  int64_t best = 0;
  const Examined::Sample *from = nullptr, *to = nullptr;
  for (size_t i = 0; i < of_over.count; ++i) {
    const Examined::Sample& x = of_over.samples[i];
    for (size_t j = 0; j < of_other.count; ++j) {
      const Examined::Sample& y = of_other.samples[j];
      const int64_t moved = x.tokens - y.tokens, units = x.units - y.units;
      if (moved <= 0 || moved > free || units > most_units || units < least_units) continue;
      const int64_t gain =
          moved >= excess ? 2 * excess - std::min(moved - excess, excess - 1) : moved;
      if (gain > best) best = gain, from = &x, to = &y;
    }
  }
  if (from == nullptr) return false;
  units_[over] -= from->units - to->units, units_[other] += from->units - to->units;
  Swap(over, from->slot, other, to->slot);
  return true;
}

}  // namespace evenkeel::planner
