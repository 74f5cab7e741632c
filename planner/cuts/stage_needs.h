// The least memory that the stages of a cut can hold. All searches for cuts that fit use it.
#ifndef EVENKEEL_PLANNER_CUTS_STAGE_NEEDS_H_
#define EVENKEEL_PLANNER_CUTS_STAGE_NEEDS_H_

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "planner/base/stop.h"
#include "planner/cuts/memory_prospect.h"
#include "planner/simulate/held_passes.h"
#include "planner/simulate/pass_walk.h"

namespace evenkeel::planner {

// The memory of a prospect's stages under any cut.
class StageNeeds {
 public:
  // Throws Stopped if `stop` says so.
  StageNeeds(const Job& job, const MemoryProspect& prospect, const Stop& stop = {},
             PassLists* lists = nullptr);

  // Returns LeastHeld(...).allocated, more quickly.
  int64_t Allocated(const std::vector<int64_t>& boundaries, int64_t stage) const;

  // Returns whether Allocated is at most that, more quickly. REQUIRES: allocatable < kNoHostRoom.
  bool Fits(const std::vector<int64_t>& boundaries, int64_t stage, int64_t allocatable) const;

  // Returns the stage's chunks and memory under the recompute that brings it to its least memory.
  StageHeld LeastHeld(const std::vector<int64_t>& boundaries, int64_t stage) const;

  // Returns the work of looking at one stage, in chunks.
  int64_t work(int64_t stage) const;

  // Returns the cut with its fullest stage.
  LeastFull FullestOf(std::vector<int64_t> boundaries) const;

  // Returns the least that a layer of the class keeps of one pack with workspaces up to the limit,
  // or -1 if it needs a larger one.
  int64_t KeptAtLeast(const LayerCost& layer, int64_t limit) const;
  const std::vector<int64_t>& limits() const { return limits_; }
  const std::vector<std::vector<int64_t>>& peaks(int64_t stage) const {
    return (*peaks_)[static_cast<size_t>(stage)];
  }

 private:
  using ClassModes = std::vector<std::optional<size_t>>;  // nullopt: it needs a larger workspace
  static constexpr int64_t kNothingFits = std::numeric_limits<int64_t>::max();

  // Sums over layers.
  struct Sums {
    int64_t static_bytes = 0, made_bytes = 0, update_bytes = 0;
  };
  struct OnHost {
    int64_t fixed = 0, kept = 0;  // `kept` is of one pack
  };
  struct Contents {
    Sums sums;
    std::array<bool, kLayerClassesAtMost> has{};  // layers of a class
  };

  Contents ContentsOf(const std::vector<int64_t>& boundaries, int64_t stage) const;

  // Returns the bytes with workspaces up to a limit, or some number that is no less than `enough`
  // if they are no less. Returns kNothingFits if some layer needs a larger workspace.
  int64_t AllocatedUnder(size_t limit, const Contents& contents,
                         const std::vector<int64_t>& boundaries, int64_t stage,
                         int64_t enough) const;

  bool HasHostRoom(const std::vector<int64_t>& boundaries, int64_t stage) const;

  void AddLayer(size_t i);

  // Returns the most bytes of activations that the stage holds at once of `kept_`, or some number
  // that is no less than `enough`.
  int64_t MostKept(int64_t stage, int64_t enough) const;

  // Returns where a chunk of the stage begins and ends.
  std::pair<size_t, size_t> Segment(const std::vector<int64_t>& boundaries, int64_t stage,
                                    int64_t chunk) const;

  bool Allowed(const LayerCost& layer, size_t q) const;

  std::optional<size_t> ModeOf(const LayerCost& layer, int64_t limit) const;

  // Returns false if some layer needs a larger workspace.
  bool Choose(const std::vector<ChunkLoad>& loads, const ClassModes& modes,
              std::vector<ModeCounts>* recomputed, std::vector<int64_t>* kept) const;

  const LayerProfile& profile_;
  const RecomputePolicy policy_;
  const int64_t stages_, chunks_;
  std::shared_ptr<const PeaksOfStages> peaks_;
  int64_t most_passes_ = 0;                        // of any peak, all chunks together
  std::vector<int64_t> limits_;                    // workspaces, ascending
  std::vector<ClassModes> modes_;                  // by limit and class
  std::vector<ClassCounts> before_;                // layers in front of each chain position
  std::vector<Sums> held_before_;                  // by chain position
  std::vector<OnHost> on_host_before_;             // by chain position
  std::vector<std::vector<int64_t>> kept_before_;  // of one pack, by limit and position
  mutable std::vector<int64_t> kept_;  // of one pack, by chunk: only for Allocated and HasHostRoom
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CUTS_STAGE_NEEDS_H_
