#include "server/rpc/rpc_scope.h"

#include <algorithm>
#include <optional>

#include "server/log.h"
#include "server/rpc/call_spans.h"
#include "server/rpc/errors.h"
#include "server/rpc/peer_identity.h"
#include "server/rpc/random_id.h"

namespace evenkeel::server {
namespace {

constexpr size_t kMaxRequestIdBytes = 64;
constexpr int kRequestIdDigits = 16;
constexpr size_t kMostComputations = 32;  // of one call, in its trace

bool IsIdCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

bool IsRequestId(std::string_view text) {
  return !text.empty() && text.size() <= kMaxRequestIdBytes &&
         std::all_of(text.begin(), text.end(), IsIdCharacter);
}

std::string RequestIdOf(const grpc::CallbackServerContext& context) {
  const auto& headers = context.client_metadata();
  const auto given = headers.find(kRequestIdHeader);
  if (given != headers.end()) {
    const std::string_view text(given->second.data(), given->second.size());
    if (IsRequestId(text)) return std::string(text);
  }
  return RandomHexId(kRequestIdDigits);
}

// Returns the span of this server in the caller's trace. A trace whose header is malformed or
// occurs twice cannot be continued. It is counted, and a new trace is started, so that there is
// always one to quote. Sets *parent_id to the caller's span.
TraceContext SpanOf(const grpc::CallbackServerContext& context, const RpcWorld& world,
                    std::string* parent_id) {
  const auto [first, last] = context.client_metadata().equal_range(kTraceParentHeader);
  std::optional<TraceContext> parent;
  if (first != last && std::next(first) == last) {
    parent = ParseTraceParent({first->second.data(), first->second.size()});
  }
  if (first != last && !parent) world.metrics.OnBadTraceContext();
  TraceContext span = NewSpan(parent ? &*parent : nullptr);
  if (parent) *parent_id = parent->span_id;
  if (world.tracer != nullptr) {
    const std::optional<bool> decision = parent ? std::optional(parent->sampled) : std::nullopt;
    span.sampled = world.tracer->sampler().Samples(decision, span.trace_id);
  }
  return span;
}

const char* CodeName(grpc::StatusCode code) {
  static constexpr const char* kNames[] = {"OK",
                                           "CANCELLED",
                                           "UNKNOWN",
                                           "INVALID_ARGUMENT",
                                           "DEADLINE_EXCEEDED",
                                           "NOT_FOUND",
                                           "ALREADY_EXISTS",
                                           "PERMISSION_DENIED",
                                           "RESOURCE_EXHAUSTED",
                                           "FAILED_PRECONDITION",
                                           "ABORTED",
                                           "OUT_OF_RANGE",
                                           "UNIMPLEMENTED",
                                           "INTERNAL",
                                           "UNAVAILABLE",
                                           "DATA_LOSS",
                                           "UNAUTHENTICATED"};
  const auto number = static_cast<size_t>(code);
  return number < std::size(kNames) ? kNames[number] : "UNKNOWN";
}

}  // namespace

std::unique_ptr<RpcScope> RpcScope::Admit(RpcWorld& world, Method method,
                                          grpc::CallbackServerContext* context,
                                          grpc::Status* refusal) {
  std::unique_ptr<RpcScope> scope(new RpcScope(world, method, context));
  *refusal = scope->Authorize();
  if (refusal->ok()) return scope;
  scope->End(*refusal);
  return nullptr;
}

RpcScope::RpcScope(RpcWorld& world, Method method, grpc::CallbackServerContext* context)
    : world_(world),
      method_(method),
      context_(context),
      since_(world.clock.Now()),
      request_id_(RequestIdOf(*context)),
      span_(SpanOf(*context, world, &parent_span_id_)) {
  ++world_.in_flight;
  world_.metrics.OnStarted(static_cast<size_t>(method));
  context->AddInitialMetadata(kRequestIdHeader, request_id_);
  context->AddInitialMetadata(kTraceIdHeader, span_.trace_id);
  // The check saves time: headers take time, and a known plan needs little.
  if (context->client_metadata().count(kTraceParentHeader) > 0) {
    context->AddInitialMetadata(kTraceParentHeader, FormatTraceParent(span_));
  }
}

RpcScope::~RpcScope() { --world_.in_flight; }

grpc::Status RpcScope::Authorize() {
  const PeerIdentity peer = PeerOf(*context_, world_.connection_principal);
  const char* const method = MethodName(method_);
  Decision decision = world_.policy == nullptr ? AllowWithoutPolicy(peer)
                                               : world_.policy->current()->Decide(peer, method);
  caller_ = std::move(decision.caller);
  if (decision.access == Access::kAllowed) return grpc::Status::OK;
  world_.metrics.OnDenied(decision.access);
  const grpc::Status refusal = decision.access == Access::kUnauthenticated
                                   ? Unauthenticated(method)
                                   : MethodNotAllowed(caller_.principal, method);
  LogLine(LogLevel::kWarning, "denied")
      .Add("request_id", request_id_)
      .Add("method", method)
      .Add("principal", caller_.principal)
      .Add("code", CodeName(refusal.error_code()));
  return refusal;
}

void RpcScope::SetPlan(std::string_view plan_id, const char* served_from) {
  plan_id_ = plan_id;
  served_from_ = served_from;
}

bool RpcScope::deadline_passed() const {
  return context_->deadline() <= std::chrono::system_clock::now();
}

WorkTerms RpcScope::terms(double cost_seconds) const {
  constexpr std::chrono::hours kFarAway{24 * 365};  // a later deadline counts as none
  WorkTerms terms{.client = caller_.principal, .cost_seconds = cost_seconds, .arrived = since_};
  const auto now = std::chrono::system_clock::now();
  if (context_->deadline() < now + kFarAway) {
    terms.deadline =
        world_.clock.Now() +
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(context_->deadline() - now);
  }
  return terms;
}

void RpcScope::AddSteps(const PlanOutcome& outcome) {
  const bool is_wanted = world_.tracer != nullptr && span_.sampled;
  if (is_wanted && outcome.steps != nullptr && steps_.size() < kMostComputations) {
    steps_.push_back(outcome.steps);
  }
}

void RpcScope::End(const grpc::Status& status) {
  const auto end = world_.clock.Now();
  const double seconds = SecondsBetween(since_, end);
  world_.metrics.OnHandled(static_cast<size_t>(method_), status.error_code(), seconds);
  CountAnswer(status.error_code(), seconds);
  if (LogLine::Wanted(LogLevel::kInfo)) Log(status, seconds);
  if (world_.tracer != nullptr && span_.sampled) Export(status, end);
}

// Counts the answer, also for callers that gave up on a plan, so that they do not vanish from the
// latencies of plans.
void RpcScope::CountAnswer(grpc::StatusCode code, double seconds) {
  if (method_ != Method::kPlanJob && method_ != Method::kGetPlan) return;
  const bool gave_up =
      code == grpc::StatusCode::DEADLINE_EXCEEDED || code == grpc::StatusCode::CANCELLED;
  if (code == grpc::StatusCode::OK && *served_from_ != '\0') {
    world_.metrics.OnPlanAnswered(served_from_, seconds);
  } else if (gave_up) {
    world_.metrics.OnPlanAnswered("none", seconds);
  }
}

void RpcScope::Log(const grpc::Status& status, double seconds) const {
  LogLine line(LogLevel::kInfo, "call");
  line.Add("request_id", request_id_)
      .Add("trace_id", span_.trace_id)
      .Add("span_id", span_.span_id)
      .Add("method", MethodName(method_))
      .Add("code", CodeName(status.error_code()))
      .Add("seconds", seconds);
  if (!plan_id_.empty()) line.Add("plan_id", plan_id_);
  if (*served_from_ != '\0') line.Add("served_from", served_from_);
  line.Add("peer", context_->peer()).Add("principal", caller_.principal);
  if (!caller_.tenant.empty()) line.Add("tenant", caller_.tenant);
}

void RpcScope::Export(const grpc::Status& status, std::chrono::steady_clock::time_point end) const {
  const auto wall = std::chrono::duration_cast<std::chrono::nanoseconds>(
      world_.clock.WallNow().time_since_epoch());
  const CallSpan call{.span = span_,
                      .parent_span_id = parent_span_id_,
                      .method = MethodName(method_),
                      .request_id = request_id_,
                      .peer = context_->peer(),
                      .tenant = caller_.tenant,
                      .plan_id = plan_id_,
                      .served_from = served_from_,
                      .from = since_,
                      .to = end,
                      .unix_ns_at_end = wall.count()};
  RecordCall(call, status, steps_, *world_.tracer);
}

}  // namespace evenkeel::server
