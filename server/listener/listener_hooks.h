// Decisions that other parts make for the listener.
#ifndef EVENKEEL_SERVER_LISTENER_LISTENER_HOOKS_H_
#define EVENKEEL_SERVER_LISTENER_LISTENER_HOOKS_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace evenkeel::server {

// Returns the principal of a unix peer, such as "uid:1000", or nullopt if it may not connect. It is
// called by one thread and must be fast, such as a table look-up.
using UnixPrincipal = std::function<std::optional<std::string>(uid_t, gid_t)>;

// Any of them may be empty.
struct ListenerHooks {
  // Set if rights depend on who a unix peer is. If empty, all unix peers are treated alike.
  UnixPrincipal unix_principal;
  // Returns the number of calls that have ended so far, because a server that ends calls is busy,
  // not dead.
  std::function<uint64_t()> calls_ended;
  // Called if the server no longer answers at its own address `address`; see SelfProbe.
  std::function<void(const std::string& address)> on_dead;
  // For tests; see AcceptLoop.
  std::function<void()> before_accept;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_LISTENER_LISTENER_HOOKS_H_
