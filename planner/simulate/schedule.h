// In which order each pipeline stage runs the forward and backward passes of its micro-batches.
#ifndef EVENKEEL_PLANNER_SIMULATE_SCHEDULE_H_
#define EVENKEEL_PLANNER_SIMULATE_SCHEDULE_H_

#include <cstdint>
#include <vector>

#include "planner/base/stop.h"
#include "planner/job.h"

namespace evenkeel::planner {

// What is scheduled. The model is cut into stages x chunks virtual stages; number q of them is
// chunk q / stages of stage q % stages.
struct PipelineShape {
  Schedule schedule = Schedule::kOneFOneB;
  int64_t stages = 1;         // P
  int64_t chunks = 1;         // v, of each stage; always 1 for kOneFOneB and kZeroBubble
  int64_t micro_batches = 1;  // m
  int64_t given_group = 0;    // see WithFewer

  // Micro-batches that go through one chunk before the next one's turn. Of no meaning with one
  // chunk.
  int64_t group() const;
  // The beginning of this step: fewer micro-batches, in groups of the same size.
  PipelineShape WithFewer(int64_t fewer) const;

  int64_t virtual_stages() const { return stages * chunks; }
  int64_t virtual_stage(int64_t stage, int64_t chunk) const { return chunk * stages + stage; }
};

// kWeightGradient only in kZeroBubble, where kBackward is the gradient of the input alone.
enum class PassKind : uint8_t { kForward, kBackward, kWeightGradient };

// One run of one chunk over one micro-batch.
struct Pass {
  PassKind kind = PassKind::kForward;
  int32_t stage = 0;
  int32_t chunk = 0;
  int32_t micro_batch = 0;
  friend bool operator==(const Pass&, const Pass&) = default;
};

// The passes of one stage, first to last.
//   kOneFOneB     PipeDream-Flush (Narayanan 2021, arXiv 2104.04473, section 2.2): min(m, P - 1 -
//   s)
//                 forwards, then a forward and a backward in turn, then the other backwards.
//   kInterleaved  as Megatron-LM runs it (same paper, and core/pipeline_parallel/schedules.py):
//                 groups of micro-batches go through chunk 0, then chunk 1, ...; backwards alike
//                 with the chunks reversed; 2 (P - 1 - s) + (v - 1) x group forwards come first.
//   kGPipe        all forwards, then all backwards in the same order of micro-batches (Huang 2019,
//                 arXiv 1811.06965; the order is PyTorch's). With chunks: as kInterleaved's groups.
//   kZeroBubble   ZB-H1 (Qi 2023, arXiv 2401.10241, section 2.1): 1F1B, but the weight gradient
//                 of a micro-batch follows the input gradient of the s-th micro-batch after it.
std::vector<Pass> StageOrder(const PipelineShape& shape, int64_t stage);

// The passes of all stages, each behind whatever it waits for, and stages in their own order. A
// forward waits for that of the virtual stage before; a backward for that of the virtual stage
// behind, or, on the last one, for its own forward; a weight gradient for its backward.
std::vector<Pass> WorkOrder(const PipelineShape& shape, const Stop& stop = {});

// Micro-batches that kInterleaved takes through one chunk before it turns to the next: P, as
// Megatron-LM has it. Where m is no multiple of P, the least number above P with which Megatron-LM
// runs (its --microbatch-group-size-per-virtual-pipeline-stage): m divided by it leaves 0, or at
// least P. Fewer micro-batches than stages, which Megatron-LM refuses, are one group.
int64_t MicroBatchGroup(int64_t stages, int64_t micro_batches);

// Passes of a stage whose activations are held at the moment when they are most.
struct InFlight {
  int64_t whole = 0;            // until the backward ends
  int64_t weight_gradient = 0;  // of kZeroBubble: beyond those, only what the weight gradient needs
  friend bool operator==(const InFlight&, const InFlight&) = default;
};
// 1F1B: min(m, P - s). Interleaved: min(m v, 2 (P - 1 - s) + (v - 1) x group + 1), counted in
// chunks. GPipe: m v. Zero bubble: min(m, P - s) and, beyond those, up to s more.
InFlight MostInFlight(const PipelineShape& shape, int64_t stage);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SIMULATE_SCHEDULE_H_
