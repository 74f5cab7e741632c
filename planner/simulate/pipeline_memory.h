// Memory of each pipeline stage over a step, and the time and parts of its peak. Sizes are bytes of
// one GPU of the stage.
#ifndef EVENKEEL_PLANNER_SIMULATE_PIPELINE_MEMORY_H_
#define EVENKEEL_PLANNER_SIMULATE_PIPELINE_MEMORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "planner/simulate/pipeline.h"

namespace evenkeel::planner {

// One part of the memory of all stages. A vector is empty if the part has no memory of that kind.
struct MemoryPart {
  std::string name;
  std::vector<int64_t> static_bytes;  // by stage, held all the time
  // Per pass, held from the start of the forward to the end of the backward.
  PassValues kept_bytes;
  // Part of kept_bytes that kZeroBubble holds until the end of the weight gradient's pass.
  PassValues weight_gradient_bytes;
  // Held while a pass runs, element stage x chunks + chunk.
  std::vector<int64_t> forward_workspace_bytes;
  std::vector<int64_t> backward_workspace_bytes;
  std::vector<int64_t> weight_gradient_workspace_bytes;
};

// The memory from `ns` until the next step of the curve.
struct MemoryStep {
  int64_t ns = 0;
  int64_t bytes = 0;
};

struct StageMemory {
  int64_t peak_bytes = 0;  // the highest memory of the step
  int64_t peak_ns = 0;     // the first moment of the peak: the start of `peak_pass`
  Pass peak_pass;
  std::vector<int64_t> peak_parts;  // in the order of the parts; they sum to peak_bytes
  InFlight peak_in_flight;          // passes held at the peak
  std::vector<MemoryStep> curve;    // starts at 0 ns
};

// Returns the memory by stage. REQUIRES: `run` holds its passes.
std::vector<StageMemory> MemoryOverTime(const PipelineSpec& spec, const PipelineRun& run,
                                        const std::vector<MemoryPart>& parts);

// Returns the peak of one stage, which follows from the order of its passes, without times and
// curve.
StageMemory PeakMemory(const PipelineShape& shape, int64_t stage,
                       const std::vector<MemoryPart>& parts);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SIMULATE_PIPELINE_MEMORY_H_
