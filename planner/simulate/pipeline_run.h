// The input and the results of the simulation of one optimizer step. All times are in nanoseconds.
#ifndef EVENKEEL_PLANNER_SIMULATE_PIPELINE_RUN_H_
#define EVENKEEL_PLANNER_SIMULATE_PIPELINE_RUN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "planner/simulate/pass_values.h"
#include "planner/simulate/schedule.h"

namespace evenkeel::planner {

struct PipelineSpec {
  PipelineShape shape;
  PassValues forward_ns;
  PassValues backward_ns;   // total: recompute, gradients of inputs and of weights
  PassValues recompute_ns;  // part of backward_ns: forwards repeated at its start
  // Part of backward_ns: the pass that kZeroBubble defers; otherwise unused.
  PassValues weight_gradient_ns;

  // Element q: one-way p2p of one micro-batch over the boundary after virtual stage q. Its gradient
  // takes the same time on the way back. At least virtual_stages - 1 elements.
  std::vector<int64_t> send_ns;
  bool send_blocks = false;  // the sender does not compute while it sends

  // Data-parallel communication, element stage x chunks + chunk. Empty if there is none.
  std::vector<int64_t> gather_ns;  // parameters, before the first forward of the chunk
  std::vector<int64_t> sync_ns;    // gradients
  // True if this communication overlaps with passes, bucket by bucket. A chunk's gradients become
  // available evenly during its last backward (or weight gradient); its parameters are used evenly
  // during its first forward. One stream carries a stage's chunks one after the other.
  bool gather_overlaps = false;  // if false, a stage gathers all before its first forward
  bool sync_overlaps = false;    // if false, a stage reduces all after its last pass
  // Passes that overlap with this communication take longer by this share of it. The delay counts
  // at the end of the first forward, and when the stage's gradients are reduced.
  double overlap_slowdown = 0;
  // Each chunk's parameters and gradients move as this many buckets of equal time, >= 1; the last
  // one may be smaller. If empty, there is one bucket each.
  std::vector<double> buckets;

  // Optimizer time by stage. The optimizer starts when all stages have synced, because the gradient
  // norm is global. Empty if there is no optimizer.
  std::vector<int64_t> optimizer_ns;

  double buckets_of(size_t unit) const { return buckets.empty() ? 1 : buckets[unit]; }
};

// The time of one stage. The fields other than ends sum to the step (see total_ns).
struct StageRun {
  int64_t forward_ns = 0;
  int64_t recompute_ns = 0;
  int64_t backward_ns = 0;         // without recompute and weight_gradient_ns
  int64_t weight_gradient_ns = 0;  // run as passes of their own
  int64_t send_ns = 0;             // blocking sends
  int64_t gather_ns = 0;           // waiting for its own parameters
  int64_t wait_p2p_ns = 0;         // waiting for data that is being sent
  int64_t wait_forward_ns = 0;     // waiting for a forward that still runs on another stage
  int64_t wait_backward_ns = 0;    // waiting for a backward that still runs on another stage
  int64_t sync_ns = 0;             // after its last pass, until its gradients are reduced
  int64_t wait_sync_ns = 0;        // after that, until all stages' gradients are reduced
  int64_t optimizer_ns = 0;
  int64_t wait_optimizer_ns = 0;  // until all optimizers are done

  int64_t end_ns = 0;       // end of its last pass, a blocking send included
  int64_t sync_end_ns = 0;  // >= end_ns

  int64_t busy_ns() const { return forward_ns + recompute_ns + backward_ns + weight_gradient_ns; }
  int64_t total_ns() const {
    return busy_ns() + send_ns + gather_ns + wait_p2p_ns + wait_forward_ns + wait_backward_ns +
           sync_ns + wait_sync_ns + optimizer_ns + wait_optimizer_ns;
  }
};

struct TimedPass {
  Pass pass;
  int64_t start_ns = 0, end_ns = 0;
};

struct Span {
  int64_t start_ns = 0, end_ns = 0;
};

struct PipelineRun {
  int64_t pipeline_ns = 0;  // end of the last pass of all stages
  int64_t synced_ns = 0;    // all gradients are reduced
  int64_t step_ns = 0;      // the whole step
  std::vector<StageRun> stages;
  std::vector<std::vector<TimedPass>> passes;  // by stage, in order; only if asked for
  // Transfers of the chunks' parameters and gradients, element stage x chunks + chunk, from the
  // time when the first bucket can move. A span is empty if there is nothing to move.
  std::vector<Span> gathers, syncs;
};

// One rank of a step of several ranks.
struct RankRun {
  PipelineRun pipeline;  // its syncs and all later times are those of the whole step
  // Time from a stage's last pass until the same stage of every rank has ended its last pass: mean
  // over the stages, rounded down.
  int64_t idle_ns = 0;
};

struct RanksRun {
  int64_t pipeline_ns = 0;  // of the slowest rank
  int64_t step_ns = 0;
  std::vector<RankRun> ranks;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SIMULATE_PIPELINE_RUN_H_
