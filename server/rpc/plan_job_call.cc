#include "server/rpc/plan_job_call.h"

#include <utility>

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
  if (!offers.several()) {
    ticket_ = parts_.core.Plan(wanted, std::move(offers.offers.front().job), answer);
    return;
  }
  const Work work = [plan_id, offers = std::move(offers)](const planner::PlanHooks& hooks) {
    WorkResult result;
    result.end = ComputeOffers(offers, plan_id, hooks, &result.computed, &result.faults);
    return result;
  };
  ticket_ = parts_.core.PlanWith(wanted, work, answer);
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
  scope_->SetPlan(plan.plan_id, TierName(outcome.tier));
  // What is remembered is answered from memory, whatever its age.
  if (!parts_.max_age_seconds) {
    parts_.memo.Remember(ViewOf(request_), {plan.plan_id, label_},
                         {scope_->caller().tenant, parts_.generation});
  }
  *response_ = ToByteBuffer(EncodePlanJobResponse(plan, ServedFromOf(outcome.tier), label_));
}

}  // namespace evenkeel::server
