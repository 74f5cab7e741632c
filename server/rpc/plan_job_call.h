// A PlanJob call that has to wait for the planning core, or may have to.
#ifndef EVENKEEL_SERVER_RPC_PLAN_JOB_CALL_H_
#define EVENKEEL_SERVER_RPC_PLAN_JOB_CALL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "grpcpp/support/slice.h"
#include "server/convert/offers.h"
#include "server/core/planning_core.h"
#include "server/rpc/request_memo.h"
#include "server/rpc/rpc_scope.h"

namespace evenkeel::server {

// What the call needs of the service; outlives it.
struct PlanJobParts {
  PlanningCore& core;
  RequestMemo& memo;
  uint64_t generation = 0;                // of the calibration that the job has
  std::optional<double> max_age_seconds;  // of the request; 0: anew
};

// gRPC calls OnCancel only after the handler has returned this reactor, and OnDone only after
// Finish and after OnCancel: so the ticket is set before it is used, and nothing is used after
// OnDone.
class PlanJobCall : public grpc::ServerUnaryReactor {
 public:
  // `request` and `label` are remembered with the plan; `response` is filled before Finish.
  PlanJobCall(const PlanJobParts& parts, std::unique_ptr<RpcScope> scope, grpc::Slice request,
              std::string label, grpc::ByteBuffer* response);

  // Once, right after construction.
  void Start(const std::string& plan_id, OfferJobs offers);

  void OnCancel() override;  // also when the deadline passes
  void OnDone() override;

 private:
  void Answer(const PlanOutcome& outcome);
  void Fill(const PlanOutcome& outcome);

  const PlanJobParts parts_;
  const std::unique_ptr<RpcScope> scope_;
  const grpc::Slice request_;
  const std::string label_;
  grpc::ByteBuffer* const response_;
  PlanningCore::Ticket ticket_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_PLAN_JOB_CALL_H_
