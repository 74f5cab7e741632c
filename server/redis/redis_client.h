// One connection to a Redis, by the RESP2 protocol. hiredis writes commands and reads replies; the
// waiting is done here, so that a command never takes longer than its deadline, however slowly the
// other side trickles. No TLS: hiredis 0.14 has none.
#ifndef EVENKEEL_SERVER_REDIS_REDIS_CLIENT_H_
#define EVENKEEL_SERVER_REDIS_REDIS_CLIENT_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/redis/redis_address.h"

namespace evenkeel::server {

enum class RedisFault {
  kNone,
  kUnreachable,  // no connection, or it broke, or the login failed
  kTimeout,      // no reply in time
  kProtocol,     // what came is no reply
  kServer,       // Redis answered with an error, and the connection is still good
};

struct RedisReply {
  enum class Kind { kNil, kText, kInteger, kArray, kFault };

  static RedisReply Failed(RedisFault fault, std::string why);
  bool ok() const { return kind != Kind::kFault; }

  Kind kind = Kind::kNil;
  std::string text;                  // of kText, binary-safe; of kFault: why
  int64_t integer = 0;               // of kInteger
  std::vector<RedisReply> elements;  // of kArray
  RedisFault fault = RedisFault::kNone;
};

// Not thread-safe.
class RedisClient {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  // Larger replies are a fault.
  static constexpr size_t kMaxReplyBytes = size_t{256} << 20;

  // Connects when it is first needed. `connect_timeout` bounds connecting and the login, within the
  // deadline of the command that needs them.
  RedisClient(RedisAddress address, std::chrono::milliseconds connect_timeout);
  ~RedisClient();
  RedisClient(const RedisClient&) = delete;
  RedisClient& operator=(const RedisClient&) = delete;

  // Sends one command and waits for its reply. After every fault but kServer the connection is
  // dropped, because a late reply would answer the next command; the next command connects anew.
  // kUnreachable with was_sent() false: Redis can not have seen the command.
  RedisReply Command(const std::vector<std::string_view>& words, Deadline deadline);

  // Connects and logs in where that is not done yet. ok(), or why not.
  RedisReply Connect(Deadline deadline);

  // Whether any byte of the last command was sent.
  bool was_sent() const { return was_sent_; }

  bool connected() const { return connection_ != nullptr; }
  uint64_t connections() const { return connections_; }  // made so far
  const RedisAddress& address() const { return address_; }

  void Disconnect();

 private:
  struct Connection;

  RedisReply Open(Deadline deadline);
  RedisReply Login(Deadline deadline);
  RedisReply Exchange(const std::vector<std::string_view>& words, Deadline deadline);
  RedisReply Drop(RedisFault fault, const std::string& why);

  const RedisAddress address_;
  const std::chrono::milliseconds connect_timeout_;
  std::unique_ptr<Connection> connection_;
  uint64_t connections_ = 0;
  bool was_sent_ = false;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_REDIS_REDIS_CLIENT_H_
