#include "server/rpc/evaluate_plan_call.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "server/planning/compute_plan.h"
#include "server/planning/fingerprint.h"
#include "server/planning/plan_cost.h"
#include "server/planning/plan_work.h"
#include "server/rpc/errors.h"
#include "server/rpc/outcome_status.h"
#include "server/rpc/wire.h"

namespace evenkeel::server {

EvaluatePlanCall::EvaluatePlanCall(PlanningCore& core, const ComputeFunction& compute,
                                   std::unique_ptr<RpcScope> scope, grpc::ByteBuffer* response)
    : core_(core), compute_(compute), scope_(std::move(scope)), response_(response) {}

std::shared_ptr<EvaluatePlanCall> EvaluatePlanCall::Make(PlanningCore& core,
                                                         const ComputeFunction& compute,
                                                         std::unique_ptr<RpcScope> scope,
                                                         grpc::ByteBuffer* response) {
  const std::shared_ptr<EvaluatePlanCall> call(
      new EvaluatePlanCall(core, compute, std::move(scope), response));
  call->self_ = call;
  return call;
}

void EvaluatePlanCall::Start(EvaluationJob evaluation, const CalibrationFacts& calibration) {
  evaluation_ = std::move(evaluation);
  calibration_ = calibration;
  if (evaluation_.evaluate_only) return Evaluate(/*unit_cap=*/0, /*token_cap=*/0);
  const std::string plan_id = PlanId(evaluation_.job);
  scope_->SetPlan(plan_id, "");
  Hold(kPlanning,
       core_.Plan(
           {scope_->caller().tenant, plan_id, std::nullopt},
           PlanWork(compute_, plan_id, evaluation_.job),
           [self = shared_from_this()](const PlanOutcome& best) { self->TakeBest(best); },
           scope_->terms(PlanCost(evaluation_.job))));
}

void EvaluatePlanCall::TakeBest(const PlanOutcome& best) {
  scope_->AddSteps(best);
  if (best.kind != OutcomeKind::kPlan) return End(ToStatus(best, *scope_));
  best_ = best.plan;
  Evaluate(best_->facts.unit_cap, best_->facts.token_cap);
}

void EvaluatePlanCall::Evaluate(int64_t unit_cap, int64_t token_cap) {
  // The work holds the call, of which the evaluation is a part.
  std::shared_ptr<const EvaluationJob> evaluation(shared_from_this(), &evaluation_);
  Hold(kEvaluating,
       core_.Compute(
           EvaluationId(evaluation_, unit_cap, token_cap),
           EvaluationWork(std::move(evaluation), unit_cap, token_cap),
           [self = shared_from_this()](const PlanOutcome& evaluated) { self->Answer(evaluated); },
           scope_->terms(EvaluationCost(evaluation_))));
}

void EvaluatePlanCall::Answer(const PlanOutcome& evaluated) {
  scope_->AddSteps(evaluated);
  const grpc::Status status = ToStatus(evaluated, *scope_);
  if (status.ok()) {
    *response_ = ToByteBuffer(EncodeEvaluatePlanResponse(
        evaluated.plan->plan_bytes, best_ ? std::string_view(best_->plan_bytes) : "",
        evaluated.plan->timeline_bytes,
        best_ ? SlowerBy(evaluated.plan->facts, best_->facts) : std::nullopt, calibration_));
  }
  End(status);
}

void EvaluatePlanCall::End(const grpc::Status& status) {
  scope_->End(status);
  Finish(status);
}

// By now, the computation may be over, and the next one already stored or the call ended. Then
// there is nothing to cancel.
void EvaluatePlanCall::Hold(Phase phase, PlanningCore::Ticket ticket) {
  bool cancelled = false;
  {
    const MutexLock lock(mutex_);
    if (phase < phase_) return;
    phase_ = phase;
    ticket_ = ticket;
    cancelled = cancelled_;
  }
  if (cancelled) core_.Cancel(ticket);
}

void EvaluatePlanCall::OnCancel() {
  PlanningCore::Ticket ticket;
  {
    const MutexLock lock(mutex_);
    cancelled_ = true;
    ticket = ticket_;
  }
  core_.Cancel(ticket);
}

// The thread that answered may hold the call for longer than the service lives.
void EvaluatePlanCall::OnDone() {
  const auto self = std::move(self_);
  scope_.reset();
}

}  // namespace evenkeel::server
