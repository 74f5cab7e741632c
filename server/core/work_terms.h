// What the queue must know of a piece of work.
#ifndef EVENKEEL_SERVER_CORE_WORK_TERMS_H_
#define EVENKEEL_SERVER_CORE_WORK_TERMS_H_

#include <chrono>
#include <string>

namespace evenkeel::server {

struct WorkTerms {
  std::string client;  // on whose account: clients are served in turn
  // Of no use to the caller from then on.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  double cost_seconds = 0;  // estimated, of a worker; 0: unknown
  // When the caller's request arrived: what came before a drain began is still served. Unset: now.
  std::chrono::steady_clock::time_point arrived = std::chrono::steady_clock::time_point::max();
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CORE_WORK_TERMS_H_
