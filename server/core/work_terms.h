// The facts about a piece of work that the queue needs.
#ifndef EVENKEEL_SERVER_CORE_WORK_TERMS_H_
#define EVENKEEL_SERVER_CORE_WORK_TERMS_H_

#include <chrono>
#include <string>

namespace evenkeel::server {

struct WorkTerms {
  std::string client;  // charged for the work: clients are served in turn
  // Time after which the caller has no use for the result.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  double cost_seconds = 0;  // estimated time of a worker; 0 if unknown
  // Arrival of the caller's request, because requests that arrived before a drain began are still
  // served. If unset, it is now.
  std::chrono::steady_clock::time_point arrived = std::chrono::steady_clock::time_point::max();
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CORE_WORK_TERMS_H_
