// The address of a Redis, and the login.
#ifndef EVENKEEL_SERVER_REDIS_REDIS_ADDRESS_H_
#define EVENKEEL_SERVER_REDIS_REDIS_ADDRESS_H_

#include <string>
#include <string_view>
#include <vector>

namespace evenkeel::server {

// The files of TLS. Without `ca`, the authorities of the machine are trusted. Without
// `certificate`, there is none.
struct RedisTlsFiles {
  std::string ca;           // PEM: the authorities that sign the certificate of Redis
  std::string certificate;  // PEM: our certificate and its chain, for a Redis that asks for one
  std::string key;          // PEM: its private key, without a pass phrase
};

// The place where a Sentinel, or the Redis that it names, listens.
struct RedisEndpoint {
  std::string host;
  int port = 0;
};

struct RedisAddress {
  std::vector<RedisEndpoint> sentinels;  // they know the host and the port, which are unset here
  std::string primary;                   // the name by which Sentinels know the Redis

  std::string host;       // for TCP; IPv6 without brackets
  int port = 0;           // for TCP
  std::string unix_path;  // for a unix socket
  std::string user;       // empty for the default user
  std::string password;   // empty for no login
  int database = 0;
  bool tls = false;         // for TCP
  RedisTlsFiles tls_files;  // for `tls`
};

// Parses HOST:PORT, unix:/path or redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], where user and
// password may contain %XX. rediss:// is redis:// with TLS. For Sentinels:
// redis-sentinel://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...][/DATABASE]#NAME, with TLS
// rediss-sentinel://. Returns "" on success, otherwise the accepted forms.
std::string ParseRedisAddress(std::string_view text, RedisAddress* address);

// Returns true if `text` begins like the name of a Redis, and not like a file path: with a scheme
// from above or unix:/.
bool IsRedisName(std::string_view text);

// Returns true if `text` is a rediss:// or rediss-sentinel:// address.
bool IsRedisWithTls(std::string_view text);

// Return a name for messages, which never contains the password.
std::string NameOf(const RedisEndpoint& endpoint);
std::string NameOf(const RedisAddress& address);

// Returns `text` for messages, with the part between "://" and the last '@' hidden.
std::string WithoutPassword(std::string_view text);

// Sets the password to the first line of the file at `path`. Returns the fault, or "" if there is
// none.
std::string ReadRedisPassword(const std::string& path, RedisAddress* address);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_REDIS_REDIS_ADDRESS_H_
