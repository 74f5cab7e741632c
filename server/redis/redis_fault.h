// The faults that can occur between this process and a Redis.
#ifndef EVENKEEL_SERVER_REDIS_REDIS_FAULT_H_
#define EVENKEEL_SERVER_REDIS_REDIS_FAULT_H_

#include <string>

namespace evenkeel::server {

enum class RedisFault {
  kNone,
  kUnreachable,  // no connection, a broken connection, or a failed handshake or login
  kTimeout,      // no reply in time
  kProtocol,     // the received bytes are not a reply
  kServer,       // Redis answered with an error, and the connection is still good
  kCluster,      // a part of a Redis Cluster refused: Redis did nothing
};

struct RedisFailure {
  RedisFault fault = RedisFault::kNone;
  std::string why;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_REDIS_REDIS_FAULT_H_
