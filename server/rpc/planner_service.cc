#include "server/rpc/planner_service.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/convert/answer/catalog_to_proto.h"
#include "server/convert/job/curve_from_proto.h"
#include "server/convert/job/from_proto.h"
#include "server/convert/job/offers_from_proto.h"
#include "server/planning/offers.h"
#include "server/rpc/deferred_call.h"
#include "server/rpc/errors.h"
#include "server/rpc/evaluate_plan_call.h"
#include "server/rpc/parse_request.h"
#include "server/rpc/pending_call.h"
#include "server/rpc/plan_job_call.h"
#include "server/rpc/wire.h"

namespace evenkeel::server {
namespace {

constexpr int kDefaultPlansPerPage = 50;
constexpr int kMaxPlansPerPage = 1000;
constexpr std::string_view kPlanIdPrefix = "plan-";
constexpr size_t kPlanIdDigits = 32;
constexpr double kProvideRetrySeconds = 1;

bool IsPlanId(std::string_view id) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return id.size() == kPlanIdPrefix.size() + kPlanIdDigits && id.starts_with(kPlanIdPrefix) &&
         std::all_of(id.begin() + kPlanIdPrefix.size(), id.end(), is_digit);
}

template <typename Message>
grpc::Status Parse(const grpc::Slice& bytes, Message* message) {
  return ParseRequest(ViewOf(bytes), message);
}

grpc::Status ToStatus(const std::vector<Violation>& violations) {
  return violations.empty() ? grpc::Status::OK : InvalidRequest(violations);
}

// Returns the greatest age that the request accepts. 0 means that the plan is computed again.
std::optional<double> MaxAge(const v1::PlanJobRequest& request) {
  if (request.no_cache()) return 0;
  if (!request.has_max_age_seconds()) return std::nullopt;
  return request.max_age_seconds();
}

// Ends a call on this thread.
grpc::ServerUnaryReactor* Finish(grpc::CallbackServerContext* context, RpcScope* scope,
                                 const grpc::Status& status) {
  scope->End(status);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

// Ends a call that RpcScope::Admit refused.
grpc::ServerUnaryReactor* Refuse(grpc::CallbackServerContext* context,
                                 const grpc::Status& refusal) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(refusal);
  return reactor;
}

// Answers a call on this thread: `answer` maps the message, an output and the caller to a status.
template <typename Request, typename Response, typename Answer>
grpc::ServerUnaryReactor* Handle(RpcWorld& world, Method method,
                                 grpc::CallbackServerContext* context,
                                 const grpc::ByteBuffer* request, grpc::ByteBuffer* response,
                                 Answer answer) {
  grpc::Status status;
  const auto scope = RpcScope::Admit(world, method, context, &status);
  if (scope == nullptr) return Refuse(context, status);
  Request message;
  status = Parse(ToSlice(*request), &message);
  Response output;
  if (status.ok()) status = answer(message, &output, scope->caller());
  if (status.ok()) *response = ToByteBuffer(output.SerializeAsString());
  return Finish(context, scope.get(), status);
}

void Summarize(const StoredPlan& plan, v1::PlanSummary* summary) {
  summary->set_plan_id(plan.plan_id);
  *summary->mutable_create_time() = ToTimestamp(plan.create_time);
  summary->set_model(plan.facts.model);
  summary->set_gpu_type(plan.facts.gpu_type);
  summary->set_gpu_count(static_cast<int32_t>(plan.facts.gpu_count));
  summary->set_fits(plan.facts.fits);
  if (plan.facts.fits) {
    summary->set_step_seconds(plan.facts.step_seconds);
    summary->set_gpu_days(plan.facts.gpu_days);
  }
  summary->set_size_bytes(static_cast<int64_t>(plan.plan_bytes.size()));
}

}  // namespace

