#include "planner/packing/column_leveler.h"

#include <cstdlib>
#include <functional>
#include <numeric>
#include <queue>

#include "planner/base/integers.h"

namespace evenkeel::planner {
namespace {

constexpr size_t kEmptySlots = 2;               // per pack, so that packs can hand samples over
constexpr int64_t kLargest = int64_t{1} << 28;  // weighted value
constexpr int64_t kColumnParts = 400;           // parts of the level: 0.25%
constexpr int kRounds = 40, kLastRounds = 16;
constexpr size_t kStuckParts = 64;  // directions that move fewer of the packs are the last ones

// Directions in which packs deviate: along each column, then along sums and differences of two.
std::vector<std::vector<int64_t>> Directions(size_t columns) {
  std::vector<std::vector<int64_t>> all;
  const auto add = [&](size_t a, int64_t x, size_t b, int64_t y) {
    std::vector<int64_t> direction(columns);
    direction[b] = y, direction[a] = x;
    all.push_back(std::move(direction));
  };
  for (size_t a = 0; a < columns; ++a) add(a, 1, a, 1);
  for (size_t a = 0; a < columns; ++a)
    for (size_t b = a + 1; b < columns; ++b) add(a, 1, b, 1), add(a, 1, b, -1);
  return all;
}

}  // namespace

ColumnLeveler::ColumnLeveler(const Columns& columns, int64_t packs, const Stop& stop)
    : columns_(columns),
      count_(columns.count),
      stop_(stop),
      first_slot_(static_cast<size_t>(packs) + 1),
      want_(columns.count) {}

bool ColumnLeveler::Run(int64_t work_per_sample, std::span<const uint32_t> start) {
  Weigh();
  Deal(start);
  if (start.empty() && LevelOut(kRounds, false)) return true;
  if (!Rescue(work_per_sample)) return false;
  LevelOut(kLastRounds, true);
  return true;
}

// Weights are integers, so that sums are exact and packs within the caps are known to be.
void ColumnLeveler::Weigh() {
  stop_.Spend(static_cast<int64_t>(2 * columns_.values.size()));
  std::vector<int64_t> total(count_), largest(count_, 1);
  for (size_t i = 0; i < columns_.values.size(); ++i) {
    total[i % count_] += columns_.values[i];
    largest[i % count_] = std::max<int64_t>(largest[i % count_], columns_.values[i]);
  }
  const int64_t n = static_cast<int64_t>(packs());
  tolerance_ = kLevel / kColumnParts;
  for (size_t c = 0; c < count_; ++c) {
    const int64_t level = std::max<int64_t>(1, total[c] / n);
    weight_.push_back(std::max<int64_t>(1, std::min(kLevel / level, kLargest / largest[c])));
    level_.push_back(MultiplyDivide(total[c], weight_[c], n));
    const int64_t cap = columns_.caps[c];
    room_.push_back(cap > kNoCap / kLevel ? kNoCap / 2 : cap * weight_[c] - level_[c]);
  }
}

void ColumnLeveler::Deal(std::span<const uint32_t> start) {
  const size_t n = columns_.samples();
  stop_.Spend(static_cast<int64_t>(100 * n));
  std::vector<std::pair<int64_t, int64_t>> size(n);  // largest column, sum
  for (size_t i = 0; i < n; ++i) {
    for (size_t c = 0; c < count_; ++c) {
      const int64_t value = columns_[i][c] * weight_[c];
      size[i].first = std::max(size[i].first, value);
      size[i].second += value;
    }
  }
  std::vector<uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return size[a].first > size[b].first; });
  using Open = std::pair<int64_t, uint32_t>;  // sum, pack
  std::vector<Open> open_packs;
  for (uint32_t p = 0; p < packs(); ++p) open_packs.emplace_back(0, p);
  std::vector<uint32_t> pack_of(start.begin(), start.end());
  pack_of.resize(n, kNoPack);
  for (size_t i = 0; i < n; ++i)
    if (pack_of[i] != kNoPack) open_packs[pack_of[i]].first += size[i].second;
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open(std::greater<>(),
                                                                    std::move(open_packs));
  for (const uint32_t i : order) {
    if (pack_of[i] != kNoPack) continue;
    stop_.Spend(100);
    const auto [sum, pack] = open.top();
    open.pop();
    open.emplace(sum + size[i].second, pack);
    pack_of[i] = pack;
  }
  Place(order, pack_of);
}

