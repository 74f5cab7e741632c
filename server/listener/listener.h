// Everything between the network and the services: sockets, accept loop, hosts, certificates and
// the self-probe.
#ifndef EVENKEEL_SERVER_LISTENER_LISTENER_H_
#define EVENKEEL_SERVER_LISTENER_LISTENER_H_

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "server/listener/accept_loop.h"
#include "server/listener/connection_table.h"
#include "server/listener/hosts.h"
#include "server/listener/listener_hooks.h"
#include "server/listener/self_probe.h"
#include "server/listener/tls_watcher.h"
#include "server/metrics/listener_gauges.h"
#include "server/options.h"

namespace evenkeel::server {

class Listener {
 public:
  // Binds all addresses of the options and serves. Health is NOT_SERVING at first. Returns nullptr,
  // with a reason in *error, if an address cannot be bound or the TLS files cannot be used.
  static std::unique_ptr<Listener> Open(const Options& options, ServicesFactory services,
                                        ListenerHooks hooks, std::string* error);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Returns the ports of the addresses of the options, in order; 0 for unix sockets.
  const std::vector<int>& ports() const { return ports_; }

  void SetServing(bool serving) { hosts_.SetServing(serving); }
  bool serving() { return hosts_.serving(); }

  // Closes the sockets; existing connections stay.
  void StopAccepting();

  // Ends calls and connections. Cancels calls that still run at `deadline`.
  void Shutdown(std::chrono::system_clock::time_point deadline);

  ListenerGauges gauges();

 private:
  Listener(const Options& options, ServicesFactory services, ListenerHooks hooks);

  bool OpenTls(std::string* error);
  bool OpenSockets(std::string* error);
  void StartProbe();

  const Options options_;
  const ListenerHooks hooks_;
  ConnectionTable table_;
  Hosts hosts_;
  ProbeAddresses probes_;
  std::vector<int> ports_;
  std::vector<ProbeTarget> targets_;
  size_t most_connections_;
  std::unique_ptr<TlsWatcher> tls_;
  std::unique_ptr<AcceptLoop> accept_loop_;
  std::unique_ptr<SelfProbe> self_probe_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_LISTENER_LISTENER_H_
