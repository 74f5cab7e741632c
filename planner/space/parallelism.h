// How a job is spread over GPUs, and the order in which its stages run.
#ifndef EVENKEEL_PLANNER_SPACE_PARALLELISM_H_
#define EVENKEEL_PLANNER_SPACE_PARALLELISM_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace evenkeel::planner {

// GPUs of a job, and so each degree.
inline constexpr int64_t kGpusAtMost = 65536;

// Degrees of parallelism; tensor x context x data x pipeline = GPUs. Ranks are laid out
// tp-cp-dp-pp, tensor fastest.
struct Parallelism {
  int64_t tensor = 1;
  int64_t pipeline = 1;
  int64_t data = 1;
  int64_t context = 1;         // ranks that share the tokens of one pack
  int64_t expert = 1;          // ranks that share a layer's experts, within a pipeline stage
  int64_t virtual_stages = 1;  // chunks of the model on each pipeline stage
  // Ranks of a tensor x context group that share the images of a pack. 1: encoders are split by the
  // tensor degree, and every context rank runs them on the whole pack. `context`: context ranks
  // share the images. tensor x context: each rank has whole encoders.
  int64_t encoder_data = 1;
  friend bool operator==(const Parallelism&, const Parallelism&) = default;
};

// Returns the degrees of a stage as its encoder layers see them: where each rank has whole
// encoders, the tensor ranks are data ranks.
inline Parallelism EncoderDegrees(Parallelism p) {
  if (p.encoder_data == 1 || p.encoder_data != p.tensor * p.context) return p;
  p.data *= p.tensor;
  p.tensor = 1;
  return p;
}

// Returns whether the degree of the encoder suits the others.
inline bool EncoderDataAllowed(const Parallelism& p) {
  return p.encoder_data == 1 || p.encoder_data == p.context ||
         p.encoder_data == p.tensor * p.context;
}

enum class Schedule { kOneFOneB, kInterleaved, kGPipe, kZeroBubble };

// Returns whether a backward pass is two passes: the gradient of the input, and later that of the
// weights.
constexpr bool SplitsBackward(Schedule schedule) { return schedule == Schedule::kZeroBubble; }

// Returns how many kinds of passes a micro-batch has.
constexpr int64_t PassKindsOf(Schedule schedule) { return SplitsBackward(schedule) ? 3 : 2; }

// Returns its name for people.
constexpr std::string_view TitleOf(Schedule schedule) {
  constexpr std::string_view kTitles[] = {"1F1B", "interleaved 1F1B", "GPipe", "zero-bubble ZB-H1"};
  return kTitles[static_cast<size_t>(schedule)];
}

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SPACE_PARALLELISM_H_
