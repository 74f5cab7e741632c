// Memory of each pipeline stage over a step, and when and by what it peaks. Sizes are bytes of one
// GPU of the stage.
#ifndef EVENKEEL_PLANNER_SIMULATE_PIPELINE_MEMORY_H_
#define EVENKEEL_PLANNER_SIMULATE_PIPELINE_MEMORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "planner/simulate/pipeline.h"

namespace evenkeel::planner {

// One part of the memory of all stages. Empty vectors: nothing of the kind.
struct MemoryPart {
  std::string name;
  std::vector<int64_t> static_bytes;  // by stage, all the time
  PassValues kept_bytes;  // per pass: from the start of the forward until the backward ends
  PassValues weight_gradient_bytes;  // of kept_bytes: what kZeroBubble holds until the end of the
                                     // weight gradient's pass
  // While a pass runs, element stage x chunks + chunk.
  std::vector<int64_t> forward_workspace_bytes;
  std::vector<int64_t> backward_workspace_bytes;
  std::vector<int64_t> weight_gradient_workspace_bytes;
};

// From `ns` on, until the next step of the curve.
struct MemoryStep {
  int64_t ns = 0;
  int64_t bytes = 0;
};

struct StageMemory {
  int64_t peak_bytes = 0;  // the first moment of those when it is highest:
  int64_t peak_ns = 0;     // the start of
  Pass peak_pass;
  std::vector<int64_t> peak_parts;  // in the order of the parts; they sum to peak_bytes
  InFlight peak_in_flight;          // passes held then
  std::vector<MemoryStep> curve;    // starts at 0 ns
};

// By stage. REQUIRES: `run` holds its passes.
std::vector<StageMemory> MemoryOverTime(const PipelineSpec& spec, const PipelineRun& run,
                                        const std::vector<MemoryPart>& parts);

// The peak of one stage, which follows from the order of its passes alone: no times, no curve.
StageMemory PeakMemory(const PipelineShape& shape, int64_t stage,
                       const std::vector<MemoryPart>& parts);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SIMULATE_PIPELINE_MEMORY_H_
