// The parts that every call has: its request id, its trace, its metrics, its place among the calls
// in flight, and its line in the log.
#ifndef EVENKEEL_SERVER_RPC_RPC_SCOPE_H_
#define EVENKEEL_SERVER_RPC_RPC_SCOPE_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "grpcpp/server_context.h"
#include "grpcpp/support/status.h"
#include "server/auth/caller.h"
#include "server/auth/policy_file.h"
#include "server/core/clock.h"
#include "server/core/planning_core.h"
#include "server/core/work_terms.h"
#include "server/metrics/metrics.h"
#include "server/rpc/methods.h"
#include "server/rpc/trace_context.h"
#include "server/tracing/tracer.h"

namespace evenkeel::server {

inline constexpr char kRequestIdHeader[] = "x-request-id";
inline constexpr char kTraceParentHeader[] = "traceparent";
inline constexpr char kTraceIdHeader[] = "x-trace-id";

// The objects that all calls of one host share. They must outlive every call.
struct RpcWorld {
  Metrics& metrics;
  const Clock& clock;
  std::atomic<int64_t>& in_flight;  // calls with a live scope, over all hosts
  // The proven principal of every caller of this host, such as "uid:1000". If empty, only the call
  // itself can prove one.
  std::string connection_principal = {};
  const PolicyFile* policy = nullptr;  // nullptr if everybody may do everything
  Tracer* tracer = nullptr;            // nullptr if no spans are exported
};

// Lives from a call's arrival until its answer has been handed to gRPC, and never longer than the
// service. A call that the policy refuses has no scope.
class RpcScope {
 public:
  // Begins a call; every handler starts with this. Returns nullptr if the caller may not make the
  // call. Then its end has been counted and logged, and *refusal is the status to answer. Takes the
  // request id from the header x-request-id if that is 1 to 64 characters of [A-Za-z0-9._-],
  // otherwise makes one, and answers it in the same header. Continues the trace of the header
  // traceparent and answers its own span in the same header, or begins a trace. Answers the id of
  // the trace in x-trace-id. `world` and `context` must outlive the scope.
  static std::unique_ptr<RpcScope> Admit(RpcWorld& world, Method method,
                                         grpc::CallbackServerContext* context,
                                         grpc::Status* refusal);
  ~RpcScope();
  RpcScope(const RpcScope&) = delete;
  RpcScope& operator=(const RpcScope&) = delete;

  // Sets the plan that the log names.
  void SetPlan(std::string_view plan_id, const char* served_from);

  // Adds the steps that led to the outcome to the trace.
  void AddSteps(const PlanOutcome& outcome);

  // Counts and logs the end of the call, and exports its spans. Call once, before the status is
  // given to gRPC.
  void End(const grpc::Status& status);

  const std::string& request_id() const { return request_id_; }
  const Caller& caller() const { return caller_; }
  bool deadline_passed() const;
  // Returns the terms for the queue: the caller as the client to charge, and the deadline by the
  // server's clock.
  WorkTerms terms(double cost_seconds) const;

 private:
  void CountAnswer(grpc::StatusCode code, double seconds);
  RpcScope(RpcWorld& world, Method method, grpc::CallbackServerContext* context);
  grpc::Status Authorize();
  void Log(const grpc::Status& status, double seconds) const;
  void Export(const grpc::Status& status, std::chrono::steady_clock::time_point end) const;

  RpcWorld& world_;
  const Method method_;
  grpc::CallbackServerContext* const context_;
  const std::chrono::steady_clock::time_point since_;
  std::string request_id_;
  std::string parent_span_id_;  // empty if this call is the first of its trace
  const TraceContext span_;
  std::vector<PlanStepsPtr> steps_;
  Caller caller_;
  std::string plan_id_;
  const char* served_from_ = "";
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_RPC_SCOPE_H_
