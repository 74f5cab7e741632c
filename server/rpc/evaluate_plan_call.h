// An EvaluatePlan call. It computes first our own plan, then the caller's over the same packs.
#ifndef EVENKEEL_SERVER_RPC_EVALUATE_PLAN_CALL_H_
#define EVENKEEL_SERVER_RPC_EVALUATE_PLAN_CALL_H_

#include <memory>

#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/base/mutex.h"
#include "server/convert/job/from_proto.h"
#include "server/convert/profile/profile_to_proto.h"
#include "server/core/planning_core.h"
#include "server/planning/compute_plan.h"
#include "server/rpc/rpc_scope.h"

namespace evenkeel::server {

// Owns itself until OnDone. Pending outcomes hold it too, because the second computation may end
// the call before its ticket is stored.
class EvaluatePlanCall : public grpc::ServerUnaryReactor,
                         public std::enable_shared_from_this<EvaluatePlanCall> {
 public:
  // `core` and `compute` must outlive the call; `response` is filled in before Finish.
  static std::shared_ptr<EvaluatePlanCall> Make(PlanningCore& core, const ComputeFunction& compute,
                                                std::unique_ptr<RpcScope> scope,
                                                grpc::ByteBuffer* response);

  const Caller& caller() const { return scope_->caller(); }

  // Start or end the call. Call exactly one of these, once.
  void Start(EvaluationJob evaluation, const CalibrationFacts& calibration);
  void End(const grpc::Status& status);

  void OnCancel() override;  // also called when the deadline passes
  void OnDone() override;

 private:
  enum Phase { kPlanning, kEvaluating };

  EvaluatePlanCall(PlanningCore& core, const ComputeFunction& compute,
                   std::unique_ptr<RpcScope> scope, grpc::ByteBuffer* response);

  void TakeBest(const PlanOutcome& best);
  // The caps are those of ComputeEvaluation.
  void Evaluate(int64_t unit_cap, int64_t token_cap);
  void Answer(const PlanOutcome& evaluated);
  void Hold(Phase phase, PlanningCore::Ticket ticket);

  PlanningCore& core_;
  const ComputeFunction& compute_;
  std::unique_ptr<RpcScope> scope_;  // lives until OnDone
  grpc::ByteBuffer* const response_;
  EvaluationJob evaluation_;      // set by Start
  CalibrationFacts calibration_;  // set by Start
  StoredPlanPtr best_;
  std::shared_ptr<EvaluatePlanCall> self_;

  Mutex mutex_;
  Phase phase_ ABSL_GUARDED_BY(mutex_) = kPlanning;
  PlanningCore::Ticket ticket_ ABSL_GUARDED_BY(mutex_);  // ticket of that phase
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_EVALUATE_PLAN_CALL_H_
