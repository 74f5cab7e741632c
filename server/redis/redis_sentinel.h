// Sentinels, which know where the primary of a Redis is at the moment.
#ifndef EVENKEEL_SERVER_REDIS_REDIS_SENTINEL_H_
#define EVENKEEL_SERVER_REDIS_REDIS_SENTINEL_H_

#include <cstddef>

#include "server/redis/redis_client.h"

namespace evenkeel::server {

// Asks the Sentinels of `address`, one after the other, from number *first on, which is set to the
// one that answered. Each has its part of the time. Returns what is wrong with all of them.
RedisFailure FindPrimary(const RedisAddress& address, RedisClient::Deadline deadline, size_t* first,
                         RedisEndpoint* primary);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_REDIS_REDIS_SENTINEL_H_
