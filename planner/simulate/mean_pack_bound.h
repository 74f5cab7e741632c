// Lower bounds on the simulation of mean packs, to prune a cut without it.
#ifndef EVENKEEL_PLANNER_SIMULATE_MEAN_PACK_BOUND_H_
#define EVENKEEL_PLANNER_SIMULATE_MEAN_PACK_BOUND_H_

#include <cstdint>
#include <vector>

#include "planner/job.h"
#include "planner/simulate/pipeline_run.h"
#include "planner/simulate/schedule.h"
#include "planner/simulate/step_simulation.h"

namespace evenkeel::planner {

// Bounds the passes of equal, mean packs that run in the order of a shape's schedule:
// docs/ALGORITHMS.md, "Bounds of one cut". For callers that bound many cuts of one shape.
class MeanPackBound {
 public:
  explicit MeanPackBound(const PipelineShape& shape);

  // Returns lower bounds, in ns, on the end of each stage's last pass. Sets LastPasses().
  const std::vector<int64_t>& Ends(const std::vector<SegmentWork>& segments);

  // Returns lower bounds on start and end of each chunk's last backward pass (of its weight
  // gradient, under kZeroBubble), element stage x chunks + chunk. REQUIRES: Ends() was called.
  const std::vector<Span>& LastPasses() const { return last_; }

 private:
  struct Counts {  // of one chunk's passes
    int64_t first_forwards = 0, last_row_forwards = 0, first_backwards = 0;
  };

  void ZeroBubbleEnds(const std::vector<SegmentWork>& segments);
  void FirstForwards(const std::vector<SegmentWork>& segments);
  void FirstBackwards(const std::vector<SegmentWork>& segments);
  void LastForwards(const std::vector<SegmentWork>& segments);
  void LastBackwards(const std::vector<SegmentWork>& segments);

  const PipelineShape shape_;
  const size_t stages_, chunks_, segments_,
      last_row_;                            // last_row_: segment of stage 0's last chunk
  const int64_t first_group_, last_group_;  // micro-batches
  std::vector<Counts> counts_;              // by segment
  std::vector<int64_t> left_;  // by stage: forwards after the first backward of the last group
  // By segment: starts of the forwards of the first group's first micro-batch, and by stage: starts
  // of the first backward, of the last forward, and all work before that backward.
  std::vector<int64_t> forward_, first_backward_, last_forward_, before_backward_, all_forwards_;
  std::vector<Span> last_;
  std::vector<int64_t> ends_;
};

// Returns the latest of MeanPackBound::Ends.
int64_t MeanPacksAtLeast(const PipelineShape& shape, const std::vector<SegmentWork>& segments);

// Bounds total_ns of MeanPackStep with the same arguments.
class MeanPackStepBound {
 public:
  MeanPackStepBound(const Job& job, const PipelineShape& shape, int64_t events);
  int64_t AtLeast(const std::vector<SegmentWork>& segments, StepCache& cache);

 private:
  void SetExchange(const std::vector<SegmentWork>& segments, StepCache& cache);

  const Job& job_;
  const PipelineShape shape_, simulated_;
  MeanPackBound bound_;
  PipelineSpec spec_;                         // only the exchange
  std::vector<TrainedParameters> trained_;    // by segment, of the cut before
  std::vector<TrainedParameters> of_stages_;  // sums over the segments of each stage
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SIMULATE_MEAN_PACK_BOUND_H_
