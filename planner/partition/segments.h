// Ways to cut the chain of a pipeline: which segments a stage may run, and their figures that need
// no search.
#ifndef EVENKEEL_PLANNER_PARTITION_SEGMENTS_H_
#define EVENKEEL_PLANNER_PARTITION_SEGMENTS_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "planner/cost/layer_profile.h"
#include "planner/job.h"
#include "planner/recompute/least_recompute.h"

namespace evenkeel::planner {

enum class MemoryLimit { kGpu, kNone };  // the memory that segments must fit in

// Boundaries are chain positions: stage s runs [b[s], b[s+1]), b[0] = 0, b[P] = size of the chain.
// Every stage holds at least one transformer layer, and every other layer lies with a neighbouring
// one. Not thread-safe.
class Segments {
 public:
  // P stages and m packs per rank. constraints.stage_layers (may be empty) fixes the transformer
  // layers of each stage. The patch embedding then joins the first layer, the projector the last
  // encoder layer, the token embedding the first decoder layer, and the head the last layer. Job
  // and profile must outlive it.
  Segments(const Job& job, const LayerProfile& profile, const Parallelism& p, int64_t micro_batches,
           MemoryLimit memory = MemoryLimit::kGpu);

  int64_t stages() const { return stages_; }
  int64_t size() const { return size_; }
  // Returns at how many positions a stage can begin: every stage before and after it takes at least
  // one layer. Below 1 if there are too many stages.
  int64_t window() const { return size_ - stages_ + 1; }
  // Returns the number of segments of all stages.
  int64_t count() const { return window() < 1 ? 0 : stages_ * (window() * (window() + 1) / 2); }

  bool Allowed(int64_t s, int64_t i, int64_t j) const;
  // Returns the least recompute of [i, j) as stage s under the job's policy, or nullopt if it does
  // not fit. REQUIRES: Allowed(s, i, j).
  std::optional<RecomputeChoice> Recompute(int64_t s, int64_t i, int64_t j) const {
    return chooser_.Least({Counts(i, j), InFlight(s), i});
  }
  // Returns recompute_ns - undecided_ns of Recompute(s, i, j).
  std::optional<int64_t> LeastRecomputeTime(int64_t s, int64_t i, int64_t j) const {
    return chooser_.LeastTime({Counts(i, j), InFlight(s), i});
  }
  // Returns the boundaries that constraints.stage_layers fixes; empty if they are free.
  const std::vector<int64_t>& fixed_boundaries() const { return fixed_boundaries_; }
  // Returns the layers by class in [i, j).
  ClassCounts Counts(int64_t i, int64_t j) const;
  // Returns the forward and backward time of one mean pack through the first i layers, in ns.
  int64_t WorkBefore(int64_t i) const { return prefix_ns_[static_cast<size_t>(i)]; }
  // Returns the forward part of WorkBefore(i).
  int64_t ForwardBefore(int64_t i) const { return forward_ns_[static_cast<size_t>(i)]; }
  int64_t InFlight(int64_t s) const { return std::min(micro_batches_, stages_ - s); }
  // Returns the p2p time of one pack from stage s to s + 1 if the chain is cut at j, in ns; 0 after
  // the last stage.
  int64_t SendTime(int64_t s, int64_t j) const {
    return s + 1 == stages_ ? 0 : sends_[static_cast<size_t>(s * (size_ + 1) + j)];
  }

  const Job& job() const { return job_; }
  const LayerProfile& profile() const { return profile_; }
  const Parallelism& parallelism() const { return p_; }
  int64_t micro_batches() const { return micro_batches_; }

 private:
  int64_t Transformers(int64_t i, int64_t j) const;

  const Job& job_;
  const LayerProfile& profile_;
  const Parallelism p_;
  const int64_t micro_batches_;
  const int64_t stages_;
  const int64_t size_;
  mutable RecomputeChooser chooser_;
  std::vector<ClassCounts> prefix_;        // layers by class before each position
  std::vector<int64_t> transformers_;      // transformer layers before each position
  std::vector<int64_t> prefix_ns_;         // forward + backward before each position
  std::vector<int64_t> forward_ns_;        // forward before each position
  std::vector<int64_t> sends_;             // by stage and cut
  std::vector<int64_t> fixed_boundaries_;  // empty if free
};

// Returns the boundaries of segments with the given numbers of transformer layers. A projector
// stays with the encoder; other layers go with what follows.
std::vector<int64_t> CutAfter(const LayerProfile& profile, const std::vector<int64_t>& layers);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PARTITION_SEGMENTS_H_
