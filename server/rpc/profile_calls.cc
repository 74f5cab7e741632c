#include "server/rpc/profile_calls.h"

#include <memory>
#include <utility>
#include <vector>

#include "server/convert/profile_from_proto.h"
#include "server/convert/profile_to_proto.h"
#include "server/log.h"
#include "server/rpc/errors.h"
#include "server/rpc/parse_request.h"
#include "server/rpc/wire.h"

namespace evenkeel::server {
namespace {

constexpr double kRetrySeconds = 1;

// A call on its way through the writer's queue. Dropped unanswered, it says that the server ends.
class PendingCall {
 public:
  PendingCall(std::unique_ptr<RpcScope> scope, grpc::ServerUnaryReactor* reactor)
      : scope_(std::move(scope)), reactor_(reactor) {}
  ~PendingCall() { Finish(ShuttingDown()); }
  PendingCall(const PendingCall&) = delete;
  PendingCall& operator=(const PendingCall&) = delete;

  void Finish(const grpc::Status& status) {
    if (scope_ == nullptr) return;
    scope_->End(status);
    scope_.reset();
    reactor_->Finish(status);
  }

 private:
  std::unique_ptr<RpcScope> scope_;
  grpc::ServerUnaryReactor* const reactor_;
};

// `answer` maps the message and an output to a status, on the writer's thread.
template <typename Request, typename Response, typename Answer>
grpc::ServerUnaryReactor* HandleLater(const ProfileParts& parts, RpcWorld& world, Method method,
                                      grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* request, grpc::ByteBuffer* response,
                                      Answer answer) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  auto call =
      std::make_shared<PendingCall>(std::make_unique<RpcScope>(world, method, context), reactor);
  auto message = std::make_shared<Request>();
  const grpc::Slice bytes = ToSlice(*request);
  if (const grpc::Status parsed = ParseRequest(ViewOf(bytes), message.get()); !parsed.ok()) {
    call->Finish(parsed);
    return reactor;
  }
  const auto submitted = parts.writer.Submit([call, message, response, answer](const QueueWait&) {
    Response output;
    const grpc::Status status = answer(*message, &output);
    if (status.ok()) *response = ToByteBuffer(output.SerializeAsString());
    call->Finish(status);
  });
  if (!submitted) call->Finish(QueueFull(kRetrySeconds));
  return reactor;
}

grpc::Status Unavailable(const std::string& why) {
  LogLine(LogLevel::kError, "profile store").Add("fault", why);
  return StoreUnavailable(why);
}

PlanSource PlansOf(PlanCache& cache) {
  return [&cache](std::string_view plan_id) -> std::shared_ptr<const std::string> {
    const StoredPlanPtr plan = cache.Find(std::string(plan_id), PlanCache::Count::kNothing);
    if (plan == nullptr) return nullptr;
    return {plan, &plan->plan_bytes};
  };
}

}  // namespace

grpc::ServerUnaryReactor* RecordProfileCall(const ProfileParts& parts, RpcWorld& world,
                                            grpc::CallbackServerContext* context,
                                            const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* response) {
  return HandleLater<v1::RecordProfileRequest, v1::RecordProfileResponse>(
      parts, world, Method::kRecordProfile, context, request, response,
      [parts](const auto& message, auto* output) {
        ProfileUpload upload;
        const std::vector<Violation> violations =
            ProfileFromProto(message, PlansOf(parts.cache), &upload);
        if (!violations.empty()) return InvalidRequest(violations);
        const RecordOutcome outcome = parts.calibrations->Record(upload);
        if (!outcome.store_error.empty()) return Unavailable(outcome.store_error);
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
      [parts](const auto& message, auto* output) {
        RollBack roll_back;
        const std::vector<Violation> violations = RollBackFromProto(message, &roll_back);
        if (!violations.empty()) return InvalidRequest(violations);
        const RollBackOutcome outcome = parts.calibrations->TakeBack(roll_back);
        if (outcome.not_found) return ProfileNotFound(roll_back.target, outcome.newest);
        if (!outcome.store_error.empty()) return Unavailable(outcome.store_error);
        RollBackOutcomeToProto(outcome, output);
        return grpc::Status::OK;
      });
}

grpc::Status ListProfilesPage(const ProfileParts& parts, const v1::ListProfilesRequest& request,
                              v1::ListProfilesResponse* response) {
  const CalibrationStatePtr state = parts.calibrations->state();
  std::vector<const HistoryEntry*> history;
  for (const auto& entry : state->history) history.push_back(entry.get());
  const std::vector<Violation> violations =
      HistoryPageToProto(request, history, parts.calibrations->durable(), response);
  return violations.empty() ? grpc::Status::OK : InvalidRequest(violations);
}

}  // namespace evenkeel::server
