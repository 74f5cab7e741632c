// Event simulation of the 1F1B pipeline schedule (PipeDream-Flush; Narayanan 2021, section 2.2).
#ifndef EVENKEEL_PLANNER_SIMULATE_ONE_F_ONE_B_H_
#define EVENKEEL_PLANNER_SIMULATE_ONE_F_ONE_B_H_

#include <cstdint>
#include <vector>

namespace evenkeel::planner {

// Times in ns. Row s holds stage s, one value per pack in the order in which the rank runs them.
struct PipelineTimes {
  std::vector<std::vector<int64_t>> forward;   // stages x packs
  std::vector<std::vector<int64_t>> backward;  // stages x packs, recompute included
  std::vector<int64_t> send;  // stages; p2p of one pack over the boundary behind the stage, one way
};

// When the last backward ends. Stage s runs min(m, P - 1 - s) forwards, then one forward and one
// backward in turn, then the remaining backwards. A pack crosses a boundary `send` after it is
// done; sending does not hold the stage up.
int64_t SimulateOneFOneB(const PipelineTimes& times);

// A lower bound for equal packs: max(sum_s (f_s + b_s) with sends, max_s [sum_{i<s} f_i + m (f_s +
// b_s) + sum_{i<s} b_i]).
int64_t OneFOneBLowerBound(const std::vector<int64_t>& forward,
                           const std::vector<int64_t>& backward, const std::vector<int64_t>& send,
                           int64_t micro_batches);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SIMULATE_ONE_F_ONE_B_H_
