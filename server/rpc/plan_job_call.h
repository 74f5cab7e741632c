// A PlanJob call that has to wait for the planning core, or may have to.
#ifndef EVENKEEL_SERVER_RPC_PLAN_JOB_CALL_H_
#define EVENKEEL_SERVER_RPC_PLAN_JOB_CALL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "grpcpp/support/slice.h"
#include "server/convert/offers.h"
#include "server/convert/profile_to_proto.h"
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
  CalibrationFacts calibration = {};
};

class DeferredPlanJob;

// gRPC calls OnCancel only after the handler has returned this reactor, and OnDone only after
// Finish and after OnCancel: so, where Start is called by the handler, the ticket is set before it
// is used, and nothing is used after OnDone. A call that is deferred is held by who will start it.
class PlanJobCall : public grpc::ServerUnaryReactor {
 public:
  // `request` and `label` are remembered with the plan; `response` is filled before Finish.
  PlanJobCall(const PlanJobParts& parts, std::unique_ptr<RpcScope> scope, grpc::Slice request,
              std::string label, grpc::ByteBuffer* response);

  // Once, right after construction; or Defer.
  void Start(const std::string& plan_id, OfferJobs offers);

  // The call begins later, on another thread. If the result is dropped without, it ends with
  // SHUTTING_DOWN.
  std::unique_ptr<DeferredPlanJob> Defer();

  void OnCancel() override;  // also when the deadline passes
  void OnDone() override;

 private:
  friend class DeferredPlanJob;

  void End(const grpc::Status& status);
  void Release();
  void Answer(const PlanOutcome& outcome);
  void Fill(const PlanOutcome& outcome);

  PlanJobParts parts_;
  const std::unique_ptr<RpcScope> scope_;
  const grpc::Slice request_;
  const std::string label_;
  grpc::ByteBuffer* const response_;
  std::atomic<int> holders_ = 1;  // gRPC, until OnDone, and who defers it

  std::mutex mutex_;  // guards what follows
  PlanningCore::Ticket ticket_;
  bool cancelled_ = false;
};

// A call that has not begun. One of Start, Answer and End, once.
class DeferredPlanJob {
 public:
  explicit DeferredPlanJob(PlanJobCall* call) : call_(call) {}
  ~DeferredPlanJob();
  DeferredPlanJob(const DeferredPlanJob&) = delete;
  DeferredPlanJob& operator=(const DeferredPlanJob&) = delete;

  void Start(const std::string& plan_id, OfferJobs offers, uint64_t generation,
             const CalibrationFacts& calibration);
  void Answer(const std::string& plan_id, std::string response);
  void End(const grpc::Status& status);

 private:
  PlanJobCall* const call_;
  bool ended_ = false;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_PLAN_JOB_CALL_H_
