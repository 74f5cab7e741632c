// The second half of levelling by columns: packs over a cap pass on their excess.
#include <algorithm>
#include <array>
#include <bit>

#include "planner/base/integers.h"
#include "planner/packing/column_leveler.h"

namespace evenkeel::planner {
namespace {

constexpr int kPasses = 60;
constexpr int64_t kStalledParts = 16;    // a pass that lowers the excess by less has stalled
constexpr size_t kPartnersAtMost = 300;  // of one pack in a pass
constexpr size_t kSmallPool = 8;         // samples of two packs that are divided again in every way
// An exchange that puts the other pack over a cap must lower the excess by one part in this many.
constexpr int64_t kDecreaseParts = 8;

}  // namespace

// Returns the excess of all packs together. Lists the packs over a cap.
int64_t ColumnLeveler::FindOver() {
  stop_.Spend(static_cast<int64_t>(10 * packs()));
  over_.clear();
  int64_t all = 0;
  for (size_t p = 0; p < packs(); ++p) {
    const int64_t excess = Excess(p);
    if (excess > 0) over_.push_back(p);
    all += excess;
  }
  return all;
}

// Packs over a cap try other packs; those of few samples look them up first. If that does not help,
// packs are added: a few of them give many others room, because samples are exchanged with theirs.
// Returns whether no pack is over a cap.
bool ColumnLeveler::Rescue(int64_t work_per_sample) {
  work_left_ = work_per_sample * static_cast<int64_t>(columns_.samples());
  Random random(packs());
  const size_t before = packs();
  const bool few = FewPerPack();
  int64_t last = kNoCap;
  for (int pass = 0; pass < kPasses; ++pass) {
    const int64_t excess = FindOver();
    if (over_.empty()) return true;
    if (work_left_ < 0) break;
    if (excess > last - last / kStalledParts) AddPacks(CeilDivide(excess, kLevel));
    last = excess;
    if (few) MatchOver();
    for (const size_t p : over_) {
      for (size_t i = before; i < packs() && Excess(p) > 0; ++i) RescueOnce(p, i);
      if (few && pass % 2 == 0) continue;  // the look-up alone is quicker, and often enough
      size_t other = random.Below(packs());
      for (size_t i = 0; i < kPartnersAtMost && Excess(p) > 0; ++i, other = (other + 1) % packs())
        if (other != p) RescueOnce(p, other);
    }
  }
  return FindOver() == 0;
}

void ColumnLeveler::AddPacks(int64_t more) {
  size_t slots = 0;
  for (size_t p = 0; p < packs(); ++p) slots = std::max(slots, first_slot_[p + 1] - first_slot_[p]);
  for (int64_t i = 0; i < more; ++i) {
    first_slot_.push_back(first_slot_.back() + slots);
    for (size_t c = 0; c < count_; ++c) deviation_.push_back(-level_[c]);
  }
  member_.resize(first_slot_.back(), kEmptySlot);
  rows_.resize(member_.size() * count_, 0);
}

// Lowers the excess of both packs together as far as one exchange can.
bool ColumnLeveler::RescueOnce(size_t over, size_t other) {
  std::array<size_t, kSmallPool> pool;
  size_t size = 0, of_over = 0;
  for (const size_t pack : {over, other}) {
    for (size_t s = first_slot_[pack]; s < first_slot_[pack + 1]; ++s) {
      if (member_[s] == kEmptySlot) continue;
      if (size == kSmallPool) return TakeFrom(over, other);
      pool[size++] = s;
    }
    if (pack == over) of_over = size;
  }
  return Repartition(over, other, {pool.data(), size}, of_over);
}

// Exchanges two samples, or hands one over.
bool ColumnLeveler::TakeFrom(size_t over, size_t other) {
  const int64_t before = Excess(over) + Excess(other);
  int64_t best = before;
  const size_t over_end = first_slot_[over + 1], other_end = first_slot_[other + 1];
  size_t from = over_end, to = other_end;
  const size_t tried = (over_end - first_slot_[over]) * (other_end - first_slot_[other]);
  work_left_ -= static_cast<int64_t>(tried);
  stop_.Spend(static_cast<int64_t>(2 * count_ * tried));
  for (size_t s = first_slot_[over]; s < over_end; ++s) {
    for (size_t t = first_slot_[other]; t < other_end; ++t) {
      int64_t here = 0, there = 0;
      for (size_t c = 0; c < count_; ++c) {
        const int64_t moved = int64_t{RowAt(s)[c]} - RowAt(t)[c];
        here += Above(Deviation(over)[c] - moved, c);
        there += Above(Deviation(other)[c] + moved, c);
      }
      if (here + there >= best) continue;
      if (there > 0 && here + there > before - before / kDecreaseParts) continue;
      best = here + there, from = s, to = t;
    }
  }
  if (from == over_end) return false;
  Swap(over, from, other, to);
  return true;
}

// Divides all samples of two packs again, in every way (in the order of Gray's code). `pool` has
// their slots, those of the pack over a cap first.
bool ColumnLeveler::Repartition(size_t over, size_t other, std::span<const size_t> pool,
                                size_t of_over) {
  if (pool.empty()) return false;
  const int64_t before = Excess(over) + Excess(other);
  int64_t best = before;
  const uint32_t start = (uint32_t{1} << of_over) - 1;
  uint32_t here = start, chosen = start;  // bits of the samples in the pack over a cap
  const uint32_t ways = uint32_t{1} << (pool.size() - 1);
  work_left_ -= ways;
  stop_.Spend(static_cast<int64_t>(2 * count_ * ways));
  std::vector<int64_t>& moved = want_;
  std::fill(moved.begin(), moved.end(), 0);
  const int most_here = static_cast<int>(first_slot_[over + 1] - first_slot_[over]);
  const int most_there = static_cast<int>(first_slot_[other + 1] - first_slot_[other]);
  for (uint32_t way = 1; way < ways; ++way) {
    const int bit = std::countr_zero(way) + 1;  // the first sample stays
    here ^= uint32_t{1} << bit;
    const int64_t sign = (here >> bit) % 2 == 1 ? -1 : 1;
    int64_t left = 0, passed = 0;
    for (size_t c = 0; c < count_; ++c) {
      moved[c] += sign * RowAt(pool[static_cast<size_t>(bit)])[c];
      left += Above(Deviation(over)[c] - moved[c], c);
      passed += Above(Deviation(other)[c] + moved[c], c);
    }
    const int held = std::popcount(here), size = static_cast<int>(pool.size());
    if (left + passed >= best || held > most_here || size - held > most_there) continue;
    if (passed > 0 && left + passed > before - before / kDecreaseParts) continue;
    best = left + passed, chosen = here;
  }
  std::vector<size_t> out, in;
  for (size_t i = 0; i < pool.size(); ++i)
    if (((chosen ^ start) >> i) % 2 == 1) (i < of_over ? out : in).push_back(pool[i]);
  const auto empty = [&](size_t pack) {
    size_t s = first_slot_[pack];
    while (member_[s] != kEmptySlot) ++s;
    return s;
  };
  for (size_t i = 0; i < std::max(out.size(), in.size()); ++i) {
    const size_t s = i < out.size() ? out[i] : empty(over);
    const size_t t = i < in.size() ? in[i] : empty(other);
    Swap(over, s, other, t);
  }
  return chosen != start;
}

// Returns the slot of the sample to take out of a pack over a cap: the smallest one without which
// it is within them or, if there is none, the one that leaves the least excess.
size_t ColumnLeveler::TakeOut(size_t pack) {
  size_t best = first_slot_[pack];
  std::pair<int64_t, int64_t> least{kNoCap, kNoCap};  // excess, size
  for (size_t s = first_slot_[pack]; s < first_slot_[pack + 1]; ++s) {
    if (member_[s] == kEmptySlot) continue;
    std::pair<int64_t, int64_t> left{0, 0};
    for (size_t c = 0; c < count_; ++c) {
      left.first += Above(Deviation(pack)[c] - RowAt(s)[c], c);
      left.second += RowAt(s)[c];
    }
    if (left < least) least = left, best = s;
  }
  return best;
}

void ColumnLeveler::Emit(std::span<const uint32_t> samples, Packing& packing,
                         std::vector<uint32_t>& left_over) {
  for (size_t p = 0; p < packs(); ++p) {
    stop_.Spend(static_cast<int64_t>(10 * (first_slot_[p + 1] - first_slot_[p])));
    while (Excess(p) > 0) {
      const size_t out = TakeOut(p);
      left_over.push_back(samples[member_[out]]);
      for (size_t c = 0; c < count_; ++c) {
        Deviation(p)[c] -= RowAt(out)[c];
        rows_[out * count_ + c] = 0;
      }
      member_[out] = kEmptySlot;
    }
    for (size_t s = first_slot_[p]; s < first_slot_[p + 1]; ++s)
      if (member_[s] != kEmptySlot) packing.members.push_back(samples[member_[s]]);
    packing.ClosePack();
  }
}

}  // namespace evenkeel::planner
