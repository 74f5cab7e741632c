// Checks whether a Redis keeps the writes that it acknowledges.
#ifndef EVENKEEL_SERVER_REDIS_REDIS_DURABILITY_H_
#define EVENKEEL_SERVER_REDIS_REDIS_DURABILITY_H_

#include <string>

#include "server/redis/redis_client.h"

namespace evenkeel::server {

struct RedisDurability {
  RedisFault fault = RedisFault::kNone;  // set if it could not be asked; `problem` says why
  bool hidden = false;                   // it does not reveal its configuration
  std::string problem;                   // empty if it keeps everything
};

// Asks a Redis for its configuration. It must be a primary with an append-only file that is synced
// before each reply, and must not evict keys that have no time to live.
RedisDurability AskDurability(RedisClient& client, RedisClient::Deadline deadline);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_REDIS_REDIS_DURABILITY_H_