// A dataset that is not here is not a fault of the request, unless something else is wrong with it.
template <typename Convert>
grpc::Status PlannerServiceImpl::WithDatasets(const std::string& tenant, const v1::Job& job,
                                              Lacking* lacking, Convert convert) {
  bool missing = false;
  const std::vector<Violation> violations = convert([&](std::string_view ref) {
    DatasetBytes found = parts_.packing.datasets.Find(tenant, ref);
    missing = found == nullptr;
    return found;
  });
  if (!missing || violations.size() != 1) return ToStatus(violations);
  const std::string& ref = job.dataset().dataset_ref();
  if (lacking != nullptr && parts_.packing.datasets.has_shared()) lacking->dataset_ref = ref;
  return DatasetNotFound(ref);
}

CalibrationStatePtr PlannerServiceImpl::CalibrationFor(const Caller& caller,
                                                       grpc::Status* status) const {
  std::string why;
  const Calibrations* calibrations = parts_.profiles.calibrations.Find(caller.tenant, &why);
  if (calibrations != nullptr) return calibrations->state();
  *status = ProfilesUnreadable(why);
  return nullptr;
}

UsedCalibration PlannerServiceImpl::Used(const CalibrationState& calibration) const {
  return {calibration.generation, FactsOf(calibration, parts_.world.clock.Now())};
}

grpc::Status PlannerServiceImpl::TryBegin(const v1::PlanJobRequest& message,
                                          const CalibrationState& calibration, Lacking* lacking,
                                          PlanJobCall& call) {
  OfferJobs offers;
  grpc::Status status = WithDatasets(
      call.caller().tenant, message.job(), lacking, [&](const DatasetSource& datasets) {
        return OffersFromProto(message, &offers, datasets, CalibrationsOf(calibration));
      });
  status = CheckRevision(message.min_calibration_revision(), calibration, status, lacking);
  if (!status.ok()) return status;
  const std::string plan_id = PlanId(offers);
  const UsedCalibration used = Used(calibration);
  if (message.validate_only()) {
    call.Answer(plan_id, EncodePlanJobResponse({}, plan_id, v1::SERVED_FROM_UNSPECIFIED,
                                               call.label(), used.facts));
  } else {
    call.Start(plan_id, std::move(offers), used);
  }
  return grpc::Status::OK;
}

grpc::Status PlannerServiceImpl::TryBegin(const v1::EvaluatePlanRequest& message,
                                          const CalibrationState& calibration, Lacking* lacking,
                                          EvaluatePlanCall& call) {
  EvaluationJob evaluation;
  grpc::Status status = WithDatasets(
      call.caller().tenant, message.job(), lacking, [&](const DatasetSource& datasets) {
        return EvaluationFromProto(message, &evaluation, datasets, CalibrationsOf(calibration));
      });
  status = CheckRevision(message.min_calibration_revision(), calibration, status, lacking);
  if (status.ok()) call.Start(std::move(evaluation), Used(calibration).facts);
  return status;
}

grpc::Status PlannerServiceImpl::TryBegin(const v1::PlanCurveRequest& message,
                                          const CalibrationState& calibration, Lacking* lacking,
                                          PlanCurveCall& call) {
  CurveJobs curve;
  grpc::Status status = WithDatasets(
      call.caller().tenant, message.job(), lacking, [&](const DatasetSource& datasets) {
        return CurveFromProto(message, &curve, datasets, CalibrationsOf(calibration));
      });
  status = CheckRevision(message.min_calibration_revision(), calibration, status, lacking);
  if (status.ok()) call.Start(std::move(curve), Used(calibration));
  return status;
}

// Checks a request that is valid except for data that it lacks.
grpc::Status PlannerServiceImpl::CheckRevision(int64_t wanted, const CalibrationState& calibration,
                                               const grpc::Status& status, Lacking* lacking) {
  const bool is_good = status.ok() || (lacking != nullptr && !lacking->dataset_ref.empty());
  if (!is_good || wanted <= calibration.newest()) return status;
  if (lacking != nullptr) lacking->revision = wanted;
  return CalibrationBehind(wanted, calibration.newest());
}

