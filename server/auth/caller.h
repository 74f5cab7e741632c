// Who makes a call, and for which tenant.
#ifndef EVENKEEL_SERVER_AUTH_CALLER_H_
#define EVENKEEL_SERVER_AUTH_CALLER_H_

#include <string>

namespace evenkeel::server {

struct Caller {
  // Proven principals: "spiffe://example.org/ns/ml", "dns:scheduler.example.org", "uid:1000".
  // Unproven principals: "ip:10.0.0.7" (without the port), "unix".
  std::string principal;
  // Tenant whose plans, datasets and profiles the call sees. Empty for the default tenant.
  std::string tenant;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_AUTH_CALLER_H_
