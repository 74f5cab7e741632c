// Tests whether the cut that is even in layers fits.
#ifndef EVENKEEL_PLANNER_CUTS_EVEN_LAYERS_H_
#define EVENKEEL_PLANNER_CUTS_EVEN_LAYERS_H_

#include <cstdint>
#include <vector>

#include "planner/cost/layer_profile.h"
#include "planner/job.h"
#include "planner/recompute/stage_memory.h"

namespace evenkeel::planner {

// The cut that is even in layers, or the one that the job gives.
class EvenLayers {
 public:
  EvenLayers(const Job& job, const LayerProfile& profile, const Parallelism& p, Schedule schedule,
             int64_t micro_batches);

  // Returns whether all stages fit. `profile` may differ from the constructor's in its setting.
  bool Fit(const LayerProfile& profile) const;
  // Returns whether all stages fit with one more transformer layer of any kind, as nearby cuts
  // have.
  bool FitWithOneMore(const LayerProfile& profile) const;

 private:
  bool Fits(const LayerProfile& profile, const std::vector<ChunkLoad>& stage) const;

  const RecomputePolicy policy_;
  const int64_t allocatable_;
  std::vector<std::vector<ChunkLoad>> stages_;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CUTS_EVEN_LAYERS_H_