template <typename Call, typename Request>
void PlannerServiceImpl::Begin(const std::shared_ptr<Call>& call, Request message,
                               const CalibrationState& calibration) {
  Lacking lacking;
  const grpc::Status status = TryBegin(message, calibration, &lacking, *call);
  if (status.ok()) return;
  if (!lacking.any()) return call->End(status);
  const auto deferred = std::make_shared<DeferredCall<Call>>(call);
  const auto since = parts_.world.clock.Now();
  const auto submitted = parts_.profiles.reader.Submit(
      [this, deferred, lacking, since, message = std::move(message)](const QueueWait&) {
        const std::shared_ptr<Call> begun = deferred->Take();
        CalibrationStatePtr newer;
        grpc::Status end = Provide(begun->caller(), lacking, since, &newer);
        if (end.ok()) end = TryBegin(message, *newer, nullptr, *begun);
        if (!end.ok()) begun->End(end);
      });
  if (!submitted) deferred->Take()->End(QueueFull(kProvideRetrySeconds));
}

// Fetches the data. Runs on the reader's thread.
grpc::Status PlannerServiceImpl::Provide(const Caller& caller, const Lacking& lacking,
                                         std::chrono::steady_clock::time_point since,
                                         CalibrationStatePtr* calibration) {
  if (!lacking.dataset_ref.empty() &&
      parts_.packing.datasets.Fetch(caller.tenant, lacking.dataset_ref) ==
          DatasetTiers::Fetched::kUnknown) {
    return SharedStoreSilent("dataset " + lacking.dataset_ref);
  }
  std::string why;
  Calibrations* const calibrations = parts_.profiles.calibrations.Find(caller.tenant, &why);
  if (calibrations == nullptr) return ProfilesUnreadable(why);
  if (lacking.revision > 0) (void)calibrations->CatchUpTo(lacking.revision, since);
  *calibration = calibrations->state();
  return grpc::Status::OK;
}

grpc::ServerUnaryReactor* PlannerServiceImpl::PlanJob(grpc::CallbackServerContext* context,
                                                      const grpc::ByteBuffer* request,
                                                      grpc::ByteBuffer* response) {
  grpc::Status status;
  auto scope = RpcScope::Admit(parts_.world, Method::kPlanJob, context, &status);
  if (scope == nullptr) return Refuse(context, status);
  grpc::Slice bytes = ToSlice(*request);
  // One calibration is used for the whole call, even if profiles are recorded meanwhile.
  const CalibrationStatePtr calibration = CalibrationFor(scope->caller(), &status);
  if (calibration == nullptr) return Finish(context, scope.get(), status);
  if (AnswerRepeated(scope.get(), bytes, *calibration, response)) {
    return Finish(context, scope.get(), grpc::Status::OK);
  }
  v1::PlanJobRequest message;
  status = Parse(bytes, &message);
  if (!status.ok()) return Finish(context, scope.get(), status);
  const auto call = PlanJobCall::Make(
      {parts_.core, parts_.compute, parts_.memos.plans, MaxAge(message), message.label()},
      std::move(scope), std::move(bytes), response);
  Begin(call, std::move(message), *calibration);
  return call.get();
}

// Answers identical bytes that asked for a plan before, if the plan is still here. A caller that
// asks for a least revision gets it, because the known revisions only grow.
bool PlannerServiceImpl::AnswerRepeated(RpcScope* scope, const grpc::Slice& request,
                                        const CalibrationState& calibration,
                                        grpc::ByteBuffer* response) {
  const std::string& tenant = scope->caller().tenant;
  const auto known = parts_.memos.plans.Find(ViewOf(request), {tenant, calibration.generation});
  if (!known) return false;
  const StoredPlanPtr plan =
      parts_.cache.Find(ScopedId(tenant, known->plan_id), PlanCache::Count::kHitOnly);
  if (plan == nullptr) return false;
  scope->SetPlan(plan->plan_id, "memory");
  *response = ToByteBuffer(EncodePlanJobResponse(*plan, v1::SERVED_FROM_MEMORY, known->label,
                                                 FactsOf(calibration, parts_.world.clock.Now())));
  return true;
}

