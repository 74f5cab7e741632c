#include "server/rpc/profile_calls.h"

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/convert/profile/profile_from_proto.h"
#include "server/convert/profile/profile_to_proto.h"
#include "server/log.h"
#include "server/rpc/errors.h"
#include "server/rpc/parse_request.h"
#include "server/rpc/pending_call.h"
#include "server/rpc/wire.h"

namespace evenkeel::server {
namespace {

constexpr double kRetrySeconds = 1;

// Answers on the writer's thread. `answer` maps the message, an output and the caller to a status.
template <typename Request, typename Response, typename Answer>
grpc::ServerUnaryReactor* HandleLater(const ProfileParts& parts, RpcWorld& world, Method method,
                                      grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* request, grpc::ByteBuffer* response,
                                      Answer answer) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  grpc::Status refusal;
  auto scope = RpcScope::Admit(world, method, context, &refusal);
  if (scope == nullptr) {
    reactor->Finish(refusal);
    return reactor;
  }
  auto call = std::make_shared<PendingCall>(std::move(scope), reactor);
  auto message = std::make_shared<Request>();
  const grpc::Slice bytes = ToSlice(*request);
  if (const grpc::Status parsed = ParseRequest(ViewOf(bytes), message.get()); !parsed.ok()) {
    call->Finish(parsed);
    return reactor;
  }
  const auto submitted = parts.writer.Submit([call, message, response, answer](const QueueWait&) {
    Response output;
    const grpc::Status status = answer(*message, &output, call->scope().caller());
    if (status.ok()) *response = ToByteBuffer(output.SerializeAsString());
    call->Finish(status);
  });
  if (!submitted) call->Finish(QueueFull(kRetrySeconds));
  return reactor;
}

grpc::Status Unavailable(const std::string& why, bool unknown) {
  LogLine(LogLevel::kError, "profile store").Add("fault", why);
  return StoreUnavailable(why, unknown);
}

// Returns a source of plans for the writer's thread, which may wait a few milliseconds for the
// tiers. *known becomes false if a plan was not found but may exist nonetheless.
PlanSource PlansOf(const ProfileParts& parts, std::string tenant, bool* known) {
  return [parts, known, tenant = std::move(tenant)](
             std::string_view plan_id) -> std::shared_ptr<const std::string> {
    // It is shared with the code that sets it, which may still be running when the value is here.
    const auto answer = std::make_shared<std::promise<FoundPlan>>();
    FindPlan(parts.cache, parts.tiers, tenant, std::string(plan_id),
             [answer](const FoundPlan& found) { answer->set_value(found); });
    const FoundPlan found = answer->get_future().get();
    *known = found.known;
    if (found.plan == nullptr) return nullptr;
    return {found.plan, &found.plan->plan_bytes};
  };
}

}  // namespace

grpc::ServerUnaryReactor* RecordProfileCall(const ProfileParts& parts, RpcWorld& world,
                                            grpc::CallbackServerContext* context,
                                            const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* response) {
  return HandleLater<v1::RecordProfileRequest, v1::RecordProfileResponse>(
      parts, world, Method::kRecordProfile, context, request, response,
      [parts](const auto& message, auto* output, const Caller& caller) {
        ProfileUpload upload;
        bool known = true;
        const std::vector<Violation> violations =
            ProfileFromProto(message, PlansOf(parts, caller.tenant, &known), &upload);
        if (!known) return SharedStoreSilent("the plan of the profile");
        if (!violations.empty()) return InvalidRequest(violations);
        std::string why;
        Calibrations* calibrations = parts.calibrations.Open(caller.tenant, &why);
        if (calibrations == nullptr) return Unavailable(why, false);
        const RecordOutcome outcome = calibrations->Record(upload);
        if (!outcome.store_error.empty()) {
          return Unavailable(outcome.store_error, outcome.store_unknown);
        }
        RecordOutcomeToProto(upload, outcome, output);
        return grpc::Status::OK;
      });
}

grpc::ServerUnaryReactor* RollBackProfileCall(const ProfileParts& parts, RpcWorld& world,
                                              grpc::CallbackServerContext* context,
                                              const grpc::ByteBuffer* request,
                                              grpc::ByteBuffer* response) {
  return HandleLater<v1::RollBackProfileRequest, v1::RollBackProfileResponse>(
      parts, world, Method::kRollBackProfile, context, request, response,
      [parts](const auto& message, auto* output, const Caller& caller) {
        RollBack roll_back;
        const std::vector<Violation> violations = RollBackFromProto(message, &roll_back);
        if (!violations.empty()) return InvalidRequest(violations);
        std::string why;
        Calibrations* calibrations = parts.calibrations.Open(caller.tenant, &why);
        if (calibrations == nullptr) return Unavailable(why, false);
        const RollBackOutcome outcome = calibrations->TakeBack(roll_back);
        if (outcome.not_found) return ProfileNotFound(roll_back.target, outcome.newest);
        if (!outcome.store_error.empty())
          return Unavailable(outcome.store_error, outcome.store_unknown);
        RollBackOutcomeToProto(outcome, output);
        return grpc::Status::OK;
      });
}

grpc::Status ListProfilesPage(const ProfileParts& parts, const Caller& caller,
                              const v1::ListProfilesRequest& request,
                              std::chrono::steady_clock::time_point now,
                              v1::ListProfilesResponse* response) {
  std::string why;
  const Calibrations* calibrations = parts.calibrations.Find(caller.tenant, &why);
  if (calibrations == nullptr) return ProfilesUnreadable(why);
  const CalibrationStatePtr state = calibrations->state();
  const std::vector<Violation> violations =
      HistoryPageToProto(request, state->history, state->active, calibrations->durable(), response);
  if (!violations.empty()) return InvalidRequest(violations);
  if (const auto seconds = state->lease.UnconfirmedSeconds(now)) {
    response->set_calibration_unconfirmed_seconds(*seconds);
  }
  return grpc::Status::OK;
}

CalibrationFacts FactsOf(const CalibrationState& state, std::chrono::steady_clock::time_point now) {
  return {state.newest(), state.lease.UnconfirmedSeconds(now)};
}

}  // namespace evenkeel::server
