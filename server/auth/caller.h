// Who makes a call, and for whom.
#ifndef EVENKEEL_SERVER_AUTH_CALLER_H_
#define EVENKEEL_SERVER_AUTH_CALLER_H_

#include <string>

namespace evenkeel::server {

struct Caller {
  // Proven: "spiffe://example.org/ns/ml", "dns:scheduler.example.org", "uid:1000". Not proven:
  // "ip:10.0.0.7", without the port, or "unix".
  std::string principal;
  // Whose plans, datasets and profiles the call sees; empty: those of the only one there is.
  std::string tenant;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_AUTH_CALLER_H_
