// A finished span: a part of a call, with its times.
#ifndef EVENKEEL_SERVER_TRACING_SPAN_RECORD_H_
#define EVENKEEL_SERVER_TRACING_SPAN_RECORD_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace evenkeel::server {

using AttributeValue = std::variant<std::string, int64_t>;

struct SpanRecord {
  std::string trace_id;   // 32 hexadecimal digits
  std::string span_id;    // 16 hexadecimal digits
  std::string parent_id;  // 16 hexadecimal digits; empty for the first span of a trace
  std::string name;
  bool is_server = false;     // the whole of a call; otherwise a step of one
  int64_t start_unix_ns = 0;  // nanoseconds since the epoch
  int64_t end_unix_ns = 0;
  std::vector<std::pair<std::string, AttributeValue>> attributes;
  bool is_error = false;
  std::string error;  // why, for is_error
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_TRACING_SPAN_RECORD_H_
