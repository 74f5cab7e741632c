// A PlanCurve call: plans each size as PlanJob does, several at a time, and answers when all are
// done.
#ifndef EVENKEEL_SERVER_RPC_PLAN_CURVE_CALL_H_
#define EVENKEEL_SERVER_RPC_PLAN_CURVE_CALL_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "grpcpp/support/slice.h"
#include "server/base/mutex.h"
#include "server/convert/job/curve_from_proto.h"
#include "server/core/plan_cache.h"
#include "server/core/planning_core.h"
#include "server/planning/compute_plan.h"
#include "server/rpc/request_memo.h"
#include "server/rpc/rpc_scope.h"
#include "server/rpc/used_calibration.h"

namespace evenkeel::server {

// The parts of the service that the call needs; they must outlive it.
struct PlanCurveParts {
  PlanningCore& core;
  const ComputeFunction& compute;
  PlanCache& cache;
  RequestMemo<KnownCurve>& memo;
};

// Answers identical bytes that asked for a curve before, if all of its plans are still in memory.
bool AnswerKnownCurve(const PlanCurveParts& parts, const std::string& tenant,
                      const grpc::Slice& request, const UsedCalibration& calibration,
                      grpc::ByteBuffer* response);

// Owns itself until OnDone. Pending outcomes hold it too. Each size is a flight of the core of its
// own, so equal sizes of other calls share it, its plan is kept, and clients are served in turn. As
// many flights as there are workers are under way at once, so that a curve does not fill the queue.
class PlanCurveCall : public grpc::ServerUnaryReactor,
                      public std::enable_shared_from_this<PlanCurveCall> {
 public:
  // `request` is remembered with the answer; `response` is filled in before Finish.
  static std::shared_ptr<PlanCurveCall> Make(const PlanCurveParts& parts,
                                             std::unique_ptr<RpcScope> scope, grpc::Slice request,
                                             grpc::ByteBuffer* response);

  const Caller& caller() const { return scope_->caller(); }

  // Start or end the call. Call exactly one of these, once.
  void Start(CurveJobs curve, const UsedCalibration& calibration);
  void End(const grpc::Status& status);

  void OnCancel() override;  // also called when the deadline passes
  void OnDone() override;

 private:
  struct Made {
    StoredPlanPtr plan;  // nullptr until it is there
    bool estimated = false;
  };
  enum class Step { kSize, kWait, kAnswer, kOver };

  PlanCurveCall(const PlanCurveParts& parts, std::unique_ptr<RpcScope> scope, grpc::Slice request,
                grpc::ByteBuffer* response);

  void Go();
  Step NextStep(size_t* place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Begin(size_t place);
  PlanningCore::Ticket Submit(size_t place);
  void Take(size_t place, bool estimated, const PlanOutcome& outcome);
  void Answer();
  void Remember(const std::string& answer);
  std::vector<PlanningCore::Ticket> Tickets() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const PlanCurveParts parts_;
  std::unique_ptr<RpcScope> scope_;  // lives until OnDone
  const grpc::Slice request_;
  grpc::ByteBuffer* const response_;
  CurveJobs curve_;               // set by Start
  UsedCalibration calibration_;   // set by Start
  std::vector<std::string> ids_;  // set by Start: plan ids of the sizes, empty for impossible ones
  // Set by Start, because the scope may end while a thread is still in Go.
  std::string tenant_;
  WorkTerms terms_;
  std::shared_ptr<PlanCurveCall> self_;

  Mutex mutex_;
  std::vector<Made> made_ ABSL_GUARDED_BY(mutex_);  // by size
  std::map<size_t, PlanningCore::Ticket> tickets_ ABSL_GUARDED_BY(mutex_);
  size_t next_ ABSL_GUARDED_BY(mutex_) = 0;  // first size that was not begun
  size_t under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  bool going_ ABSL_GUARDED_BY(mutex_) = false;  // a thread is in Go
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false, ended_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_PLAN_CURVE_CALL_H_
