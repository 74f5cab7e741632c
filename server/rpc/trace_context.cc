#include "server/rpc/trace_context.h"

#include <algorithm>
#include <cstddef>

#include "server/rpc/random_id.h"

namespace evenkeel::server {
namespace {

// "VV-TTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTT-SSSSSSSSSSSSSSSS-FF"
constexpr size_t kTraceAt = 3, kTraceDigits = 32;
constexpr size_t kSpanAt = 36, kSpanDigits = 16;
constexpr size_t kFlagsAt = 53;
constexpr size_t kLength = 55;

bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool IsId(std::string_view text) {
  return IsHex(text) && text.find_first_not_of('0') != std::string_view::npos;
}

}  // namespace

std::optional<TraceContext> ParseTraceParent(std::string_view text) {
  if (text.size() < kLength) return std::nullopt;
  const std::string_view version = text.substr(0, 2);
  if (!IsHex(version) || version == "ff") return std::nullopt;
  const bool is_known = version == "00";
  if (text.size() > kLength && (is_known || text[kLength] != '-')) return std::nullopt;
  const std::string_view trace = text.substr(kTraceAt, kTraceDigits);
  const std::string_view span = text.substr(kSpanAt, kSpanDigits);
  const std::string_view flags = text.substr(kFlagsAt, 2);
  const bool has_dashes =
      text[kTraceAt - 1] == '-' && text[kSpanAt - 1] == '-' && text[kFlagsAt - 1] == '-';
  if (!has_dashes || !IsId(trace) || !IsId(span) || !IsHex(flags)) return std::nullopt;
  const int last = flags[1] <= '9' ? flags[1] - '0' : flags[1] - 'a' + 10;
  return TraceContext{std::string(trace), std::string(span), (last & 1) != 0};
}

std::string FormatTraceParent(const TraceContext& context) {
  return "00-" + context.trace_id + "-" + context.span_id + (context.sampled ? "-01" : "-00");
}

TraceContext NewSpan(const TraceContext* parent) {
  if (parent == nullptr) return {RandomHexId(kTraceDigits), RandomHexId(kSpanDigits), false};
  return {parent->trace_id, RandomHexId(kSpanDigits), parent->sampled};
}

}  // namespace evenkeel::server
