// Deals samples to a given number of packs so that they are level in every column and within the
// caps of all.
#ifndef EVENKEEL_PLANNER_PACKING_COLUMN_LEVELER_H_
#define EVENKEEL_PLANNER_PACKING_COLUMN_LEVELER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "planner/base/random.h"
#include "planner/base/stop.h"
#include "planner/packing/columns.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

// Samples, largest first, each go to the pack with the least in it. Then packs that deviate in
// opposite ways exchange samples, or hand one over. Packs over a cap pass their excess on to other
// packs, in any number of steps. Once none is over, more exchanges level the packs within the caps.
class ColumnLeveler {
 public:
  // `columns` are not owned. REQUIRES: packs > 0, and every sample fits the caps alone.
  ColumnLeveler(const Columns& columns, int64_t packs, const Stop& stop = {});

  // Returns whether all packs are within the caps; packs may have been added to that end.
  // `work_per_sample` limits the exchanges that are examined for packs over a cap. Call at most
  // once. `start` may say which pack each row is in at first (kNoPack: none); the first exchanges
  // are then left out.
  bool Run(int64_t work_per_sample, std::span<const uint32_t> start = {});

  static constexpr uint32_t kNoPack = std::numeric_limits<uint32_t>::max();

  // Appends the packs to `packing`, and to `left_over` the samples that must leave packs over a
  // cap. Row i of the columns is the sample `samples[i]`.
  void Emit(std::span<const uint32_t> samples, Packing& packing, std::vector<uint32_t>& left_over);

 private:
  static constexpr uint32_t kEmptySlot = std::numeric_limits<uint32_t>::max();

  static constexpr int64_t kLevel = int64_t{1} << 20;

  // Sums and values are weighted: the level of every column is about kLevel.
  using Row = const int32_t*;

  void Weigh();
  void Deal(std::span<const uint32_t> start);
  void Place(std::span<const uint32_t> order, const std::vector<uint32_t>& pack_of);
  bool LevelOut(int rounds_at_most, bool within_caps);
  bool ExchangePair(size_t x, size_t y, bool within_caps);
  bool Rescue(int64_t work_per_sample);
  int64_t FindOver();
  void AddPacks(int64_t more);
  bool RescueOnce(size_t over, size_t other);
  bool Repartition(size_t over, size_t other, std::span<const size_t> pool, size_t of_over);
  bool TakeFrom(size_t over, size_t other);
  void Swap(size_t x, size_t s, size_t y, size_t t);
  size_t TakeOut(size_t pack);

  // Samples of one pack, as bits of its slots, with their sums in two columns.
  struct Part {
    int32_t main = 0, other = 0;  // at most 6 values of at most 2^28
    uint32_t pack = 0, mask = 0;
  };
  struct Match {
    Part given, taken;  // nothing is given if there is no match
  };
  bool FewPerPack() const;
  void ChooseColumns();
  void MatchOver();
  uint32_t OfferedBy(size_t pack) const;
  size_t CountParts(size_t pack) const;
  void PartsOf(size_t pack, std::vector<Part>& parts) const;
  Match BestMatch(size_t over, const std::vector<Part>& own, const std::vector<Part>& index,
                  const std::vector<bool>& changed, int64_t most_room);
  bool HasSlots(size_t over, uint32_t given, const Part& taken) const;
  void Exchange(size_t x, uint32_t given, size_t y, uint32_t taken);

  size_t packs() const { return first_slot_.size() - 1; }
  int64_t Above(int64_t deviation, size_t column) const {
    return std::max<int64_t>(0, deviation - room_[column]);
  }
  int64_t Excess(size_t pack) const;
  bool Off(size_t pack) const;
  Row RowAt(size_t slot) const { return rows_.data() + slot * count_; }
  int64_t* Deviation(size_t pack) { return deviation_.data() + pack * count_; }
  const int64_t* Deviation(size_t pack) const { return deviation_.data() + pack * count_; }

  const Columns& columns_;
  const size_t count_;
  const Stop stop_;
  std::vector<int64_t> weight_, level_, room_;  // by column; level + room is the cap
  int64_t tolerance_ = 0;
  std::vector<size_t> first_slot_;  // by pack, and the end of the last
  std::vector<uint32_t> member_;    // by slot: row, or kEmptySlot
  std::vector<int32_t> rows_;       // by slot and column; zeros where the slot is empty
  std::vector<int64_t> deviation_;  // by pack and column: what the pack has above the level
  std::vector<int64_t> want_;       // by column, for one exchange
  std::vector<std::pair<int64_t, uint32_t>> sorted_;  // packs along a direction
  std::vector<size_t> over_;                          // packs over a cap
  int64_t work_left_ = 0;                             // of the rescue, in exchanges examined
  size_t main_ = 0, other_ = 0;  // the columns with least room; equal if there is one
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_COLUMN_LEVELER_H_
