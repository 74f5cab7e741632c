// Partitions for schedules whose memory or time do not decompose by stage: virtual stages
// (interleaved 1F1B), GPipe and zero-bubble. The best that is found, and a proven bound.
#ifndef EVENKEEL_PLANNER_PARTITION_CHUNKED_SEARCH_H_
#define EVENKEEL_PLANNER_PARTITION_CHUNKED_SEARCH_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "planner/cost/layer_profile.h"
#include "planner/job.h"
#include "planner/simulate/schedule.h"
#include "planner/simulate/step_simulation.h"

namespace evenkeel::planner {

// Segment q of the chain is chunk q / P of stage q % P.
struct ChunkedPartition {
  std::vector<int64_t> boundaries;  // P v + 1 chain positions; empty: nothing was found that fits
  std::vector<ModeCounts> recomputed;  // by segment
  std::vector<StageWork> segments;     // send_ns: to the next segment
  int64_t step_ns = 0;                 // mean packs, data sync and optimizer included
  int64_t lower_bound_ns = 0;  // no partition and recompute of this schedule has a shorter step
  int64_t simulations = 0;
  bool stopped = false;  // `stop` said so; nothing else means anything
};

struct ChunkedLimits {
  // Forwards and backwards simulated at most, recompute choices counted along: some 100 ms.
  int64_t passes = 2'000'000;
};

// Chunks as even as they come in time (dynamic programming), then layers moved between stages as
// long as that evens out the stages' work with its recompute, then boundaries moved by one while
// the simulated step gets shorter. Memory counts what each chunk of a stage holds at every moment
// of the schedule; recompute is the least for the fullest such moment. `mean`: the pack of the
// profile's times. constraints.stage_layers: only for one chunk per stage; else nothing is found.
ChunkedPartition PartitionChunks(const Job& job, const LayerProfile& profile, const Parallelism& p,
                                 Schedule schedule, int64_t micro_batches, const PackShape& mean,
                                 const ChunkedLimits& limits, const std::function<bool()>& stop);

// Chunks' micro-batches held at once at the moments that matter: no other moment of the stage's
// passes holds as many of every chunk. From the start of a forward to the end of its backward.
std::vector<std::vector<int64_t>> HeldAtOnce(const PipelineShape& shape, int64_t stage);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PARTITION_CHUNKED_SEARCH_H_