// Lays the samples out in slots.
void ColumnLeveler::Place(std::span<const uint32_t> order, const std::vector<uint32_t>& pack_of) {
  for (size_t p = 0; p < packs(); ++p) first_slot_[p + 1] = kEmptySlots;
  for (const uint32_t pack : pack_of) ++first_slot_[pack + 1];
  std::partial_sum(first_slot_.begin(), first_slot_.end(), first_slot_.begin());
  member_.assign(first_slot_.back(), kEmptySlot);
  rows_.assign(member_.size() * count_, 0);
  deviation_.resize(packs() * count_);
  for (size_t i = 0; i < deviation_.size(); ++i) deviation_[i] = -level_[i % count_];
  std::vector<size_t> next(first_slot_.begin(), first_slot_.end() - 1);
  for (const uint32_t i : order) {
    const size_t slot = next[pack_of[i]]++;
    member_[slot] = i;
    for (size_t c = 0; c < count_; ++c) {
      const int64_t value = columns_[i][c] * weight_[c];
      rows_[slot * count_ + c] = static_cast<int32_t>(value);
      Deviation(pack_of[i])[c] += value;
    }
  }
}

int64_t ColumnLeveler::Excess(size_t pack) const {
  int64_t excess = 0;
  for (size_t c = 0; c < count_; ++c) excess += Above(Deviation(pack)[c], c);
  return excess;
}

bool ColumnLeveler::Off(size_t pack) const {
  for (size_t c = 0; c < count_; ++c)
    if (std::abs(Deviation(pack)[c]) > tolerance_) return true;
  return false;
}

// In each round, packs are sorted along a direction and exchange with their opposites. Returns
// whether all packs are within the caps.
bool ColumnLeveler::LevelOut(int rounds_at_most, bool within_caps) {
  const std::vector<std::vector<int64_t>> directions = Directions(count_);
  size_t moved = 0;
  for (int round = 0;; ++round) {
    const size_t turn = static_cast<size_t>(round) % directions.size();
    const std::vector<int64_t>& direction = directions[turn];
    stop_.Spend(static_cast<int64_t>(100 * packs()));
    size_t over = 0, off = 0;
    sorted_.clear();
    for (size_t p = 0; p < packs(); ++p) {
      int64_t along = 0;
      for (size_t c = 0; c < count_; ++c) along += direction[c] * Deviation(p)[c];
      sorted_.emplace_back(along, static_cast<uint32_t>(p));
      over += Excess(p) > 0;
      off += Off(p);
    }
    const bool stuck = turn == 0 && round > 0 && moved * kStuckParts < packs();
    if (turn == 0) moved = 0;
    if (round == rounds_at_most || stuck || (over == 0 && off * kStuckParts < packs()))
      return over == 0;
    std::sort(sorted_.begin(), sorted_.end());
    for (size_t k = 0; 2 * k + 1 < sorted_.size(); ++k)
      moved += ExchangePair(sorted_[sorted_.size() - 1 - k].second, sorted_[k].second, within_caps);
  }
}

// Makes the exchange of two samples, or of a sample and an empty slot, that brings both packs
// nearest to their common mean.
bool ColumnLeveler::ExchangePair(size_t x, size_t y, bool within_caps) {
  int64_t best = 0;
  for (size_t c = 0; c < count_; ++c) {
    want_[c] = (Deviation(x)[c] - Deviation(y)[c]) / 2;
    best += std::abs(want_[c]);
  }
  if (best <= 1) return false;
  const size_t x_end = first_slot_[x + 1], y_end = first_slot_[y + 1];
  stop_.Spend(static_cast<int64_t>((x_end - first_slot_[x]) * (y_end - first_slot_[y]) * count_));
  const auto fits = [&](Row a, Row b) {
    for (size_t c = 0; c < count_; ++c) {
      const int64_t moved = int64_t{a[c]} - b[c];
      if (Above(Deviation(x)[c] - moved, c) + Above(Deviation(y)[c] + moved, c) > 0) return false;
    }
    return true;
  };
  size_t from = x_end, to = y_end;
  for (size_t s = first_slot_[x]; s < x_end; ++s) {
    const Row a = RowAt(s);
    for (size_t t = first_slot_[y]; t < y_end; ++t) {
      const Row b = RowAt(t);
      int64_t off = 0;
      for (size_t c = 0; c < count_; ++c) off += std::abs(int64_t{a[c]} - b[c] - want_[c]);
      if (off < best && (!within_caps || fits(a, b))) best = off, from = s, to = t;
    }
  }
  if (from == x_end) return false;
  Swap(x, from, y, to);
  return true;
}

// Swaps the contents of slot s of pack x and slot t of pack y.
void ColumnLeveler::Swap(size_t x, size_t s, size_t y, size_t t) {
  for (size_t c = 0; c < count_; ++c) {
    int32_t &a = rows_[s * count_ + c], &b = rows_[t * count_ + c];
    const int64_t moved = int64_t{a} - b;
    Deviation(x)[c] -= moved;
    Deviation(y)[c] += moved;
    std::swap(a, b);
  }
  std::swap(member_[s], member_[t]);
}

}  // namespace evenkeel::planner
