// Fills packs of given patterns with real samples so that their token sums are level.
#ifndef EVENKEEL_PLANNER_PACKING_LEVEL_H_
#define EVENKEEL_PLANNER_PACKING_LEVEL_H_

#include <array>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "planner/base/stop.h"
#include "planner/packing/pack_patterns.h"
#include "planner/packing/packing.h"
#include "planner/packing/sample_groups.h"

namespace evenkeel::planner {

// Samples of each group, ascending by tokens, as many as the patterns hold.
using GroupMembers = std::vector<std::vector<uint32_t>>;

// First the samples of each group are dealt, largest first, to the packs that need the most tokens.
// Then pairs of a long and a short pack exchange samples of equal units until all sums are within
// 0.25% of the mean or no exchange helps. Packs over the token cap then try exchanges of any
// samples with many other packs. Finally, samples are taken out of packs that are still over the
// cap.
class Leveler {
 public:
  Leveler(const Lengths& lengths, const Caps& caps, const Stop& stop = {})
      : lengths_(lengths), caps_(caps), stop_(stop) {}

  // Appends the packs to `packing`, and the samples that were taken out to `left_over`.
  void Fill(const std::vector<SampleGroup>& groups, const std::vector<PackPattern>& patterns,
            const GroupMembers& members, Packing& packing, std::vector<uint32_t>& left_over);

 private:
  // Slots of a pattern's packs that hold samples of equal units.
  struct Run {
    int64_t units = 0;
    int32_t begin = 0, end = 0;
  };
  struct Shape {
    std::vector<int32_t> begin;  // first slot of each part of the content
    std::vector<Run> runs;
    int32_t slots = 0;
  };

  static constexpr int64_t kRescueCandidates = 32;  // samples of a pack that a rescue examines
  struct Examined {
    struct Sample {
      size_t slot;
      int64_t tokens, units;
    };
    std::array<Sample, kRescueCandidates> samples;
    size_t count = 0;
  };

  void LayOut(const std::vector<SampleGroup>& groups, const std::vector<PackPattern>& patterns);
  void DealGroups(const std::vector<SampleGroup>& groups, const std::vector<PackPattern>& patterns,
                  const GroupMembers& members);
  void DealRound(const std::vector<uint32_t>& members, int64_t mean, size_t& next);
  void Exchange();
  int64_t ExchangeOnce(uint64_t round);
  bool ExchangePair(size_t longer, size_t shorter, uint64_t round);
  void SortByNeed();
  void Swap(size_t a, size_t s, size_t b, size_t t);
  void Rescue();
  int64_t StepOf(size_t pack) const {
    return 1 + (first_slot_[pack + 1] - first_slot_[pack]) / kRescueCandidates;
  }
  Examined Examine(size_t pack, int64_t turn) const;
  bool RescueOnce(size_t over, const Examined& of_over, size_t other);
  void TakeOut(std::vector<size_t>& slots, int64_t excess, std::vector<uint32_t>& left_over) const;
  void Emit(Packing& packing, std::vector<uint32_t>& left_over);

  bool Over(size_t pack) const { return need_[pack] < -room_; }
  bool Off(size_t pack) const { return std::abs(need_[pack]) > tolerance_ || Over(pack); }
  int64_t TokensOf(uint32_t sample) const { return lengths_.tokens[sample]; }

  const Lengths lengths_;
  Caps caps_;
  const Stop stop_;

  std::vector<Shape> shapes_;        // by pattern
  std::vector<uint32_t> shape_of_;   // by pack
  std::vector<int64_t> first_slot_;  // by pack, and the end of the last
  std::vector<int64_t> need_;        // by pack: tokens missing to the mean; negative if it has too
                                     // many
  std::vector<uint32_t> member_;     // by slot
  std::vector<int32_t> tokens_;      // by slot
  int64_t level_ = 0;                // mean tokens of a pack
  int64_t tolerance_ = 0;
  int64_t room_ = 0;            // level + room is the cap: a pack with need < -room is over it
  std::vector<int64_t> units_;  // by pack, once rescue begins

  struct Round {
    uint32_t pack;
    int64_t slot;
  };
  std::vector<Round> round_, sorted_;
  std::vector<uint32_t> bucket_;
  std::vector<uint32_t> long_, short_, long_even_, short_even_;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_LEVEL_H_
