// Trace context as defined by W3C (https://www.w3.org/TR/trace-context/): the trace that a call
// belongs to, and the span of this server in it.
#ifndef EVENKEEL_SERVER_RPC_TRACE_CONTEXT_H_
#define EVENKEEL_SERVER_RPC_TRACE_CONTEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace evenkeel::server {

struct TraceContext {
  std::string trace_id;  // 32 lower-case hexadecimal digits, not all zero
  std::string span_id;   // 16 lower-case hexadecimal digits, not all zero
  bool sampled = false;  // the caller records this trace
};

// Parses the header `traceparent`. Returns nullopt if it is malformed and a new trace must be
// started. Versions above 00 are read as 00, as the standard requires.
std::optional<TraceContext> ParseTraceParent(std::string_view text);

// Returns the header in version 00.
std::string FormatTraceParent(const TraceContext& context);

// Returns a new span below `parent`, sampled if that is. If `parent` is nullptr, it is the first
// span of a new trace, and not sampled.
TraceContext NewSpan(const TraceContext* parent);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_TRACE_CONTEXT_H_
