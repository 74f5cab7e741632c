// One connection to a Redis with the RESP2 protocol. If Sentinels know the Redis, each new
// connection goes to the primary that they name at that time, and a replica is refused. hiredis
// connects, writes commands and reads replies. The bytes go through a RedisChannel, because hiredis
// has no deadline for a whole command, and Debian 12's has no TLS.
#ifndef EVENKEEL_SERVER_REDIS_REDIS_CLIENT_H_
#define EVENKEEL_SERVER_REDIS_REDIS_CLIENT_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/redis/redis_address.h"
#include "server/redis/redis_fault.h"

namespace evenkeel::server {

class RedisTls;

struct RedisReply {
  enum class Kind { kNil, kText, kInteger, kArray, kFault };

  static RedisReply Failed(RedisFault fault, std::string why);
  bool ok() const { return kind != Kind::kFault; }

  Kind kind = Kind::kNil;
  std::string text;                  // for kText, binary-safe; for kFault, the reason
  int64_t integer = 0;               // for kInteger
  std::vector<RedisReply> elements;  // for kArray
  RedisFault fault = RedisFault::kNone;
};

// Not thread-safe.
class RedisClient {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  // Limit on a reply. A larger one is a fault.
  static constexpr size_t kMaxReplyBytes = size_t{256} << 20;

  // Connects on first use. `connect_timeout` limits connecting, TLS and the login, within the
  // deadline of the command that needs them.
  RedisClient(RedisAddress address, std::chrono::milliseconds connect_timeout);
  ~RedisClient();
  RedisClient(const RedisClient&) = delete;
  RedisClient& operator=(const RedisClient&) = delete;

  // Sends one command and waits for its reply. A part of a Redis Cluster may refuse any command:
  // that is a fault, because redirections are not followed. After every fault except kServer the
  // connection is dropped, because a late reply would answer the next command; the next command
  // reconnects. If the fault is kUnreachable and was_sent() is false, Redis cannot have seen the
  // command.
  RedisReply Command(const std::vector<std::string_view>& words, Deadline deadline);

  // Connects and logs in unless that is already done. Returns an ok() reply, or the fault.
  RedisReply Connect(Deadline deadline);

  // Returns true if any byte of the last command was sent.
  bool was_sent() const { return was_sent_; }

  bool connected() const { return connection_ != nullptr; }
  uint64_t connections() const { return connections_; }  // connections made so far
  const RedisAddress& address() const { return address_; }

  void Disconnect();

 private:
  struct Connection;

  RedisReply Open(Deadline deadline);
  RedisReply Login(Deadline deadline);
  RedisReply CheckRole(Deadline deadline);
  RedisFailure FindPrimary(Deadline deadline);
  RedisReply Exchange(const std::vector<std::string_view>& words, Deadline deadline);
  RedisReply Drop(const RedisFailure& failure);

  const RedisAddress address_;
  const std::chrono::milliseconds connect_timeout_;
  std::unique_ptr<RedisTls> tls_;  // nullptr without TLS
  std::unique_ptr<Connection> connection_;
  size_t sentinel_ = 0;    // index of the Sentinel that answered last
  RedisEndpoint primary_;  // named by that Sentinel; no host if none has answered
  uint64_t connections_ = 0;
  bool was_sent_ = false;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_REDIS_REDIS_CLIENT_H_
