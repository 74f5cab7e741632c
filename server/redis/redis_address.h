// Where a Redis is, and how to log in.
#ifndef EVENKEEL_SERVER_REDIS_REDIS_ADDRESS_H_
#define EVENKEEL_SERVER_REDIS_REDIS_ADDRESS_H_

#include <string>
#include <string_view>

namespace evenkeel::server {

struct RedisAddress {
  std::string host;       // of TCP; IPv6 without brackets
  int port = 0;           // of TCP
  std::string unix_path;  // else
  std::string user;       // empty: the default user
  std::string password;   // empty: no login
  int database = 0;
};

// HOST:PORT, unix:/path or redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], where user and password
// may have %XX. Returns what would be accepted if `text` is not. Empty: fine.
std::string ParseRedisAddress(std::string_view text, RedisAddress* address);

// Whether `text` begins as only a Redis does, and no path of a file: redis://, rediss:// or unix:/.
bool IsRedisName(std::string_view text);

// For messages: never has the password.
std::string NameOf(const RedisAddress& address);

// `text` for messages: what stands between "://" and the last '@' is hidden.
std::string WithoutPassword(std::string_view text);

// The first line of the file at `path` becomes the password. Returns what is wrong. Empty: fine.
std::string ReadRedisPassword(const std::string& path, RedisAddress* address);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_REDIS_REDIS_ADDRESS_H_
