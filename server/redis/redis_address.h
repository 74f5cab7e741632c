// The address of a Redis, and its login.
#ifndef EVENKEEL_SERVER_REDIS_REDIS_ADDRESS_H_
#define EVENKEEL_SERVER_REDIS_REDIS_ADDRESS_H_

#include <string>
#include <string_view>

namespace evenkeel::server {

struct RedisAddress {
  std::string host;       // for TCP; IPv6 without brackets
  int port = 0;           // for TCP
  std::string unix_path;  // for a unix socket
  std::string user;       // empty: the default user
  std::string password;   // empty: no login
  int database = 0;
};

// Parses HOST:PORT, unix:/path or redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], where user and
// password may contain %XX. Returns what would be accepted if `text` is not, and "" on success.
std::string ParseRedisAddress(std::string_view text, RedisAddress* address);

// Returns true if `text` begins as only the name of a Redis can, and no file path: redis://,
// rediss:// or unix:/.
bool IsRedisName(std::string_view text);

// Returns a name for messages, which never contains the password.
std::string NameOf(const RedisAddress& address);

// Returns `text` for messages: what stands between "://" and the last '@' is hidden.
std::string WithoutPassword(std::string_view text);

// Makes the first line of the file at `path` the password. Returns what is wrong, or "" if nothing
// is.
std::string ReadRedisPassword(const std::string& path, RedisAddress* address);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_REDIS_REDIS_ADDRESS_H_
