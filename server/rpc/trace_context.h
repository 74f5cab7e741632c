// Trace context as W3C defines it (https://www.w3.org/TR/trace-context/): which trace a call
// belongs to, and the span of this server in it. Nothing is exported: spans are found in the log.
#ifndef EVENKEEL_SERVER_RPC_TRACE_CONTEXT_H_
#define EVENKEEL_SERVER_RPC_TRACE_CONTEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace evenkeel::server {

struct TraceContext {
  std::string trace_id;  // 32 lower-case hexadecimal digits, not all zero
  std::string span_id;   // 16 likewise
  bool sampled = false;  // the caller records this trace
};

// The header `traceparent`. nullopt: it is malformed, and the trace must be started anew. Versions
// above 00 are read as 00, as the standard asks.
std::optional<TraceContext> ParseTraceParent(std::string_view text);

// As version 00.
std::string FormatTraceParent(const TraceContext& context);

// A new span below `parent`; nullptr: the first of a new trace, which nobody records.
TraceContext NewSpan(const TraceContext* parent);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_TRACE_CONTEXT_H_
