// Sends spans to an OTLP receiver over gRPC.
#ifndef EVENKEEL_SERVER_TRACING_OTLP_SENDER_H_
#define EVENKEEL_SERVER_TRACING_OTLP_SENDER_H_

#include <string>

#include "server/tracing/otlp_settings.h"
#include "server/tracing/tracer.h"

namespace evenkeel::server {

// Returns a function that sends a batch, and connects when it is first needed. Returns an empty
// one, with the reason in *error, if a file of the settings cannot be read. `version` is ours.
Tracer::Send MakeOtlpSender(const OtlpSettings& settings, const std::string& version,
                            std::string* error);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_TRACING_OTLP_SENDER_H_
