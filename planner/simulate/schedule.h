// The order in which each pipeline stage runs the forward and backward passes of its micro-batches.
#ifndef EVENKEEL_PLANNER_SIMULATE_SCHEDULE_H_
#define EVENKEEL_PLANNER_SIMULATE_SCHEDULE_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "planner/job.h"

namespace evenkeel::planner {

// The passes to schedule. The model is cut into stages x chunks virtual stages; virtual stage q is
// chunk q / stages of stage q % stages.
struct PipelineShape {
  Schedule schedule = Schedule::kOneFOneB;
  int64_t stages = 1;         // P
  int64_t chunks = 1;         // v, per stage; always 1 for kOneFOneB and kZeroBubble
  int64_t micro_batches = 1;  // m
  int64_t given_group = 0;    // see WithFewer

  // Returns the micro-batches that go through one chunk before the next chunk's turn. It has no
  // meaning with one chunk.
  int64_t group() const;
  // Returns the beginning of this step: fewer micro-batches, in groups of the same size.
  PipelineShape WithFewer(int64_t fewer) const;

  int64_t virtual_stages() const { return stages * chunks; }
  int64_t virtual_stage(int64_t stage, int64_t chunk) const { return chunk * stages + stage; }
};

// kWeightGradient occurs only under kZeroBubble, where kBackward is only the gradient of the input.
enum class PassKind : uint8_t { kForward, kBackward, kWeightGradient };

// One run of one chunk over one micro-batch.
struct Pass {
  PassKind kind = PassKind::kForward;
  int32_t stage = 0;
  int32_t chunk = 0;
  int32_t micro_batch = 0;
  friend bool operator==(const Pass&, const Pass&) = default;
};

// Returns the passes of one stage, first to last. StagePasses goes through them one by one.
//   kOneFOneB     PipeDream-Flush (Narayanan 2021, arXiv 2104.04473, section 2.2):
//                 min(m, P - 1 - s) forwards, then a forward and a backward in turn, then the
//                 remaining backwards.
//   kInterleaved  as in Megatron-LM (same paper, and core/pipeline_parallel/schedules.py): groups
//                 of micro-batches go through chunk 0, then chunk 1, ...; backwards do the same
//                 with the chunks reversed; 2 (P - 1 - s) + (v - 1) x group forwards come first.
//   kGPipe        all forwards, then all backwards in the same order of micro-batches (Huang 2019,
//                 arXiv 1811.06965; the order is PyTorch's). With chunks, in kInterleaved's groups.
//   kZeroBubble   ZB-H1 (Qi 2023, arXiv 2401.10241, section 2.1): 1F1B, but the weight gradient
//                 of a micro-batch follows the input gradient of the s-th micro-batch after it.
std::vector<Pass> StageOrder(const PipelineShape& shape, int64_t stage);

class StagePasses {
 public:
  StagePasses(const PipelineShape& shape, int64_t stage);

  bool done() const { return done_; }
  const Pass& now() const { return now_; }  // REQUIRES: !done()
  void Next();

 private:
  enum class Turn : uint8_t { kForward, kBackward, kWeightGradient };
  // The next pass of a kind, with the chunks in the order of forwards, and its group.
  struct Place {
    int32_t chunk = 0, micro_batch = 0, first = 0, end = 0;
  };
  void Forward();
  void Advance(Place& place) const;

  int32_t stage_, chunks_, micro_batches_, group_;
  bool split_;
  int64_t warm_up_;  // forwards before the first backward that are left
  Place forward_, backward_;
  int64_t forwards_left_, backwards_left_, weight_gradients_left_;
  int64_t deferred_;  // backwards between an input gradient and its weight gradient
  Turn turn_ = Turn::kForward;
  bool done_ = false;
  Pass now_;
};

inline void StagePasses::Next() {
  if (warm_up_ > 0) {
    --warm_up_;
    return Forward();
  }
  switch (turn_) {
    case Turn::kForward:
      turn_ = Turn::kBackward;
      if (forwards_left_ > 0) return Forward();
      [[fallthrough]];
    case Turn::kBackward:
      if (backwards_left_ > 0) {
        turn_ = split_ && weight_gradients_left_ - backwards_left_ >= deferred_
                    ? Turn::kWeightGradient
                    : Turn::kForward;
        --backwards_left_;
        now_ = {PassKind::kBackward, stage_, chunks_ - 1 - backward_.chunk, backward_.micro_batch};
        return Advance(backward_);
      }
      [[fallthrough]];
    case Turn::kWeightGradient:
      done_ = weight_gradients_left_ == 0;
      if (done_) return;
      turn_ = Turn::kForward;
      now_ = {PassKind::kWeightGradient, stage_, 0,
              micro_batches_ - static_cast<int32_t>(weight_gradients_left_--)};
  }
}

inline void StagePasses::Forward() {
  --forwards_left_;
  now_ = {PassKind::kForward, stage_, forward_.chunk, forward_.micro_batch};
  Advance(forward_);
}

inline void StagePasses::Advance(Place& place) const {
  if (++place.micro_batch < place.end) return;
  place.micro_batch = place.first;
  if (++place.chunk < chunks_) return;
  place.chunk = 0;
  place.micro_batch = place.first = place.end;
  place.end = std::min(place.first + group_, micro_batches_);
}

// Returns the micro-batches that kInterleaved takes through one chunk before it turns to the next:
// P, as in Megatron-LM. If m is not a multiple of P, it is the least number above P with which
// Megatron-LM runs (its --microbatch-group-size-per-virtual-pipeline-stage): m divided by it leaves
// 0 or at least P. Fewer micro-batches than stages, which Megatron-LM refuses, form one group.
int64_t MicroBatchGroup(int64_t stages, int64_t micro_batches);

// Returns how many of a stage's first `passes` forwards are of the chunk. As many of its first
// backwards are of chunk v - 1 - `chunk`.
int64_t ForwardsOf(const PipelineShape& shape, int64_t chunk, int64_t passes);

// Passes of a stage whose activations are held at the moment when most are.
struct InFlight {
  int64_t whole = 0;  // held until the backward ends
  // Under kZeroBubble, further passes of which only the weight gradient's part is held.
  int64_t weight_gradient = 0;
  friend bool operator==(const InFlight&, const InFlight&) = default;
};
// Returns the most passes held at once. 1F1B: min(m, P - s). Interleaved: min(m v, 2 (P - 1 - s) +
// (v - 1) x group + 1), counted in chunks. GPipe: m v. Zero bubble: min(m, P - s) and, beyond
// those, up to s more.
InFlight MostInFlight(const PipelineShape& shape, int64_t stage);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SIMULATE_SCHEDULE_H_
