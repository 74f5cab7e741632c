// The receiver of spans, as OpenTelemetry's environment variables describe it
// (https://opentelemetry.io/docs/specs/otel/protocol/exporter/).
#ifndef EVENKEEL_SERVER_TRACING_OTLP_SETTINGS_H_
#define EVENKEEL_SERVER_TRACING_OTLP_SETTINGS_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "server/tracing/tracer.h"

namespace evenkeel::server {

struct OtlpSettings {
  std::string target;  // HOST:PORT or unix:/path of the receiver; empty if nothing is exported
  bool tls = false;
  std::string ca;           // PEM file of authorities; empty for those of the machine
  std::string certificate;  // PEM file of our certificate; empty for none
  std::string key;          // PEM file of its key
  bool gzip = false;
  std::vector<std::pair<std::string, std::string>> headers;     // metadata of each message
  std::vector<std::pair<std::string, std::string>> attributes;  // of this process
  Tracer::Settings tracer;
};

// Returns the value of a variable, or nullptr.
using Environment = std::function<const char*(const char* name)>;

// Reads the settings. `endpoint` is that of --otlp-endpoint: an address, "environment" or "off".
// Returns the fault, naming the variable, or "". Values of headers are never repeated.
std::string ReadOtlpSettings(const std::string& endpoint, const Environment& environment,
                             OtlpSettings* settings);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_TRACING_OTLP_SETTINGS_H_
