#include "server/redis/redis_channel.h"

#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace evenkeel::server {
namespace {

using std::chrono::steady_clock;

constexpr size_t kRawBytes = size_t{16} << 10;  // about a record of TLS

constexpr int kMostQuietReads = 4;  // more is not what a quiet Redis sends

// Waits for `events`. Returns false if the deadline passed.
bool WaitFor(int fd, short events, RedisChannel::Deadline deadline) {
  while (true) {
    const auto left = deadline - steady_clock::now();
    if (left <= steady_clock::duration::zero()) return false;
    // Uses ppoll, because budgets of a few milliseconds are too short for whole milliseconds.
    const auto nanos = std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
    const timespec timeout{nanos / 1'000'000'000, nanos % 1'000'000'000};
    pollfd waited{fd, events, 0};
    const int ready = ppoll(&waited, 1, &timeout, nullptr);
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

bool IsReadable(int fd) {
  pollfd poll_request{fd, POLLIN, 0};
  return poll(&poll_request, 1, 0) > 0;
}

bool IsLater(ssize_t count) { return count < 0 && (errno == EAGAIN || errno == EINTR); }

RedisFailure Unreachable(std::string why) { return {RedisFault::kUnreachable, std::move(why)}; }

}  // namespace

RedisFailure RedisChannel::Connect(Deadline deadline) {
  if (!WaitFor(fd_, POLLOUT, deadline)) {
    return {RedisFault::kTimeout, "does not accept the connection"};
  }
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  return error == 0 ? RedisFailure{} : Unreachable(std::strerror(error));
}

// OpenSSL gets buffers instead of the socket: its own writing would wait without a deadline, and
// would let SIGPIPE end the process.
RedisFailure RedisChannel::StartTls(SslPointer ssl, Deadline deadline) {
  incoming_ = BIO_new(BIO_s_mem());
  outgoing_ = BIO_new(BIO_s_mem());
  SSL_set_bio(ssl.get(), incoming_, outgoing_);  // takes both
  ssl_ = std::move(ssl);
  bool was_sent = false;
  while (true) {
    ERR_clear_error();
    const int done = SSL_connect(ssl_.get());
    const int wanted = SSL_get_error(ssl_.get(), done);
    // Pending bytes are sent even after a failure, because they are the alert with our reason.
    RedisFailure failure = SendPending(deadline, &was_sent);
    if (done != 1 && wanted != SSL_ERROR_WANT_READ) return Unreachable(TlsProblem(ssl_.get()));
    if (failure.fault != RedisFault::kNone || done == 1) return failure;
    failure = TakeMore(deadline);
    if (failure.fault == RedisFault::kTimeout) {
      failure.why = "did not finish the TLS handshake in time; is this its TLS port?";
    } else if (failure.fault == RedisFault::kUnreachable) {
      failure.why += " in the TLS handshake; is this its TLS port?";
    }
    if (failure.fault != RedisFault::kNone) return failure;
  }
}

RedisFailure RedisChannel::Send(std::string_view bytes, Deadline deadline, bool* was_sent) {
  if (ssl_ == nullptr) return SendRaw(bytes, deadline, was_sent);
  size_t written = 0;
  ERR_clear_error();
  if (SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &written) != 1) {
    return Unreachable(TlsProblem(ssl_.get()));
  }
  RedisFailure failure = SendPending(deadline, was_sent);
  if (failure.fault != RedisFault::kUnreachable) return failure;
  // The reason may have come before the end.
  char unused = 0;
  size_t count = 0;
  const RedisFailure told = Receive({&unused, 1}, deadline, &count);
  return told.fault == RedisFault::kUnreachable ? told : failure;
}

RedisFailure RedisChannel::Receive(std::span<char> buffer, Deadline deadline, size_t* count) {
  if (ssl_ == nullptr) return ReceiveRaw(buffer, deadline, count);
  while (true) {
    ERR_clear_error();
    const int done = SSL_read_ex(ssl_.get(), buffer.data(), buffer.size(), count);
    has_received_ = has_received_ || done == 1;
    if (done == 1) return {};
    const int wanted = SSL_get_error(ssl_.get(), done);
    if (wanted == SSL_ERROR_ZERO_RETURN) return Unreachable("closed the connection");
    if (wanted != SSL_ERROR_WANT_READ) return Unreachable(TlsProblem(ssl_.get()));
    RedisFailure failure = TakeMore(deadline);
    // With TLS 1.3, a server says only after the handshake that it refuses our certificate, and the
    // end of the connection may overtake the refusal.
    if (failure.fault == RedisFault::kUnreachable && !has_received_) {
      failure.why += " before its first reply; does it want a certificate, or another one?";
    }
    if (failure.fault != RedisFault::kNone) return failure;
  }
}

bool RedisChannel::IsQuiet() {
  if (ssl_ == nullptr) return !IsReadable(fd_);
  // Bytes that carry no data, such as tickets of the session, may come at any time.
  for (int reads = 0; IsReadable(fd_); ++reads) {
    if (reads == kMostQuietReads) return false;
    if (TakeMore(steady_clock::now() + std::chrono::milliseconds(1)).fault != RedisFault::kNone) {
      return false;
    }
  }
  ERR_clear_error();
  char first = 0;
  const int found = SSL_peek(ssl_.get(), &first, 1);
  return found <= 0 && SSL_get_error(ssl_.get(), found) == SSL_ERROR_WANT_READ;
}

RedisFailure RedisChannel::SendRaw(std::string_view bytes, Deadline deadline, bool* was_sent) {
  while (!bytes.empty()) {
    if (!WaitFor(fd_, POLLOUT, deadline)) return {RedisFault::kTimeout, "takes no command"};
    const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (IsLater(sent)) continue;
    if (sent < 0) return Unreachable(std::strerror(errno));
    *was_sent = true;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return {};
}

RedisFailure RedisChannel::ReceiveRaw(std::span<char> buffer, Deadline deadline, size_t* count) {
  while (true) {
    if (!WaitFor(fd_, POLLIN, deadline)) return {RedisFault::kTimeout, "did not reply in time"};
    const ssize_t received = recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (IsLater(received)) continue;
    if (received < 0) return Unreachable(std::strerror(errno));
    if (received == 0) return Unreachable("closed the connection");
    *count = static_cast<size_t>(received);
    return {};
  }
}

RedisFailure RedisChannel::SendPending(Deadline deadline, bool* was_sent) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(outgoing_, &bytes);
  const RedisFailure failure =
      SendRaw({bytes, static_cast<size_t>(std::max(size, 0L))}, deadline, was_sent);
  (void)BIO_reset(outgoing_);
  return failure;
}

RedisFailure RedisChannel::TakeMore(Deadline deadline) {
  std::array<char, kRawBytes> buffer;
  size_t count = 0;
  RedisFailure failure = ReceiveRaw(buffer, deadline, &count);
  if (failure.fault == RedisFault::kNone) {
    BIO_write(incoming_, buffer.data(), static_cast<int>(count));
  }
  return failure;
}

}  // namespace evenkeel::server