grpc::ServerUnaryReactor* PlannerServiceImpl::GetPlan(grpc::CallbackServerContext* context,
                                                      const grpc::ByteBuffer* request,
                                                      grpc::ByteBuffer* response) {
  grpc::Status status;
  std::unique_ptr<RpcScope> scope =
      RpcScope::Admit(parts_.world, Method::kGetPlan, context, &status);
  if (scope == nullptr) return Refuse(context, status);
  v1::GetPlanRequest message;
  status = Parse(ToSlice(*request), &message);
  if (!status.ok()) return Finish(context, scope.get(), status);
  if (!IsPlanId(message.plan_id())) {
    return Finish(context, scope.get(),
                  InvalidRequest({{"plan_id",
                                   "must be \"plan-\" and 32 lower-case hexadecimal "
                                   "digits, as PlanJob returns it"}}));
  }
  const std::string tenant = scope->caller().tenant;
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const auto call = std::make_shared<PendingCall>(std::move(scope), reactor);
  FindPlan(parts_.cache, parts_.tiers, tenant, message.plan_id(),
           [call, response, id = message.plan_id()](const FoundPlan& found) {
             const bool here = found.plan != nullptr;
             call->scope().SetPlan(id, here ? TierName(found.tier) : "");
             if (here) {
               *response =
                   ToByteBuffer(EncodeGetPlanResponse(*found.plan, ServedFromOf(found.tier)));
             }
             call->Finish(here          ? grpc::Status::OK
                          : found.known ? PlanNotFound(id)
                                        : SharedStoreSilent("plan " + id));
           });
  return reactor;
}

grpc::ServerUnaryReactor* PlannerServiceImpl::ListPlans(grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* request,
                                                        grpc::ByteBuffer* response) {
  return Handle<v1::ListPlansRequest, v1::ListPlansResponse>(
      parts_.world, Method::kListPlans, context, request, response,
      [this](const auto& message, auto* output, const Caller& caller) {
        return ListPage(caller.tenant, message, output);
      });
}

grpc::Status PlannerServiceImpl::ListPage(const std::string& tenant,
                                          const v1::ListPlansRequest& request,
                                          v1::ListPlansResponse* response) {
  std::vector<Violation> violations;
  if (request.page_size() < 0 || request.page_size() > kMaxPlansPerPage) {
    violations.push_back(
        {"page_size", "must be 0 to 1000, and is " + std::to_string(request.page_size())});
  }
  const size_t page_size = violations.empty() && request.page_size() > 0
                               ? static_cast<size_t>(request.page_size())
                               : kDefaultPlansPerPage;
  const auto page = parts_.cache.List(tenant, page_size, request.page_token());
  if (!page) {
    violations.push_back({"page_token", "is not a token of this server; start at the first page"});
  }
  if (!violations.empty()) return InvalidRequest(violations);
  for (const StoredPlanPtr& plan : page->plans) Summarize(*plan, response->add_plans());
  response->set_next_page_token(page->next_page_token);
  return grpc::Status::OK;
}

grpc::ServerUnaryReactor* PlannerServiceImpl::ListModels(grpc::CallbackServerContext* context,
                                                         const grpc::ByteBuffer* request,
                                                         grpc::ByteBuffer* response) {
  return Handle<v1::ListModelsRequest, v1::ListModelsResponse>(
      parts_.world, Method::kListModels, context, request, response,
      [](const auto& message, auto* output, const Caller&) {
        return ToStatus(server::ListModels(message, output));
      });
}

grpc::ServerUnaryReactor* PlannerServiceImpl::ListGpuTypes(grpc::CallbackServerContext* context,
                                                           const grpc::ByteBuffer* request,
                                                           grpc::ByteBuffer* response) {
  return Handle<v1::ListGpuTypesRequest, v1::ListGpuTypesResponse>(
      parts_.world, Method::kListGpuTypes, context, request, response,
      [](const auto& message, auto* output, const Caller&) {
        return ToStatus(server::ListGpuTypes(message, output));
      });
}

