// The server behind a gRPC address.
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "client/cli/backend/backend.h"
#include "client/cli/backend/channel_credentials.h"
#include "client/cli/backend/grpc_errors.h"
#include "client/cli/backend/grpc_pack.h"
#include "client/cli/base/progress.h"
#include "evenkeel/v1/planner_service.grpc.pb.h"

namespace evenkeel::cli {
namespace {

using Clock = std::chrono::system_clock;

// Time that a server may take to accept a connection: long enough for one that is just starting.
constexpr double kConnectSeconds = 1.8;

// There is no throttling, unlike in the service config for longer-lived clients, because this
// process makes one call.
constexpr char kServiceConfig[] = R"({
  "methodConfig": [{
    "name": [{"service": "evenkeel.v1.PlannerService"}],
    "retryPolicy": {
      "maxAttempts": 4, "initialBackoff": "0.1s", "maxBackoff": "1s", "backoffMultiplier": 2,
      "retryableStatusCodes": ["UNAVAILABLE"]
    }
  }]
})";

Clock::duration Seconds(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

class GrpcBackend : public Backend {
 public:
  GrpcBackend(const std::string& address, double timeout_seconds, const TlsFiles& tls)
      : address_(address), timeout_seconds_(timeout_seconds) {
    grpc::ChannelArguments arguments;
    arguments.SetServiceConfigJSON(kServiceConfig);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 500);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // servers live inside the cluster
    if (!tls.server_name.empty()) arguments.SetSslTargetNameOverride(tls.server_name);
    channel_ = grpc::CreateCustomChannel(address, ChannelCredentials(tls), arguments);
    stub_ = v1::PlannerService::NewStub(channel_);
  }

  v1::PlanJobResponse PlanJob(const v1::PlanJobRequest& request) override {
    return Unary<v1::PlanJobResponse>(&v1::PlannerService::Stub::PlanJob, request, "planning");
  }
  v1::PlanCurveResponse PlanCurve(const v1::PlanCurveRequest& request) override {
    return Unary<v1::PlanCurveResponse>(&v1::PlannerService::Stub::PlanCurve, request,
                                        "planning all sizes");
  }
  v1::EvaluatePlanResponse EvaluatePlan(const v1::EvaluatePlanRequest& request) override {
    return Unary<v1::EvaluatePlanResponse>(&v1::PlannerService::Stub::EvaluatePlan, request,
                                           "evaluating");
  }
  v1::GetPlanResponse GetPlan(const v1::GetPlanRequest& request) override {
    return Unary<v1::GetPlanResponse>(&v1::PlannerService::Stub::GetPlan, request, "reading");
  }
  v1::ListPlansResponse ListPlans(const v1::ListPlansRequest& request) override {
    return Unary<v1::ListPlansResponse>(&v1::PlannerService::Stub::ListPlans, request, "reading");
  }
  v1::RecordProfileResponse RecordProfile(const v1::RecordProfileRequest& request) override {
    return Unary<v1::RecordProfileResponse>(&v1::PlannerService::Stub::RecordProfile, request,
                                            "recording");
  }
  v1::ListProfilesResponse ListProfiles(const v1::ListProfilesRequest& request) override {
    return Unary<v1::ListProfilesResponse>(&v1::PlannerService::Stub::ListProfiles, request,
                                           "reading");
  }
  v1::RollBackProfileResponse RollBackProfile(const v1::RollBackProfileRequest& request) override {
    return Unary<v1::RollBackProfileResponse>(&v1::PlannerService::Stub::RollBackProfile, request,
                                              "rolling back");
  }
  v1::ListModelsResponse ListModels(const v1::ListModelsRequest& request) override {
    return Unary<v1::ListModelsResponse>(&v1::PlannerService::Stub::ListModels, request, "reading");
  }
  v1::ListGpuTypesResponse ListGpuTypes(const v1::ListGpuTypesRequest& request) override {
    return Unary<v1::ListGpuTypesResponse>(&v1::PlannerService::Stub::ListGpuTypes, request,
                                           "reading");
  }
  v1::ListTrainersResponse ListTrainers(const v1::ListTrainersRequest& request) override {
    return Unary<v1::ListTrainersResponse>(&v1::PlannerService::Stub::ListTrainers, request,
                                           "reading");
  }

  PackedDataset PackDataset(const v1::PackDatasetStart& start,
                            const SampleLengths& samples) override {
    PackedDataset packed;
    Call("packing", [&](grpc::ClientContext* context, Progress* progress) {
      return PackOverStream(stub_.get(), context, start, samples, progress, &packed);
    });
    return packed;
  }

  std::string name() const override { return address_; }

 private:
  template <typename Response, typename Request>
  using Method = grpc::Status (v1::PlannerService::Stub::*)(grpc::ClientContext*, const Request&,
                                                            Response*);

  template <typename Response, typename Request>
  Response Unary(Method<Response, Request> method, const Request& request, const char* what) {
    Response response;
    Call(what, [&](grpc::ClientContext* context, Progress*) {
      return (stub_.get()->*method)(context, request, &response);
    });
    return response;
  }

  // Repeats `attempt` until the server has time for it.
  template <typename Attempt>
  void Call(const char* what, Attempt attempt) {
    const Clock::time_point deadline = Clock::now() + Seconds(timeout_seconds_);
    Progress progress(fmt::format("{}: waiting for {}", what, address_));
    Connect(deadline);
    for (;;) {
      grpc::ClientContext context;
      context.set_deadline(deadline);
      const grpc::Status status = attempt(&context, &progress);
      if (status.ok()) return;
      const std::optional<double> delay = RetryDelay(status);
      // It waits at least a little, so that a server that answers 0 is not hammered.
      const Clock::time_point next =
          Clock::now() + Seconds(std::clamp(delay.value_or(0), 0.05, 86400.0));
      if (!delay || next >= deadline) throw ErrorFromStatus(status, address_);
      progress.Say(fmt::format("{}: {} is busy, trying again", what, address_));
      std::this_thread::sleep_until(next);
    }
  }

  // Connects. Fails early and with advice if nobody listens, instead of using up the whole timeout.
  void Connect(Clock::time_point deadline) {
    const Clock::time_point patience = std::min(deadline, Clock::now() + Seconds(kConnectSeconds));
    if (!channel_->WaitForConnected(patience)) throw NoServer(address_, "");
  }

  const std::string address_;
  const double timeout_seconds_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::PlannerService::Stub> stub_;
};

}  // namespace

std::unique_ptr<Backend> MakeGrpcBackend(const std::string& address, double timeout_seconds,
                                         const TlsFiles& tls) {
  return std::make_unique<GrpcBackend>(address, timeout_seconds, tls);
}

}  // namespace evenkeel::cli
