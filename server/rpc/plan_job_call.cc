#include "server/rpc/plan_job_call.h"

#include <utility>

#include "server/log.h"
#include "server/rpc/errors.h"
#include "server/rpc/wire.h"

namespace evenkeel::server {

PlanJobCall::PlanJobCall(const PlanJobParts& parts, std::unique_ptr<RpcScope> scope,
                         grpc::Slice request, std::string label, grpc::ByteBuffer* response)
    : parts_(parts),
      scope_(std::move(scope)),
      request_(std::move(request)),
      label_(std::move(label)),
      response_(response) {}

void PlanJobCall::Start(const std::string& plan_id, planner::Job job) {
  scope_->SetPlan(plan_id, "");
  ticket_ = parts_.core.Plan(plan_id, std::move(job),
                             [this](const PlanOutcome& outcome) { Answer(outcome); });
}

void PlanJobCall::OnCancel() { parts_.core.Cancel(ticket_); }

void PlanJobCall::OnDone() { delete this; }

void PlanJobCall::Answer(const PlanOutcome& outcome) {
  const grpc::Status status = ToStatus(outcome);
  if (status.ok()) Fill(outcome);
  for (const std::string& fault : outcome.faults) {
    LogLine(LogLevel::kError, "planner defect")
        .Add("request_id", scope_->request_id())
        .Add("fault", fault);
  }
  scope_->End(status);
  Finish(status);
}

void PlanJobCall::Fill(const PlanOutcome& outcome) {
  const StoredPlan& plan = *outcome.plan;
  scope_->SetPlan(plan.plan_id, outcome.from_memory ? "memory" : "planner");
  parts_.memo.Remember(ViewOf(request_), {plan.plan_id, label_});
  const auto served_from = outcome.from_memory ? v1::SERVED_FROM_MEMORY : v1::SERVED_FROM_PLANNER;
  *response_ =
      ToByteBuffer(EncodePlanJobResponse(plan.plan_bytes, plan.plan_id, served_from, label_));
}

grpc::Status PlanJobCall::ToStatus(const PlanOutcome& outcome) const {
  switch (outcome.kind) {
    case OutcomeKind::kPlan:
      return grpc::Status::OK;
    case OutcomeKind::kCancelled:
      return scope_->deadline_passed() ? DeadlineExceeded() : Cancelled();
    case OutcomeKind::kQueueFull:
      return QueueFull(outcome.retry_after_seconds);
    case OutcomeKind::kShuttingDown:
      return ShuttingDown();
    case OutcomeKind::kDefect:
      break;
  }
  return PlannerDefect(scope_->request_id());
}

}  // namespace evenkeel::server