grpc::ServerUnaryReactor* PlannerServiceImpl::ListTrainers(grpc::CallbackServerContext* context,
                                                           const grpc::ByteBuffer* request,
                                                           grpc::ByteBuffer* response) {
  return Handle<v1::ListTrainersRequest, v1::ListTrainersResponse>(
      parts_.world, Method::kListTrainers, context, request, response,
      [](const auto& message, auto* output, const Caller&) {
        return ToStatus(server::ListTrainers(message, output));
      });
}

grpc::ServerUnaryReactor* PlannerServiceImpl::EvaluatePlan(grpc::CallbackServerContext* context,
                                                           const grpc::ByteBuffer* request,
                                                           grpc::ByteBuffer* response) {
  grpc::Status status;
  auto scope = RpcScope::Admit(parts_.world, Method::kEvaluatePlan, context, &status);
  if (scope == nullptr) return Refuse(context, status);
  v1::EvaluatePlanRequest message;
  const CalibrationStatePtr calibration = CalibrationFor(scope->caller(), &status);
  if (calibration == nullptr) return Finish(context, scope.get(), status);
  status = Parse(ToSlice(*request), &message);
  if (!status.ok()) return Finish(context, scope.get(), status);
  const auto call = EvaluatePlanCall::Make(parts_.core, parts_.compute, std::move(scope), response);
  Begin(call, std::move(message), *calibration);
  return call.get();
}

grpc::ServerUnaryReactor* PlannerServiceImpl::PlanCurve(grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* request,
                                                        grpc::ByteBuffer* response) {
  grpc::Status status;
  auto scope = RpcScope::Admit(parts_.world, Method::kPlanCurve, context, &status);
  if (scope == nullptr) return Refuse(context, status);
  grpc::Slice bytes = ToSlice(*request);
  const CalibrationStatePtr calibration = CalibrationFor(scope->caller(), &status);
  if (calibration == nullptr) return Finish(context, scope.get(), status);
  const PlanCurveParts parts{parts_.core, parts_.compute, parts_.cache, parts_.memos.curves};
  if (AnswerKnownCurve(parts, scope->caller().tenant, bytes, Used(*calibration), response)) {
    return Finish(context, scope.get(), grpc::Status::OK);
  }
  v1::PlanCurveRequest message;
  status = Parse(bytes, &message);
  if (!status.ok()) return Finish(context, scope.get(), status);
  const auto call = PlanCurveCall::Make(parts, std::move(scope), std::move(bytes), response);
  Begin(call, std::move(message), *calibration);
  return call.get();
}

grpc::ServerUnaryReactor* PlannerServiceImpl::RecordProfile(grpc::CallbackServerContext* context,
                                                            const grpc::ByteBuffer* request,
                                                            grpc::ByteBuffer* response) {
  return RecordProfileCall(parts_.profiles, parts_.world, context, request, response);
}

grpc::ServerUnaryReactor* PlannerServiceImpl::RollBackProfile(grpc::CallbackServerContext* context,
                                                              const grpc::ByteBuffer* request,
                                                              grpc::ByteBuffer* response) {
  return RollBackProfileCall(parts_.profiles, parts_.world, context, request, response);
}

grpc::ServerUnaryReactor* PlannerServiceImpl::ListProfiles(grpc::CallbackServerContext* context,
                                                           const grpc::ByteBuffer* request,
                                                           grpc::ByteBuffer* response) {
  return Handle<v1::ListProfilesRequest, v1::ListProfilesResponse>(
      parts_.world, Method::kListProfiles, context, request, response,
      [this](const auto& message, auto* output, const Caller& caller) {
        return ListProfilesPage(parts_.profiles, caller, message, parts_.world.clock.Now(), output);
      });
}

PackDatasetStream::Reactor* PlannerServiceImpl::PackDataset(grpc::CallbackServerContext* context) {
  return PackDatasetStream::Begin(parts_.packing, parts_.world, context);
}

}  // namespace evenkeel::server
