// The life of the process around the server: signals and the drain.
#ifndef EVENKEEL_SERVER_LIFECYCLE_H_
#define EVENKEEL_SERVER_LIFECYCLE_H_

#include "server/server.h"

namespace evenkeel::server {

// Blocks signals in all threads. Call it before any thread is started, because threads inherit it.
void BlockSignals();

struct DrainTimes {
  double delay_seconds = 0;    // how long the server reports NOT_SERVING but still serves
  double timeout_seconds = 0;  // limit after that for the calls in flight
};

// Returns after SIGTERM or SIGINT and the drain: calls in flight have been answered, or the timeout
// has passed. A second signal ends the process at once, with exit code 128 + its number.
void RunUntilSignal(Server& server, const DrainTimes& times);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_LIFECYCLE_H_
