// The spans of a call, by OpenTelemetry's conventions for RPC
// (https://opentelemetry.io/docs/specs/semconv/rpc/grpc/).
#ifndef EVENKEEL_SERVER_RPC_CALL_SPANS_H_
#define EVENKEEL_SERVER_RPC_CALL_SPANS_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "grpcpp/support/status.h"
#include "server/core/plan_steps.h"
#include "server/rpc/trace_context.h"
#include "server/tracing/tracer.h"

namespace evenkeel::server {

// The facts about a call at its end. Absent texts are empty.
struct CallSpan {
  const TraceContext& span;
  const std::string& parent_span_id;
  std::string method;
  const std::string& request_id;
  std::string peer;
  const std::string& tenant;
  const std::string& plan_id;
  std::string served_from;
  std::chrono::steady_clock::time_point from, to;
  int64_t unix_ns_at_end = 0;  // `to` by the wall clock
};

// Gives `tracer` the span of the call, and one for each step. Equal requests share a computation,
// so steps may have begun before the call. Only the part of a step within the call is exported.
void RecordCall(const CallSpan& call, const grpc::Status& status,
                const std::vector<PlanStepsPtr>& steps, Tracer& tracer);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_CALL_SPANS_H_
