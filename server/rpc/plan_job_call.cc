#include "server/rpc/plan_job_call.h"

#include <utility>

#include "server/planning/plan_cost.h"
#include "server/planning/plan_work.h"
#include "server/rpc/outcome_status.h"
#include "server/rpc/wire.h"

namespace evenkeel::server {

PlanJobCall::PlanJobCall(PlanJobParts parts, std::unique_ptr<RpcScope> scope, grpc::Slice request,
                         grpc::ByteBuffer* response)
    : parts_(std::move(parts)),
      scope_(std::move(scope)),
      request_(std::move(request)),
      response_(response) {}

std::shared_ptr<PlanJobCall> PlanJobCall::Make(PlanJobParts parts, std::unique_ptr<RpcScope> scope,
                                               grpc::Slice request, grpc::ByteBuffer* response) {
  const std::shared_ptr<PlanJobCall> call(
      new PlanJobCall(std::move(parts), std::move(scope), std::move(request), response));
  call->self_ = call;
  return call;
}

void PlanJobCall::Start(const std::string& plan_id, OfferJobs offers,
                        const UsedCalibration& calibration) {
  calibration_ = calibration;
  scope_->SetPlan(plan_id, "");
  const PlanQuery wanted{scope_->caller().tenant, plan_id, parts_.max_age_seconds};
  const auto answer = [self = shared_from_this()](const PlanOutcome& outcome) {
    self->OnOutcome(outcome);
  };
  const WorkTerms terms = scope_->terms(PlanCost(offers));
  const PlanningCore::Ticket ticket =
      parts_.core.Plan(wanted, PlanWork(parts_.compute, plan_id, std::move(offers)), answer, terms);
  bool cancelled = false;
  {
    const MutexLock lock(mutex_);
    ticket_ = ticket;
    cancelled = cancelled_;
  }
  if (cancelled) parts_.core.Cancel(ticket);
}

void PlanJobCall::Answer(const std::string& plan_id, std::string response) {
  scope_->SetPlan(plan_id, "");
  *response_ = ToByteBuffer(std::move(response));
  End(grpc::Status::OK);
}

void PlanJobCall::End(const grpc::Status& status) {
  scope_->End(status);
  Finish(status);
}

void PlanJobCall::OnCancel() {
  PlanningCore::Ticket ticket;
  {
    const MutexLock lock(mutex_);
    cancelled_ = true;
    ticket = ticket_;
  }
  parts_.core.Cancel(ticket);
}

// The thread that answered may hold the call for longer than the service lives.
void PlanJobCall::OnDone() {
  const auto self = std::move(self_);
  scope_.reset();
}

void PlanJobCall::OnOutcome(const PlanOutcome& outcome) {
  scope_->AddSteps(outcome);
  const grpc::Status status = ToStatus(outcome, *scope_);
  if (status.ok()) Fill(outcome);
  End(status);
}

void PlanJobCall::Fill(const PlanOutcome& outcome) {
  const StoredPlan& plan = *outcome.plan;
  scope_->SetPlan(plan.plan_id, TierName(outcome.tier));
  // A remembered request is answered from memory, for plans of any age.
  if (!parts_.max_age_seconds) {
    parts_.memo.Remember(ViewOf(request_), {plan.plan_id, parts_.label},
                         {scope_->caller().tenant, calibration_.generation});
  }
  *response_ = ToByteBuffer(
      EncodePlanJobResponse(plan, ServedFromOf(outcome.tier), parts_.label, calibration_.facts));
}

}  // namespace evenkeel::server
