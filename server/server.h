// The whole server. This is the only place that connects the parts.
#ifndef EVENKEEL_SERVER_SERVER_H_
#define EVENKEEL_SERVER_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/core/planning_core.h"
#include "server/listener/listener_hooks.h"
#include "server/options.h"
#include "server/planning/compute_plan.h"
#include "server/planning/pack_function.h"

namespace evenkeel::server {

class Server {
 public:
  // Starts a server. When this returns, the server answers calls and reports so by grpc.health.v1.
  // `compute` makes the plans (ComputePlan, or a test's function), and `pack` makes the packings.
  // Returns nullptr, with a reason in *error, if an address cannot be bound or the TLS files cannot
  // be used. Without `hooks.on_dead` it uses ExitUnreachable.
  static std::unique_ptr<Server> Start(const Options& options, ComputeFunction compute,
                                       std::string* error,
                                       PackFunction pack = &planner::PackAndDeal,
                                       ListenerHooks hooks = {});

  // Ends at once. Calls in flight are cancelled.
  ~Server();

  // The steps of the drain, to be called in this order. First, health reports NOT_SERVING, and
  // everything continues.
  void SetNotServing();
  // Closes the ports to new connections, and refuses jobs that are not planned yet.
  void BeginDrain();
  // Returns the number of calls being answered. Open Health.Watch and reflection streams do not
  // count.
  int64_t calls_in_flight() const;
  // Returns the number of plans and packings that wait for a worker.
  size_t queue_depth() const;
  // Stops running work, flushes the answers and closes the connections.
  void Shutdown();

  // Returns the ports of the addresses of the options, in order; meaningless for unix sockets. For
  // port 0, it is the free port that was taken.
  const std::vector<int>& ports() const;
  int metrics_port() const;  // 0 if off

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_SERVER_H_
