// Decides which traces are recorded, by OpenTelemetry's rules
// (https://opentelemetry.io/docs/specs/otel/trace/sdk/#built-in-samplers).
#ifndef EVENKEEL_SERVER_TRACING_SAMPLER_H_
#define EVENKEEL_SERVER_TRACING_SAMPLER_H_

#include <optional>
#include <string>
#include <string_view>

namespace evenkeel::server {

struct Sampler {
  bool follows_parent = true;  // a caller's decision is kept
  double ratio = 1;            // share of the other traces, from 0 to 1

  // `parent` is the caller's decision, if there is one. All servers with the same ratio decide
  // equally about a trace.
  bool Samples(std::optional<bool> parent, std::string_view trace_id) const;
};

// Sets the sampler named `name` (always_on, always_off, traceidratio, or one of these after
// parentbased_), with its argument. Returns the fault, or "".
std::string ParseSampler(std::string_view name, std::string_view argument, Sampler* sampler);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_TRACING_SAMPLER_H_
