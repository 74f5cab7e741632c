// The whole server: the one place that wires the parts together.
#ifndef EVENKEEL_SERVER_SERVER_H_
#define EVENKEEL_SERVER_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/convert/pack_request.h"
#include "server/core/planning_core.h"
#include "server/listener/listener_hooks.h"
#include "server/options.h"

namespace evenkeel::server {

class Server {
 public:
  // Answers calls, and says so by grpc.health.v1, when it returns. `compute` makes the plans:
  // ComputePlan, or a test's own; likewise `pack`. nullptr, with a reason in *error: an address
  // cannot be had, or the TLS files cannot be used. Without `hooks.on_dead`: ExitUnreachable.
  static std::unique_ptr<Server> Start(const Options& options, ComputeFunction compute,
                                       std::string* error,
                                       PackFunction pack = &planner::PackAndDeal,
                                       ListenerHooks hooks = {});

  // Ends at once: calls in flight are cancelled.
  ~Server();

  // The drain, in this order. Health says NOT_SERVING, and all goes on:
  void SayNotServing();
  // the ports are closed to new connections, and what is not planned yet is refused:
  void BeginDrain();
  // calls that are being answered; open Health.Watch and reflection streams do not count:
  int64_t calls_in_flight() const;
  // stops what still runs, flushes the answers and closes the connections:
  void Shutdown();

  // Of each address of the options, in order; of no use for unix sockets. For port 0, which takes a
  // free one.
  const std::vector<int>& ports() const;
  int metrics_port() const;  // 0: off

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_SERVER_H_
