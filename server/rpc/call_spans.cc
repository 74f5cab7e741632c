#include "server/rpc/call_spans.h"

#include <algorithm>
#include <utility>

#include "server/rpc/methods.h"
#include "server/rpc/random_id.h"

namespace evenkeel::server {
namespace {

constexpr int kSpanIdDigits = 16;

// Returns whether the server is to blame. A fault of the caller is no error of this span.
bool IsServersError(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::UNKNOWN:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::UNIMPLEMENTED:
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DATA_LOSS:
      return true;
    default:
      return false;
  }
}

int64_t UnixNanoseconds(const CallSpan& call, std::chrono::steady_clock::time_point time) {
  return call.unix_ns_at_end -
         std::chrono::duration_cast<std::chrono::nanoseconds>(call.to - time).count();
}

SpanRecord SpanOfCall(const CallSpan& call, const grpc::Status& status) {
  SpanRecord span;
  span.trace_id = call.span.trace_id;
  span.span_id = call.span.span_id;
  span.parent_id = call.parent_span_id;
  span.name = std::string(kServiceName) + "/" + call.method;
  span.is_server = true;
  span.start_unix_ns = UnixNanoseconds(call, call.from);
  span.end_unix_ns = call.unix_ns_at_end;
  span.attributes = {{"rpc.system", "grpc"},
                     {"rpc.service", kServiceName},
                     {"rpc.method", call.method},
                     {"rpc.grpc.status_code", static_cast<int64_t>(status.error_code())},
                     {"client.address", call.peer},
                     {"evenkeel.request_id", call.request_id},
                     {"evenkeel.tenant", call.tenant},
                     {"evenkeel.plan_id", call.plan_id},
                     {"evenkeel.served_from", call.served_from}};
  std::erase_if(span.attributes, [](const auto& attribute) {
    const auto* text = std::get_if<std::string>(&attribute.second);
    return text != nullptr && text->empty();
  });
  span.is_error = IsServersError(status.error_code());
  // The message is left out: it may repeat values of the request, which logs do not have either.
  return span;
}

}  // namespace

void RecordCall(const CallSpan& call, const grpc::Status& status,
                const std::vector<PlanStepsPtr>& steps, Tracer& tracer) {
  for (const PlanStepsPtr& some : steps) {
    for (const PlanStep& step : *some) {
      const auto from = std::max(step.from, call.from);
      const auto to = std::min(step.to, call.to);
      if (from > to) continue;
      SpanRecord span;
      span.trace_id = call.span.trace_id;
      span.span_id = RandomHexId(kSpanIdDigits);
      span.parent_id = call.span.span_id;
      span.name = step.name;
      span.start_unix_ns = UnixNanoseconds(call, from);
      span.end_unix_ns = UnixNanoseconds(call, to);
      tracer.Record(std::move(span));
    }
  }
  tracer.Record(SpanOfCall(call, status));
}

}  // namespace evenkeel::server
