// Sources of plans: a server, or this process.
#ifndef EVENKEEL_CLIENT_CLI_BACKEND_BACKEND_H_
#define EVENKEEL_CLIENT_CLI_BACKEND_BACKEND_H_

#include <memory>
#include <string>

#include "client/cli/dataset/packed_dataset.h"
#include "client/cli/dataset/sample_lengths.h"
#include "evenkeel/v1/planner_service.pb.h"

namespace evenkeel::cli {

// Takes one call at a time. Every method throws CommandError if there is no answer: kBadInput with
// all violations as details, kUnavailable, or kError.
class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  virtual v1::PlanJobResponse PlanJob(const v1::PlanJobRequest& request) = 0;
  virtual v1::PlanCurveResponse PlanCurve(const v1::PlanCurveRequest& request) = 0;
  virtual v1::EvaluatePlanResponse EvaluatePlan(const v1::EvaluatePlanRequest& request) = 0;
  virtual v1::GetPlanResponse GetPlan(const v1::GetPlanRequest& request) = 0;
  virtual v1::ListPlansResponse ListPlans(const v1::ListPlansRequest& request) = 0;
  virtual v1::RecordProfileResponse RecordProfile(const v1::RecordProfileRequest& request) = 0;
  virtual v1::ListProfilesResponse ListProfiles(const v1::ListProfilesRequest& request) = 0;
  virtual v1::RollBackProfileResponse RollBackProfile(
      const v1::RollBackProfileRequest& request) = 0;
  virtual v1::ListModelsResponse ListModels(const v1::ListModelsRequest& request) = 0;
  virtual v1::ListGpuTypesResponse ListGpuTypes(const v1::ListGpuTypesRequest& request) = 0;
  virtual v1::ListTrainersResponse ListTrainers(const v1::ListTrainersRequest& request) = 0;

  // Packs the samples. Fills in packs and order only if `start` asks for them.
  virtual PackedDataset PackDataset(const v1::PackDatasetStart& start,
                                    const SampleLengths& samples) = 0;

  // Names the source of plans, as in "computed by ...".
  virtual std::string name() const = 0;
};

// PEM files for a server that speaks TLS.
struct TlsFiles {
  std::string ca;           // authorities that may sign the server's certificate; empty: no TLS
  std::string certificate;  // this client's own, if the server asks for one
  std::string key;
  std::string server_name;  // name that its certificate must carry; empty: the host of the address
};

// Makes the backend of a server at a gRPC address, such as "127.0.0.1:50051" or
// "unix:/run/evenkeel.sock". It connects with the first call. `timeout_seconds` bounds each call
// with all its retries: gRPC retries UNAVAILABLE, and the backend retries RESOURCE_EXHAUSTED after
// the time that the server names. Throws CommandError(kBadInput) if a file of `tls` cannot be read.
std::unique_ptr<Backend> MakeGrpcBackend(const std::string& address, double timeout_seconds,
                                         const TlsFiles& tls = {});

// Makes a backend that computes in this process. It knows neither stored plans nor profiles.
std::unique_ptr<Backend> MakeLocalBackend(double timeout_seconds);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_BACKEND_BACKEND_H_
