#include "server/rpc/outcome_status.h"

#include <string>

#include "server/log.h"
#include "server/rpc/errors.h"

namespace evenkeel::server {

grpc::Status ToStatus(const PlanOutcome& outcome, const RpcScope& scope) {
  for (const std::string& fault : outcome.faults) {
    LogLine(LogLevel::kError, "planner defect")
        .Add("request_id", scope.request_id())
        .Add("fault", fault);
  }
  switch (outcome.kind) {
    case OutcomeKind::kPlan:
      return grpc::Status::OK;
    case OutcomeKind::kCancelled:
      return scope.deadline_passed() ? DeadlineExceeded() : Cancelled();
    case OutcomeKind::kQueueFull:
      return QueueFull(outcome.retry_after_seconds);
    case OutcomeKind::kShuttingDown:
      return ShuttingDown();
    case OutcomeKind::kDeadlineTooShort:
      return DeadlineTooShort(outcome.retry_after_seconds);
    case OutcomeKind::kExpired:
      return DeadlineExceeded();
    case OutcomeKind::kTimeLimit:
      return PlanTimeLimit(outcome.limit_seconds);
    case OutcomeKind::kRefused:
      return InvalidRequest(outcome.violations);
    case OutcomeKind::kDefect:
      break;
  }
  return PlannerDefect(scope.request_id());
}

}  // namespace evenkeel::server
