// The life of the process around the server: signals and the drain.
#ifndef EVENKEEL_SERVER_LIFECYCLE_H_
#define EVENKEEL_SERVER_LIFECYCLE_H_

#include "server/server.h"

namespace evenkeel::server {

// Call before any thread is started: all threads must inherit it.
void BlockSignals();

// Returns after SIGTERM or SIGINT and the drain: calls in flight have been answered, or
// `drain_timeout_seconds` have passed. A second signal ends the process at once, with exit code 128
// + its number.
void RunUntilSignal(Server& server, double drain_timeout_seconds);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_LIFECYCLE_H_
