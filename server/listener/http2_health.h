// The minimum of HTTP/2 that sends a grpc.health.v1.Health/Check and recognises the answer. A gRPC
// client would share threads and pollers with the server that it has to judge.
#ifndef EVENKEEL_SERVER_LISTENER_HTTP2_HEALTH_H_
#define EVENKEEL_SERVER_LISTENER_HTTP2_HEALTH_H_

#include <string>
#include <string_view>

namespace evenkeel::server {

// Returns everything that the client sends: preface, SETTINGS, and the call on stream 1.
std::string HealthCheckBytes();

enum class HealthAnswer { kIncomplete, kAnswered, kRefused };

// Interprets `bytes`, which is everything that the server has sent so far.
HealthAnswer ReadHealthAnswer(std::string_view bytes);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_LISTENER_HTTP2_HEALTH_H_
