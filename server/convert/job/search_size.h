// The size of a search, and the limit on it.
#ifndef EVENKEEL_SERVER_CONVERT_JOB_SEARCH_SIZE_H_
#define EVENKEEL_SERVER_CONVERT_JOB_SEARCH_SIZE_H_

#include <cstdint>

#include "planner/job.h"
#include "server/convert/violations.h"

namespace evenkeel::server {

// The size of a search, before any bound or limit.
struct SearchSize {
  int64_t degrees = 0;   // number of Parallelisms, each with one number of virtual stages
  int64_t chunked = 0;   // number of Parallelisms with each number of virtual stages
  int64_t segments = 0;  // segments of the chain of layers, over the stages of all degrees
  int64_t layers = 0;    // transformer layers
};
SearchSize SearchSizeOf(const planner::Job& job);

// Limit on the candidates of a search, which take about 200 bytes of memory each. A larger search
// is a violation.
inline constexpr int64_t kMaxChunked = 500'000;
void CheckSearchSize(const planner::Job& job, const FieldPath& job_path, ViolationSink& sink);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_JOB_SEARCH_SIZE_H_
