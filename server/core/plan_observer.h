// What the planning core tells the world while it works. For metrics.
#ifndef EVENKEEL_SERVER_CORE_PLAN_OBSERVER_H_
#define EVENKEEL_SERVER_CORE_PLAN_OBSERVER_H_

#include <cstddef>
#include <cstdint>

#include "planner/make_plan.h"
#include "server/core/fair_queue.h"

namespace evenkeel::server {

enum class PlanEnding { kFits, kMisfit, kStopped, kDefect, kTimeLimit };
enum class ShedReason {
  kQueueFull,
  kShuttingDown,
  kPackStreams,
  kPackMemory,
  kDisplaced,         // waited, and gave way to a client who had less
  kDeadlineTooShort,  // could not have begun in time
  kExpired,           // waited beyond its deadline, and never began
};
inline constexpr size_t kPlanEndings = 5, kShedReasons = 7;
enum class PackEnding { kPacked, kStopped, kDefect };

// Calls come from any thread, some of them under the core's lock: be quick, and do not call back.
class PlanObserver {
 public:
  virtual ~PlanObserver() = default;
  virtual void OnQueueWait(Lane /*lane*/, double /*seconds*/) {}
  virtual void OnPhase(planner::Phase /*phase*/, double /*seconds*/) {}
  virtual void OnComputed(PlanEnding /*ending*/) {}
  virtual void OnShed(ShedReason /*reason*/) {}
  virtual void OnJoined() {}  // a request shares a computation under way
  virtual void OnPacked(PackEnding /*ending*/, int64_t /*samples*/, double /*seconds*/) {}
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CORE_PLAN_OBSERVER_H_
