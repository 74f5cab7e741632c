#include "server/redis/redis_address.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <tuple>

namespace evenkeel::server {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr std::string_view kScheme = "redis://";
constexpr std::string_view kTlsScheme = "rediss://";
constexpr std::string_view kSentinelScheme = "redis-sentinel://";
constexpr std::string_view kTlsSentinelScheme = "rediss-sentinel://";
constexpr int kDefaultPort = 6379;
constexpr int kDefaultSentinelPort = 26379;
constexpr int kMaxPort = 65535;
constexpr int kMaxDatabase = 65535;
constexpr char kAccepted[] =
    "must be HOST:PORT, unix:/path, redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE] or "
    "redis-sentinel://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...][/DATABASE]#NAME, with TLS "
    "rediss://... or rediss-sentinel://...";

std::optional<int> NumberOf(std::string_view text, int max) {
  int value = 0;
  const auto end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end || value < 0 || value > max) {
    return std::nullopt;
  }
  return value;
}

// Returns nullopt for a '%' without two hexadecimal digits.
std::optional<std::string> Decoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    unsigned char byte = 0;
    const char* begin = text.data() + i + 1;
    if (i + 2 >= text.size() || std::from_chars(begin, begin + 2, byte, 16).ptr != begin + 2) {
      return std::nullopt;
    }
    decoded += static_cast<char>(byte);
    i += 2;
  }
  return decoded;
}

// Parses [HOST]:PORT, HOST:PORT, or only a host if `port` is already set.
bool ParseHost(std::string_view text, RedisAddress* address) {
  std::string_view host = text, port;
  if (text.starts_with('[')) {
    const size_t close = text.find(']');
    if (close == std::string_view::npos) return false;
    host = text.substr(1, close - 1);
    port = text.substr(close + 1);
  } else {
    const size_t colon = text.rfind(':');
    if (colon != std::string_view::npos) {
      host = text.substr(0, colon);
      port = text.substr(colon);
    }
    if (host.find(':') != std::string_view::npos) return false;
  }
  if (host.empty()) return false;
  address->host = host;
  if (port.empty()) return address->port > 0;
  const std::optional<int> number = NumberOf(port.substr(1), kMaxPort);
  if (!port.starts_with(':') || !number || *number == 0) return false;
  address->port = *number;
  return true;
}

// Parses a list of hosts into `sentinels`.
bool ParseSentinels(std::string_view hosts, RedisAddress* address) {
  while (true) {
    const size_t comma = hosts.find(',');
    RedisAddress one;
    one.port = kDefaultSentinelPort;
    if (!ParseHost(hosts.substr(0, comma), &one)) return false;
    address->sentinels.push_back({one.host, one.port});
    if (comma == std::string_view::npos) return true;
    hosts.remove_prefix(comma + 1);
  }
}

// Parses the text after the scheme.
bool ParseUrl(std::string_view rest, bool sentinels, RedisAddress* address) {
  if (sentinels) {
    const size_t hash = rest.rfind('#');
    if (hash == std::string_view::npos || hash + 1 == rest.size()) return false;
    address->primary = rest.substr(hash + 1);
    rest = rest.substr(0, hash);
  }
  const size_t at = rest.rfind('@');
  if (at != std::string_view::npos) {
    const std::string_view login = rest.substr(0, at);
    const size_t colon = login.find(':');
    if (colon == std::string_view::npos) return false;
    const auto user = Decoded(login.substr(0, colon));
    const auto password = Decoded(login.substr(colon + 1));
    if (!user || !password) return false;
    address->user = *user;
    address->password = *password;
    rest.remove_prefix(at + 1);
  }
  const size_t slash = rest.find('/');
  if (slash != std::string_view::npos && slash + 1 < rest.size()) {
    const std::optional<int> database = NumberOf(rest.substr(slash + 1), kMaxDatabase);
    if (!database) return false;
    address->database = *database;
  }
  if (sentinels) return ParseSentinels(rest.substr(0, slash), address);
  address->port = kDefaultPort;
  return ParseHost(rest.substr(0, slash), address);
}

}  // namespace

std::string ParseRedisAddress(std::string_view text, RedisAddress* address) {
  *address = RedisAddress();
  if (text.starts_with(kUnix)) {
    address->unix_path = text.substr(kUnix.size());
    return address->unix_path.starts_with('/') ? "" : kAccepted;
  }
  for (const auto& [scheme, tls, sentinels] : {std::tuple(kScheme, false, false),
                                               {kTlsScheme, true, false},
                                               {kSentinelScheme, false, true},
                                               {kTlsSentinelScheme, true, true}}) {
    if (!text.starts_with(scheme)) continue;
    address->tls = tls;
    return ParseUrl(text.substr(scheme.size()), sentinels, address) ? "" : kAccepted;
  }
  return ParseHost(text, address) ? "" : kAccepted;
}

bool IsRedisName(std::string_view text) {
  return text.starts_with(kScheme) || text.starts_with(kSentinelScheme) || IsRedisWithTls(text) ||
         text.starts_with("unix:/");
}

bool IsRedisWithTls(std::string_view text) {
  return text.starts_with(kTlsScheme) || text.starts_with(kTlsSentinelScheme);
}

std::string NameOf(const RedisEndpoint& endpoint) {
  const bool is_v6 = endpoint.host.find(':') != std::string::npos;
  return (is_v6 ? "[" + endpoint.host + "]" : endpoint.host) + ":" + std::to_string(endpoint.port);
}

std::string NameOf(const RedisAddress& address) {
  if (!address.unix_path.empty()) return std::string(kUnix) + address.unix_path;
  if (address.sentinels.empty()) return NameOf(RedisEndpoint{address.host, address.port});
  std::string text = address.primary + " of Sentinel";
  for (const RedisEndpoint& sentinel : address.sentinels) {
    text += (&sentinel == &address.sentinels.front() ? " " : ", ");
    text += NameOf(sentinel);
  }
  return text;
}

std::string WithoutPassword(std::string_view text) {
  const size_t scheme = text.find("://");
  const size_t at = text.rfind('@');
  if (scheme == std::string_view::npos || at == std::string_view::npos || at < scheme) {
    return std::string(text);
  }
  return std::string(text.substr(0, scheme + 3)) + "***" + std::string(text.substr(at));
}

std::string ReadRedisPassword(const std::string& path, RedisAddress* address) {
  std::ifstream file(path);
  if (!file) return "cannot read " + path + ": " + std::strerror(errno);
  std::getline(file, address->password);
  if (!address->password.empty() && address->password.back() == '\r') address->password.pop_back();
  return address->password.empty() ? path + " has no password in its first line" : "";
}

}  // namespace evenkeel::server
