// Survives reading a mapped file whose pages can not be had: cut short by somebody else, or on a
// disk that fails. Without it, the process ends by SIGBUS.
#ifndef EVENKEEL_SERVER_CACHE_BUS_GUARD_H_
#define EVENKEEL_SERVER_CACHE_BUS_GUARD_H_

namespace evenkeel::server {

// Calls `call(argument)`; false: it was abandoned where it touched such a page. What it had in hand
// then (locks, memory, an open transaction) stays as it was, so `call` is to be plain C, and
// whatever it worked on is not to be used again. May be nested in no other.
bool GuardBus(void (*call)(void*), void* argument);

// Likewise for a callable without destructors of its own.
template <typename Callable>
bool GuardBus(Callable& callable) {
  return GuardBus([](void* held) { (*static_cast<Callable*>(held))(); }, &callable);
}

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CACHE_BUS_GUARD_H_
