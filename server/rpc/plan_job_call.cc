#include "server/rpc/plan_job_call.h"

#include <utility>

#include "server/convert/plan_cost.h"
#include "server/rpc/errors.h"
#include "server/rpc/outcome_status.h"
#include "server/rpc/wire.h"

namespace evenkeel::server {

PlanJobCall::PlanJobCall(const PlanJobParts& parts, std::unique_ptr<RpcScope> scope,
                         grpc::Slice request, std::string label, grpc::ByteBuffer* response)
    : parts_(parts),
      scope_(std::move(scope)),
      request_(std::move(request)),
      label_(std::move(label)),
      response_(response) {}

void PlanJobCall::Start(const std::string& plan_id, OfferJobs offers) {
  scope_->SetPlan(plan_id, "");
  const PlanWanted wanted{scope_->caller().tenant, plan_id, parts_.max_age_seconds};
  const auto answer = [this](const PlanOutcome& outcome) { Answer(outcome); };
  const WorkTerms terms = scope_->terms(PlanCost(offers));
  PlanningCore::Ticket ticket;
  if (!offers.several()) {
    ticket = parts_.core.Plan(wanted, std::move(offers.offers.front().job), answer, terms);
  } else {
    const Work work = [plan_id, offers = std::move(offers)](const planner::PlanHooks& hooks) {
      WorkResult result;
      result.end = ComputeOffers(offers, plan_id, hooks, &result.computed, &result.faults);
      return result;
    };
    ticket = parts_.core.PlanWith(wanted, work, answer, terms);
  }
  bool cancelled = false;
  {
    const std::lock_guard lock(mutex_);
    ticket_ = ticket;
    cancelled = cancelled_;
  }
  if (cancelled) parts_.core.Cancel(ticket);
}

std::unique_ptr<DeferredPlanJob> PlanJobCall::Defer() {
  ++holders_;
  return std::make_unique<DeferredPlanJob>(this);
}

void PlanJobCall::OnCancel() {
  PlanningCore::Ticket ticket;
  {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    ticket = ticket_;
  }
  parts_.core.Cancel(ticket);
}

void PlanJobCall::OnDone() { Release(); }

void PlanJobCall::Release() {
  if (--holders_ == 0) delete this;
}

void PlanJobCall::End(const grpc::Status& status) {
  scope_->End(status);
  Finish(status);
}

DeferredPlanJob::~DeferredPlanJob() {
  if (!ended_) call_->End(ShuttingDown());
  call_->Release();
}

void DeferredPlanJob::Start(const std::string& plan_id, OfferJobs offers, uint64_t generation,
                            const CalibrationFacts& calibration) {
  ended_ = true;
  call_->parts_.generation = generation;
  call_->parts_.calibration = calibration;
  call_->Start(plan_id, std::move(offers));
}

void DeferredPlanJob::Answer(const std::string& plan_id, std::string response) {
  call_->scope_->SetPlan(plan_id, "");
  *call_->response_ = ToByteBuffer(std::move(response));
  End(grpc::Status::OK);
}

void DeferredPlanJob::End(const grpc::Status& status) {
  ended_ = true;
  call_->End(status);
}

void PlanJobCall::Answer(const PlanOutcome& outcome) {
  const grpc::Status status = ToStatus(outcome, *scope_);
  if (status.ok()) Fill(outcome);
  End(status);
}

void PlanJobCall::Fill(const PlanOutcome& outcome) {
  const StoredPlan& plan = *outcome.plan;
  scope_->SetPlan(plan.plan_id, TierName(outcome.tier));
  // What is remembered is answered from memory, whatever its age.
  if (!parts_.max_age_seconds) {
    parts_.memo.Remember(ViewOf(request_), {plan.plan_id, label_},
                         {scope_->caller().tenant, parts_.generation});
  }
  *response_ = ToByteBuffer(
      EncodePlanJobResponse(plan, ServedFromOf(outcome.tier), label_, parts_.calibration));
}

}  // namespace evenkeel::server
