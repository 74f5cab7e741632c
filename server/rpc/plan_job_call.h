// A PlanJob call that has to wait for the planning core, or may have to.
#ifndef EVENKEEL_SERVER_RPC_PLAN_JOB_CALL_H_
#define EVENKEEL_SERVER_RPC_PLAN_JOB_CALL_H_

#include <memory>
#include <optional>
#include <string>

#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "grpcpp/support/slice.h"
#include "server/base/mutex.h"
#include "server/convert/job/offers_from_proto.h"
#include "server/core/planning_core.h"
#include "server/planning/compute_plan.h"
#include "server/rpc/request_memo.h"
#include "server/rpc/rpc_scope.h"
#include "server/rpc/used_calibration.h"

namespace evenkeel::server {

// The inputs of the call: parts of the service, which must outlive it, and of the request.
struct PlanJobParts {
  PlanningCore& core;
  const ComputeFunction& compute;
  RequestMemo<KnownPlan>& memo;
  std::optional<double> max_age_seconds;  // 0 to compute it again
  std::string label;
};

// Owns itself until OnDone. Code that begins it later holds it too. gRPC calls OnDone only after
// Finish.
class PlanJobCall : public grpc::ServerUnaryReactor,
                    public std::enable_shared_from_this<PlanJobCall> {
 public:
  // `request` is remembered with the plan; `response` is filled in before Finish.
  static std::shared_ptr<PlanJobCall> Make(PlanJobParts parts, std::unique_ptr<RpcScope> scope,
                                           grpc::Slice request, grpc::ByteBuffer* response);

  const std::string& label() const { return parts_.label; }
  const Caller& caller() const { return scope_->caller(); }

  // Start or end the call. Call exactly one of these, once.
  void Start(const std::string& plan_id, OfferJobs offers, const UsedCalibration& calibration);
  void Answer(const std::string& plan_id, std::string response);
  void End(const grpc::Status& status);

  void OnCancel() override;  // also called when the deadline passes
  void OnDone() override;

 private:
  PlanJobCall(PlanJobParts parts, std::unique_ptr<RpcScope> scope, grpc::Slice request,
              grpc::ByteBuffer* response);

  void OnOutcome(const PlanOutcome& outcome);
  void Fill(const PlanOutcome& outcome);

  const PlanJobParts parts_;
  std::unique_ptr<RpcScope> scope_;  // lives until OnDone
  const grpc::Slice request_;
  grpc::ByteBuffer* const response_;
  UsedCalibration calibration_;
  std::shared_ptr<PlanJobCall> self_;

  Mutex mutex_;
  PlanningCore::Ticket ticket_ ABSL_GUARDED_BY(mutex_);
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_PLAN_JOB_CALL_H_
