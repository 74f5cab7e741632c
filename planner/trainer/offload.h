// Which shares of an optimizer a trainer can keep and update in host memory.
#ifndef EVENKEEL_PLANNER_TRAINER_OFFLOAD_H_
#define EVENKEEL_PLANNER_TRAINER_OFFLOAD_H_

#include <array>

namespace evenkeel::planner {

enum class OffloadShares { kNone, kWhole, kAny };  // kWhole: all or nothing

struct OffloadAbility {
  std::array<OffloadShares, 4> by_stage = {};  // by ZeroStage
  // Copies and updates of different weights run at the same time. If false, one follows the other.
  bool overlaps = false;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_TRAINER_OFFLOAD_H_
