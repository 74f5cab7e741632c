// Exact event simulation of one optimizer step of a pipeline, on one data-parallel rank or on
// several. All times are in nanoseconds; the simulation only adds and compares integers.
#ifndef EVENKEEL_PLANNER_SIMULATE_PIPELINE_H_
#define EVENKEEL_PLANNER_SIMULATE_PIPELINE_H_

#include <cstdint>
#include <vector>

#include "planner/base/stop.h"
#include "planner/simulate/pass_walk.h"
#include "planner/simulate/pipeline_run.h"
#include "planner/simulate/schedule.h"

namespace evenkeel::planner {

PipelineRun SimulatePipeline(const PipelineSpec& spec, bool keep_passes = false);

// Returns only pipeline_ns of SimulatePipeline, much faster. `list` holds the passes of spec.shape,
// for callers that simulate one shape often. Throws Stopped if `stop` ends the work. REQUIRES: with
// a list, nothing is gathered.
int64_t PipelineEnd(const PipelineSpec& spec);
int64_t PipelineEnd(const PipelineSpec& spec, const PassList& list, const Stop& stop = {});

// pipeline_ns and synced_ns of SimulatePipeline, as fast as PipelineEnd. 1F1B needs no list.
// REQUIRES: nothing is gathered.
struct StepEnds {
  int64_t pipeline_ns = 0, synced_ns = 0;
};
StepEnds PipelineEnds(const PipelineSpec& spec, const PassList& list, const Stop& stop = {});

// Simulates data-parallel ranks, each with micro-batches of its own: a stage's gradients are
// reduced when every rank has them. REQUIRES: at least one spec; all have the same shape and
// data-parallel communication.
RanksRun SimulateRanks(const std::vector<PipelineSpec>& specs, bool keep_passes = false);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SIMULATE_PIPELINE_H_
