// Runs the passes of a pipeline over and over with other times: about a nanosecond each.
#ifndef EVENKEEL_PLANNER_SIMULATE_PASS_WALK_H_
#define EVENKEEL_PLANNER_SIMULATE_PASS_WALK_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "planner/base/stop.h"
#include "planner/simulate/held_passes.h"
#include "planner/simulate/pipeline_run.h"
#include "planner/simulate/schedule.h"

namespace evenkeel::planner {

// The passes of all stages in an order in which they can run (as in WorkOrder), laid out for
// PassWalk. A unit is stage x chunks + chunk.
struct PassList {
  struct Entry {
    uint32_t stage;
    uint32_t sort;   // unit x kKinds + kind
    uint32_t place;  // (kind x units + unit) x m + micro-batch
    uint32_t slot;   // where its end is kept
    uint32_t input;  // slot of the end that it waits for
  };
  static constexpr size_t kKinds = 3;

  PassList() = default;
  // Throws Stopped if `stop` ends the work.
  explicit PassList(const PipelineShape& shape, const Stop& stop = {});

  // Returns the slot of the last pass of a unit that gives gradients.
  size_t LastSlot(size_t unit) const;

  std::span<const Entry> passes() const { return {passes_.get(), count_}; }
  size_t slots() const { return slots_; }

 private:
  PipelineShape shape_;
  std::unique_ptr<Entry[]> passes_;
  size_t count_ = 0, slots_ = 0;
};

// Caches the pass lists and peaks of shapes that a search meets again and again.
class PassLists {
 public:
  // Both throw Stopped if `stop` ends the work.
  std::shared_ptr<const PassList> Of(const PipelineShape& shape, const Stop& stop);
  std::shared_ptr<const PeaksOfStages> PeaksOf(const PipelineShape& shape, const Stop& stop);

 private:
  template <typename Made>
  struct ByShape {
    std::map<std::array<int64_t, 5>, std::shared_ptr<const Made>> made;
    size_t size = 0;  // of all that was made
  };
  // Returns the cached value of the shape. If there is none, caches the result of `make()`, and
  // drops all other values if the sizes together exceed `most`.
  template <typename Made, typename Make, typename Size>
  static std::shared_ptr<const Made> Kept(ByShape<Made>& kept, const PipelineShape& shape,
                                          size_t most, Make make, Size size_of);

  ByShape<PassList> lists_;
  ByShape<PeaksOfStages> peaks_;
};

// Returns lists->PeaksOf or, without lists, computes the peaks.
std::shared_ptr<const PeaksOfStages> PeaksOf(const PipelineShape& shape, const Stop& stop,
                                             PassLists* lists);

class PassWalk {
 public:
  // Copies the parts of the spec that it needs. The list must outlive the walk. If `alike` is
  // false, each micro-batch has times of its own. REQUIRES: the list is of spec.shape; nothing is
  // gathered.
  PassWalk(const PipelineSpec& spec, const PassList& list, bool alike);

  // Returns the times of a unit's micro-batches, to be changed between runs. Those of kBackward are
  // without weight gradients that are passes of their own. REQUIRES: not alike.
  int64_t* Times(PassKind kind, size_t unit);

  // Throws Stopped if `stop` ends the work.
  void Run(const Stop& stop = {});

  // Returns the end of the last pass.
  int64_t pipeline_ns() const;
  // Returns when each stage is free after its last pass.
  const std::vector<int64_t>& free() const { return free_; }
  // Returns a unit's last pass that gives gradients.
  Span Last(size_t unit) const;

 private:
  template <bool kAlike>
  void RunAll(const Stop& stop);
  void LoadTimes(const PipelineSpec& spec);

  const PassList& list_;
  const size_t units_, micro_batches_;
  const bool split_, alike_;
  // By PassList::Entry::sort: p2p of the pass's input, and how long the stage sends its output.
  std::vector<int64_t> wire_, sends_;
  std::vector<int64_t> times_;  // by sort if alike, else by place
  std::vector<int64_t> free_;   // by stage
  std::vector<int64_t> ends_;   // by slot
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SIMULATE_PASS_WALK_H_
