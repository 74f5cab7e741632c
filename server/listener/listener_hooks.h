// What others decide for the listener.
#ifndef EVENKEEL_SERVER_LISTENER_LISTENER_HOOKS_H_
#define EVENKEEL_SERVER_LISTENER_LISTENER_HOOKS_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace evenkeel::server {

// The principal of a unix peer, such as "uid:1000"; nothing: it may not connect. Called by one
// thread, and quick: a look into a table.
using UnixPrincipal = std::function<std::optional<std::string>(uid_t, gid_t)>;

// All may be empty.
struct ListenerHooks {
  // Where rights depend on who a unix peer is. Empty: all of them are alike.
  UnixPrincipal unix_principal;
  // Calls that ended so far: a server that ends calls is busy, not dead.
  std::function<uint64_t()> calls_ended;
  // The server does not answer at that address of its own any more; see SelfProbe.
  std::function<void(const std::string& address)> on_dead;
  // For tests; see AcceptLoop.
  std::function<void()> before_accept;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_LISTENER_LISTENER_HOOKS_H_
