// TLS to a Redis: OpenSSL's settings, made from files that may be replaced at any time.
#ifndef EVENKEEL_SERVER_REDIS_REDIS_TLS_H_
#define EVENKEEL_SERVER_REDIS_REDIS_TLS_H_

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "server/redis/redis_address.h"

namespace evenkeel::server {

struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using SslPointer = std::unique_ptr<SSL, FreeSsl>;

// Not thread-safe.
class RedisTls {
 public:
  explicit RedisTls(RedisTlsFiles files) : files_(std::move(files)) {}

  // Begins a session with the Redis named `host`, whose certificate must be for that name or IP
  // address. Reads the files again if they have changed. Returns nullptr, with the reason in
  // *error, if they cannot be used.
  SslPointer Begin(const std::string& host, std::string* error);

 private:
  const RedisTlsFiles files_;
  std::unique_ptr<SSL_CTX, FreeSsl> context_;
  std::string stamps_;  // of the files that context_ was made of
};

// Returns the fault of the files, or "" if they can be used.
std::string CheckRedisTlsFiles(const RedisTlsFiles& files);

// Returns the reason why a session failed, from its state and OpenSSL's queue of errors, which is
// emptied.
std::string TlsProblem(const SSL* ssl);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_REDIS_REDIS_TLS_H_
