// Packs of few samples over a cap: an index of the parts that every pack could give finds useful
// exchanges of any numbers of samples.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <tuple>

#include "planner/packing/column_leveler.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kFewPerPack = 4;         // on average; more can be levelled without an index
constexpr int kAllSubsets = 4;             // packs of more samples offer one or two of them
constexpr size_t kSlotsOffered = 32;       // the first ones of a pack
constexpr int64_t kMatchCandidates = 600;  // examined for one part of a pack
constexpr int64_t kPartialParts = 8;  // an exchange that does not suffice must lower the excess
                                      // by one part in this many

}  // namespace

bool ColumnLeveler::FewPerPack() const {
  return static_cast<int64_t>(columns_.samples()) <= kFewPerPack * static_cast<int64_t>(packs());
}

// Returns the slots of a pack whose samples it may give away, as bits.
uint32_t ColumnLeveler::OfferedBy(size_t pack) const {
  const size_t first = first_slot_[pack];
  const size_t slots = std::min(first_slot_[pack + 1] - first, kSlotsOffered);
  uint32_t held = 0;
  for (size_t s = 0; s < slots; ++s)
    if (member_[first + s] != kEmptySlot) held |= uint32_t{1} << s;
  return held;
}

// Returns how many parts PartsOf lists.
size_t ColumnLeveler::CountParts(size_t pack) const {
  const auto held = static_cast<size_t>(std::popcount(OfferedBy(pack)));
  return held <= kAllSubsets ? size_t{1} << held : 1 + held + held * (held - 1) / 2;
}

// Lists the parts of a pack that it may give away, the empty one among them, as bits of its slots.
void ColumnLeveler::PartsOf(size_t pack, std::vector<Part>& parts) const {
  const size_t first = first_slot_[pack];
  const uint32_t held = OfferedBy(pack);
  const auto add = [&](uint32_t mask) {
    Part part{0, 0, static_cast<uint32_t>(pack), mask};
    for (uint32_t left = mask; left != 0; left &= left - 1) {
      const Row row = RowAt(first + static_cast<size_t>(std::countr_zero(left)));
      part.main += row[main_];
      part.other += row[other_];
    }
    parts.push_back(part);
  };
  if (std::popcount(held) <= kAllSubsets) {
    for (uint32_t mask = held;; mask = (mask - 1) & held) {
      add(mask);
      if (mask == 0) return;
    }
  }
  add(0);
  for (uint32_t a = held; a != 0; a &= a - 1) {
    const uint32_t one = a & -a;
    add(one);
    for (uint32_t b = a & (a - 1); b != 0; b &= b - 1) add(one | (b & -b));
  }
}

// Chooses the two columns that have least room. No more than two have a cap.
void ColumnLeveler::ChooseColumns() {
  main_ = other_ = 0;
  for (size_t c = 1; c < count_; ++c)
    if (room_[c] < room_[main_]) main_ = c;
  if (main_ == 0 && count_ > 1) other_ = 1;
  for (size_t c = 0; c < count_; ++c)
    if (c != main_ && room_[c] < room_[other_]) other_ = c;
}

// Every pack over a cap looks for the exchange with any other that leaves least excess in both.
void ColumnLeveler::MatchOver() {
  ChooseColumns();
  std::vector<Part> index, own;
  int64_t most_room = 0;
  size_t parts = 0;
  for (size_t p = 0; p < packs(); ++p) parts += CountParts(p);
  index.reserve(parts);
  for (size_t p = 0; p < packs(); ++p) {
    PartsOf(p, index);
    most_room = std::max(most_room, room_[main_] - Deviation(p)[main_]);
  }
  stop_.Spend(static_cast<int64_t>(150 * index.size()));
  std::sort(index.begin(), index.end(), [](const Part& a, const Part& b) {
    return std::tie(a.main, a.other, a.pack, a.mask) < std::tie(b.main, b.other, b.pack, b.mask);
  });
  std::vector<bool> changed(packs());
  for (const size_t over : over_) {
    if (work_left_ < 0) return;
    own.clear();
    PartsOf(over, own);
    const Match match = BestMatch(over, own, index, changed, most_room);
    if (match.given.mask == 0) continue;
    Exchange(over, match.given.mask, match.taken.pack, match.taken.mask);
    changed[over] = changed[match.taken.pack] = true;
  }
}

ColumnLeveler::Match ColumnLeveler::BestMatch(size_t over, const std::vector<Part>& own,
                                              const std::vector<Part>& index,
                                              const std::vector<bool>& changed, int64_t most_room) {
  const int64_t main_room = room_[main_] - Deviation(over)[main_];
  const int64_t other_room = room_[other_] - Deviation(over)[other_];
  const int64_t before = Excess(over);
  int64_t most_lowered = 0, examined = 0;
  Match best;
  for (const Part& given : own) {
    if (given.mask == 0) continue;
    const int64_t most = given.main + main_room;
    auto taken = std::upper_bound(index.begin(), index.end(), most,
                                  [](int64_t m, const Part& p) { return m < p.main; });
    for (int64_t i = 0; i < kMatchCandidates && taken != index.begin(); ++i) {
      --taken, ++examined;
      if (given.main - taken->main > most_room) break;
      if (taken->pack == over || changed[taken->pack]) continue;
      const int64_t* there = Deviation(taken->pack);
      int64_t left = 0, passed = Above(there[main_] + given.main - taken->main, main_);
      if (other_ != main_) {
        left = std::max<int64_t>(0, taken->other - given.other - other_room);
        passed += Above(there[other_] + given.other - taken->other, other_);
      }
      if (before - left - passed <= most_lowered) continue;
      const int64_t all = before + Excess(taken->pack);
      const int64_t lowered = all - left - passed;
      if (lowered <= most_lowered || (left + passed > 0 && lowered < all / kPartialParts)) continue;
      if (!HasSlots(over, given.mask, *taken)) continue;
      most_lowered = lowered, best = {given, *taken};
      if (left + passed == 0) break;
    }
    if (best.given.mask != 0 && most_lowered >= before) break;
  }
  work_left_ -= examined / 4;
  stop_.Spend(4 * examined);
  return best;
}

// Returns whether both packs have slots for what they take.
bool ColumnLeveler::HasSlots(size_t over, uint32_t given, const Part& taken) const {
  const int more = std::popcount(given) - std::popcount(taken.mask);
  const size_t pack = more > 0 ? taken.pack : over;
  int empty = 0;
  for (size_t s = first_slot_[pack]; s < first_slot_[pack + 1]; ++s)
    empty += member_[s] == kEmptySlot;
  return empty >= std::abs(more);
}

// Exchanges two parts, given as bits of slots.
void ColumnLeveler::Exchange(size_t x, uint32_t given, size_t y, uint32_t taken) {
  while (given != 0 || taken != 0) {
    const auto next = [&](size_t pack, uint32_t& left) {
      size_t slot = first_slot_[pack];
      if (left == 0) {
        while (member_[slot] != kEmptySlot) ++slot;
        return slot;
      }
      slot += static_cast<size_t>(std::countr_zero(left));
      left &= left - 1;
      return slot;
    };
    const size_t from = next(x, given), to = next(y, taken);
    Swap(x, from, y, to);
  }
}

}  // namespace evenkeel::planner
