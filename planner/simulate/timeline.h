// A simulated step as operations on each stage, for a trace or a picture.
#ifndef EVENKEEL_PLANNER_SIMULATE_TIMELINE_H_
#define EVENKEEL_PLANNER_SIMULATE_TIMELINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "planner/simulate/pipeline.h"
#include "planner/simulate/pipeline_memory.h"

namespace evenkeel::planner {

enum class OperationKind {
  kParameterGather,
  kForward,
  kRecompute,  // at the start of a backward
  kBackward,
  kWeightGradient,
  kSendActivation,  // to the next virtual stage
  kSendGradient,    // to the previous virtual stage
  kGradientSync,
  kOptimizer
};

struct Operation {
  OperationKind kind = OperationKind::kForward;
  int64_t chunk = -1;        // -1 for the whole stage
  int64_t micro_batch = -1;  // -1 for none
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

// Returns the operations by stage, then by start, with passes before the sends that follow from
// them. Operations that take no time are left out. Sends belong to the stage that sends. The time
// between a stage's passes is idle or a blocking send. REQUIRES: `run` holds its passes.
std::vector<std::vector<Operation>> Operations(const PipelineSpec& spec, const PipelineRun& run);

// One step with all data to show.
struct Timeline {
  PipelineShape shape;
  RanksRun run;           // of all ranks, without their passes
  size_t shown_rank = 0;  // the first of the slowest, to which the fields below belong
  std::vector<std::vector<Operation>> operations;  // by stage
  std::vector<std::string> part_names;             // names of the memory parts
  std::vector<StageMemory> memory;                 // by stage; empty without parts
};

// Simulates the ranks as SimulateRanks does; one spec stands for ranks that are all alike.
Timeline MakeTimeline(const std::vector<PipelineSpec>& ranks, const std::vector<MemoryPart>& parts);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SIMULATE_TIMELINE_H_
