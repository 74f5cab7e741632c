// The least HTTP/2 that asks grpc.health.v1.Health/Check and understands that it was answered: a
// gRPC client would share threads and pollers with the server that it is to judge.
#ifndef EVENKEEL_SERVER_LISTENER_HTTP2_HEALTH_H_
#define EVENKEEL_SERVER_LISTENER_HTTP2_HEALTH_H_

#include <string>
#include <string_view>

namespace evenkeel::server {

// All that the client sends: preface, SETTINGS, and the call on stream 1.
std::string HealthCheckBytes();

enum class HealthAnswer { kIncomplete, kAnswered, kRefused };

// What `bytes`, all that the server sent so far, say.
HealthAnswer ReadHealthAnswer(std::string_view bytes);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_LISTENER_HTTP2_HEALTH_H_
