// The bytes to and from a Redis over a connected socket, as they are or in TLS. The waiting is done
// here, so that nothing takes longer than its deadline, however slowly the other side sends.
#ifndef EVENKEEL_SERVER_REDIS_REDIS_CHANNEL_H_
#define EVENKEEL_SERVER_REDIS_REDIS_CHANNEL_H_

#include <chrono>
#include <cstddef>
#include <span>
#include <string_view>

#include "server/redis/redis_fault.h"
#include "server/redis/redis_tls.h"

namespace evenkeel::server {

// Not thread-safe. If a function fails, it does so with kTimeout or kUnreachable; the connection
// must then be given up.
class RedisChannel {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  // The socket must be non-blocking. It must outlive the channel, which does not close it.
  explicit RedisChannel(int fd) : fd_(fd) {}

  // Waits until the connection is there.
  RedisFailure Connect(Deadline deadline);

  // Switches to TLS: does the handshake and checks the certificate of the other side.
  RedisFailure StartTls(SslPointer ssl, Deadline deadline);

  // Sends all of `bytes`. Sets *was_sent as soon as anything has left.
  RedisFailure Send(std::string_view bytes, Deadline deadline, bool* was_sent);

  // Waits for at least one byte, and sets *count to the number that came.
  RedisFailure Receive(std::span<char> buffer, Deadline deadline, size_t* count);

  // Returns false if there are bytes that nobody asked for, or the end of the stream.
  bool IsQuiet();

 private:
  RedisFailure SendRaw(std::string_view bytes, Deadline deadline, bool* was_sent);
  RedisFailure ReceiveRaw(std::span<char> buffer, Deadline deadline, size_t* count);
  RedisFailure SendPending(Deadline deadline, bool* was_sent);
  RedisFailure TakeMore(Deadline deadline);

  const int fd_;
  SslPointer ssl_;             // nullptr without TLS
  bool has_received_ = false;  // some bytes of TLS
  BIO* incoming_ = nullptr;    // input of ssl_: bytes from the socket
  BIO* outgoing_ = nullptr;    // output of ssl_: bytes for the socket
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_REDIS_REDIS_CHANNEL_H_
