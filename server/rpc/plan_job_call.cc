#include "server/rpc/plan_job_call.h"

#include <utility>

#include "server/convert/plan_cost.h"
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
  const auto answer = [this](const PlanOutcome& outcome) { Answer(outcome); };
  const WorkTerms terms = scope_->terms(PlanCost(offers));
  if (!offers.several()) {
    ticket_ = parts_.core.Plan(plan_id, std::move(offers.offers.front().job), answer, terms);
    return;
  }
  const Work work = [plan_id, offers = std::move(offers)](const planner::PlanHooks& hooks) {
    WorkResult result;
    result.end = ComputeOffers(offers, plan_id, hooks, &result.computed, &result.faults);
    return result;
  };
  ticket_ = parts_.core.PlanWith(plan_id, work, answer, terms);
}

void PlanJobCall::OnCancel() { parts_.core.Cancel(ticket_); }

void PlanJobCall::OnDone() { delete this; }

void PlanJobCall::Answer(const PlanOutcome& outcome) {
  const grpc::Status status = ToStatus(outcome, *scope_);
  if (status.ok()) Fill(outcome);
  scope_->End(status);
  Finish(status);
}

void PlanJobCall::Fill(const PlanOutcome& outcome) {
  const StoredPlan& plan = *outcome.plan;
  scope_->SetPlan(plan.plan_id, outcome.from_memory ? "memory" : "planner");
  parts_.memo.Remember(ViewOf(request_), {plan.plan_id, label_}, parts_.generation);
  const auto served_from = outcome.from_memory ? v1::SERVED_FROM_MEMORY : v1::SERVED_FROM_PLANNER;
  *response_ = ToByteBuffer(EncodePlanJobResponse(plan, served_from, label_));
}

}  // namespace evenkeel::server
