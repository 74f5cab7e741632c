// How a job is spread over GPUs, and the order in which its stages run.
#ifndef EVENKEEL_PLANNER_SPACE_PARALLELISM_H_
#define EVENKEEL_PLANNER_SPACE_PARALLELISM_H_

#include <cstdint>

namespace evenkeel::planner {

// Degrees of parallelism; tensor x context x data x pipeline = GPUs. Ranks are laid out
// tp-cp-dp-pp, tensor fastest.
struct Parallelism {
  int64_t tensor = 1;
  int64_t pipeline = 1;
  int64_t data = 1;
  int64_t context = 1;         // ranks that share the tokens of one pack
  int64_t expert = 1;          // ranks that share a layer's experts, within a pipeline stage
  int64_t virtual_stages = 1;  // chunks of the model on each pipeline stage
  friend bool operator==(const Parallelism&, const Parallelism&) = default;
};

enum class Schedule { kOneFOneB, kInterleaved, kGPipe, kZeroBubble };

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SPACE_PARALLELISM_H_
