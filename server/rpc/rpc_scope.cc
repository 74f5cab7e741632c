#include "server/rpc/rpc_scope.h"

#include <algorithm>
#include <random>

#include "server/log.h"

namespace evenkeel::server {
namespace {

constexpr size_t kMaxRequestIdBytes = 64;
constexpr int kRequestIdDigits = 16;

bool IsIdCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

bool IsRequestId(std::string_view text) {
  return !text.empty() && text.size() <= kMaxRequestIdBytes &&
         std::all_of(text.begin(), text.end(), IsIdCharacter);
}

std::string MakeRequestId() {
  thread_local std::mt19937_64 generator{[] {
    std::random_device device;
    return static_cast<uint64_t>(device()) << 32 | device();
  }()};
  constexpr char kHex[] = "0123456789abcdef";
  std::string id(kRequestIdDigits, '0');
  uint64_t bits = generator();
  for (char& digit : id) {
    digit = kHex[bits & 15];
    bits >>= 4;
  }
  return id;
}

std::string RequestIdOf(const grpc::CallbackServerContext& context) {
  const auto& headers = context.client_metadata();
  const auto given = headers.find(kRequestIdHeader);
  if (given != headers.end()) {
    const std::string_view text(given->second.data(), given->second.size());
    if (IsRequestId(text)) return std::string(text);
  }
  return MakeRequestId();
}

// gRPC says "ipv4:10.0.0.7:1234", "ipv6:%5B::1%5D:1234" or "unix:".
std::string PrincipalOf(const grpc::CallbackServerContext& context) {
  const std::string peer = context.peer();
  const size_t colon = peer.find(':');
  if (colon == std::string::npos || !peer.starts_with("ip")) return "unix";
  return "ip:" + peer.substr(colon + 1, peer.rfind(':') - colon - 1);
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

RpcScope::RpcScope(RpcWorld& world, Method method, grpc::CallbackServerContext* context)
    : world_(world),
      method_(method),
      context_(context),
      since_(world.clock.Now()),
      request_id_(RequestIdOf(*context)),
      caller_{PrincipalOf(*context), ""} {
  ++world_.in_flight;
  world_.metrics.OnStarted(static_cast<size_t>(method));
  context->AddInitialMetadata(kRequestIdHeader, request_id_);
}

RpcScope::~RpcScope() { --world_.in_flight; }

void RpcScope::SetPlan(std::string_view plan_id, const char* served_from) {
  plan_id_ = plan_id;
  served_from_ = served_from;
}

bool RpcScope::deadline_passed() const {
  return context_->deadline() <= std::chrono::system_clock::now();
}

WorkTerms RpcScope::terms(double cost_seconds) const {
  constexpr std::chrono::hours kFarAway{24 * 365};  // the least that no deadline means
  WorkTerms terms{.client = caller_.principal, .cost_seconds = cost_seconds};
  const auto now = std::chrono::system_clock::now();
  if (context_->deadline() < now + kFarAway) {
    terms.deadline =
        world_.clock.Now() +
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(context_->deadline() - now);
  }
  return terms;
}

void RpcScope::End(const grpc::Status& status) {
  const double seconds = SecondsBetween(since_, world_.clock.Now());
  world_.metrics.OnHandled(static_cast<size_t>(method_), status.error_code(), seconds);
  if (LogLine::Wanted(LogLevel::kInfo)) Log(status, seconds);
}

void RpcScope::Log(const grpc::Status& status, double seconds) const {
  LogLine line(LogLevel::kInfo, "call");
  line.Add("request_id", request_id_)
      .Add("method", MethodName(method_))
      .Add("code", CodeName(status.error_code()))
      .Add("seconds", seconds);
  if (!plan_id_.empty()) line.Add("plan_id", plan_id_);
  if (*served_from_ != '\0') line.Add("served_from", served_from_);
  line.Add("peer", context_->peer());
}

}  // namespace evenkeel::server
