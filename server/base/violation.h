// One fault of a request.
#ifndef EVENKEEL_SERVER_BASE_VIOLATION_H_
#define EVENKEEL_SERVER_BASE_VIOLATION_H_

#include <string>

namespace evenkeel::server {

struct Violation {
  std::string field;  // path from the request, in proto names: "job.cluster.pools[0].gpu_count"
  std::string description;  // what is wrong and what would be accepted; one line of valid UTF-8
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_BASE_VIOLATION_H_
