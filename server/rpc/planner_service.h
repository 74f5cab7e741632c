// The handlers of evenkeel.v1.PlannerService: they parse, ask the core or the catalogue, and
// answer.
#ifndef EVENKEEL_SERVER_RPC_PLANNER_SERVICE_H_
#define EVENKEEL_SERVER_RPC_PLANNER_SERVICE_H_

#include <chrono>
#include <memory>
#include <string>

#include "evenkeel/v1/planner_service.grpc.pb.h"
#include "server/core/plan_cache.h"
#include "server/core/planning_core.h"
#include "server/planning/compute_plan.h"
#include "server/rpc/evaluate_plan_call.h"
#include "server/rpc/pack_dataset_stream.h"
#include "server/rpc/plan_curve_call.h"
#include "server/rpc/plan_job_call.h"
#include "server/rpc/profile_calls.h"
#include "server/rpc/request_memo.h"
#include "server/rpc/rpc_scope.h"

namespace evenkeel::server {

// Methods take raw bytes. So a known PlanJob needs no parsing, stored plans need no serialising,
// and bytes that are not a message get our own error (gRPC would answer UNIMPLEMENTED). The order
// of the wrappers has no meaning.
using RawPlannerService = v1::PlannerService::WithRawCallbackMethod_PlanCurve<
    v1::PlannerService::WithRawCallbackMethod_PlanJob<
        v1::PlannerService::WithRawCallbackMethod_EvaluatePlan<
            v1::PlannerService::WithRawCallbackMethod_PackDataset<
                v1::PlannerService::WithRawCallbackMethod_GetPlan<
                    v1::PlannerService::WithRawCallbackMethod_ListPlans<
                        v1::PlannerService::WithRawCallbackMethod_RecordProfile<
                            v1::PlannerService::WithRawCallbackMethod_ListProfiles<
                                v1::PlannerService::WithRawCallbackMethod_RollBackProfile<
                                    v1::PlannerService::WithRawCallbackMethod_ListModels<
                                        v1::PlannerService::WithRawCallbackMethod_ListGpuTypes<
                                            v1::PlannerService::WithRawCallbackMethod_ListTrainers<
                                                v1::PlannerService::Service>>>>>>>>>>>>;

// The objects referred to must outlive the service. Each host has its own world.
struct ServiceParts {
  RpcWorld world;
  PlanningCore& core;
  ComputeFunction compute;  // makes the plans
  PlanCache& cache;
  LowerTiers* tiers;  // nullptr if there are none
  RequestMemos& memos;
  PackDatasetParts packing;
  ProfileParts profiles;
};

class PlannerServiceImpl final : public RawPlannerService {
 public:
  // For `connection_principal`, see RpcWorld.
  explicit PlannerServiceImpl(const ServiceParts& parts,
                              const std::string& connection_principal = {})
      : parts_(parts) {
    parts_.world.connection_principal = connection_principal;
  }

  grpc::ServerUnaryReactor* PlanJob(grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* PlanCurve(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* EvaluatePlan(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  PackDatasetStream::Reactor* PackDataset(grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* GetPlan(grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ListPlans(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* RecordProfile(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ListProfiles(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* RollBackProfile(grpc::CallbackServerContext* context,
                                            const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ListModels(grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ListGpuTypes(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ListTrainers(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;

 private:
  bool AnswerRepeated(RpcScope* scope, const grpc::Slice& request,
                      const CalibrationState& calibration, grpc::ByteBuffer* response);

  // Data that a request needs but that is not here. It may be in the store that replicas share.
  struct Lacking {
    std::string dataset_ref;  // dataset of its job; empty if none is missing
    int64_t revision = 0;     // revision of the history of profiles; 0 if none is missing
    bool any() const { return !dataset_ref.empty() || revision > 0; }
  };

  // Begins the call at once, or when the data that the request lacks has arrived.
  template <typename Call, typename Request>
  void Begin(const std::shared_ptr<Call>& call, Request message,
             const CalibrationState& calibration);
  // Begins the call, or returns why it cannot and sets what is lacking. `lacking` is nullptr if
  // fetching was already tried.
  grpc::Status TryBegin(const v1::PlanJobRequest& message, const CalibrationState& calibration,
                        Lacking* lacking, PlanJobCall& call);
  grpc::Status TryBegin(const v1::EvaluatePlanRequest& message, const CalibrationState& calibration,
                        Lacking* lacking, EvaluatePlanCall& call);
  grpc::Status TryBegin(const v1::PlanCurveRequest& message, const CalibrationState& calibration,
                        Lacking* lacking, PlanCurveCall& call);
  static grpc::Status CheckRevision(int64_t wanted, const CalibrationState& calibration,
                                    const grpc::Status& status, Lacking* lacking);
  // Fetches what is lacking. Waits for the stores as long as they take.
  grpc::Status Provide(const Caller& caller, const Lacking& lacking,
                       std::chrono::steady_clock::time_point since,
                       CalibrationStatePtr* calibration);
  // `convert` gets a source of datasets and returns violations. `job` is that of the request.
  template <typename Convert>
  grpc::Status WithDatasets(const std::string& tenant, const v1::Job& job, Lacking* lacking,
                            Convert convert);
  UsedCalibration Used(const CalibrationState& calibration) const;
  // Returns nullptr, with the reason in *status, if the caller's profiles are not available.
  CalibrationStatePtr CalibrationFor(const Caller& caller, grpc::Status* status) const;
  grpc::Status ListPage(const std::string& tenant, const v1::ListPlansRequest& request,
                        v1::ListPlansResponse* response);

  ServiceParts parts_;  // never changes
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_PLANNER_SERVICE_H_
