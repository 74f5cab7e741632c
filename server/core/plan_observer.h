// Events of the planning core, for metrics.
#ifndef EVENKEEL_SERVER_CORE_PLAN_OBSERVER_H_
#define EVENKEEL_SERVER_CORE_PLAN_OBSERVER_H_

#include <cstddef>
#include <cstdint>

#include "planner/plan_hooks.h"
#include "server/core/fair_queue.h"

namespace evenkeel::server {

enum class PlanEnding { kFits, kMisfit, kStopped, kDefect, kTimeLimit };
enum class ShedReason {
  kQueueFull,
  kShuttingDown,
  kPackStreams,
  kPackMemory,
  kDisplaced,         // it waited, and was displaced by a client that had less work waiting
  kDeadlineTooShort,  // it could not have begun before its deadline
  kExpired,           // it waited past its deadline, and never began
};
inline constexpr size_t kPlanEndings = 5, kShedReasons = 7;
enum class PackEnding { kPacked, kStopped, kDefect };

// Calls come from any thread, some of them under the core's lock. Implementations must be fast and
// must not call back.
class PlanObserver {
 public:
  virtual ~PlanObserver() = default;
  virtual void OnQueueWait(Lane /*lane*/, double /*seconds*/) {}
  virtual void OnPhase(planner::Phase /*phase*/, double /*seconds*/) {}
  virtual void OnComputed(PlanEnding /*ending*/) {}
  virtual void OnShed(ShedReason /*reason*/) {}
  virtual void OnJoined() {}  // a request joined a computation in progress
  virtual void OnPacked(PackEnding /*ending*/, int64_t /*samples*/, double /*seconds*/) {}
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CORE_PLAN_OBSERVER_H_
