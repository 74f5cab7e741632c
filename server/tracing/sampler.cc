#include "server/tracing/sampler.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace evenkeel::server {
namespace {

constexpr std::string_view kParentBased = "parentbased_";
constexpr size_t kRandomDigits = 16;  // the last digits of a trace id are random

}  // namespace

bool Sampler::Samples(std::optional<bool> parent, std::string_view trace_id) const {
  if (follows_parent && parent) return *parent;
  if (ratio >= 1) return true;
  const std::string_view digits =
      trace_id.substr(trace_id.size() - std::min(trace_id.size(), kRandomDigits));
  uint64_t random = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), random, 16);
  constexpr double kHalf = 9223372036854775808.0;  // 2^63
  return random >> 1 < static_cast<uint64_t>(ratio * kHalf);
}

std::string ParseSampler(std::string_view name, std::string_view argument, Sampler* sampler) {
  *sampler = Sampler();
  sampler->follows_parent = name.starts_with(kParentBased);
  if (sampler->follows_parent) name.remove_prefix(kParentBased.size());
  if (name == "always_on") return "";
  if (name == "always_off") {
    sampler->ratio = 0;
    return "";
  }
  if (name != "traceidratio") {
    return "OTEL_TRACES_SAMPLER must be always_on, always_off or traceidratio, or one of these "
           "after parentbased_";
  }
  if (argument.empty()) return "";  // all of them, as OpenTelemetry says
  const char* const end = argument.data() + argument.size();
  const auto read = std::from_chars(argument.data(), end, sampler->ratio);
  const bool is_good =
      read.ec == std::errc() && read.ptr == end && sampler->ratio >= 0 && sampler->ratio <= 1;
  return is_good ? "" : "OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1";
}

}  // namespace evenkeel::server
