#include "server/redis/redis_sentinel.h"

#include <charconv>
#include <utility>

namespace evenkeel::server {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kNoOwnLimit{60'000};  // the deadline limits connecting

// Asks one Sentinel. It gets the login only if it wants one: most have none.
RedisReply AskOne(const RedisAddress& address, RedisAddress where, RedisClient::Deadline deadline) {
  const std::vector<std::string_view> words = {"SENTINEL", "GET-MASTER-ADDR-BY-NAME",
                                               address.primary};
  RedisReply reply = RedisClient(where, kNoOwnLimit).Command(words, deadline);
  if (reply.fault != RedisFault::kServer || !reply.text.starts_with("NOAUTH")) return reply;
  where.user = address.user;
  where.password = address.password;
  return RedisClient(where, kNoOwnLimit).Command(words, deadline);
}

// Sets *primary to what a Sentinel replied. Returns what is wrong, or "".
std::string Take(const RedisReply& reply, const std::string& name, RedisEndpoint* primary) {
  if (reply.fault == RedisFault::kServer) return reply.text;
  if (reply.kind == RedisReply::Kind::kNil) return "knows no primary \"" + name + "\"";
  if (reply.elements.size() == 2) {
    const std::string& port = reply.elements[1].text;
    primary->host = reply.elements[0].text;
    const auto end = port.data() + port.size();
    const auto result = std::from_chars(port.data(), end, primary->port);
    const bool is_port = result.ec == std::errc() && result.ptr == end && primary->port > 0 &&
                         primary->port <= 65535;
    if (is_port && !primary->host.empty()) return "";
  }
  return "is no Sentinel";
}

}  // namespace

RedisFailure FindPrimary(const RedisAddress& address, RedisClient::Deadline deadline, size_t* first,
                         RedisEndpoint* primary) {
  const size_t count = address.sentinels.size();
  std::string faults;
  RedisFault fault = RedisFault::kUnreachable;
  for (size_t tried = 0; tried < count; ++tried) {
    const size_t number = (*first + tried) % count;
    const auto now = steady_clock::now();
    const auto until = now + (deadline - now) / static_cast<int>(count - tried);
    RedisAddress where;
    where.host = address.sentinels[number].host;
    where.port = address.sentinels[number].port;
    where.tls = address.tls;
    where.tls_files = address.tls_files;
    const RedisReply reply = AskOne(address, where, until);
    const bool has_answered = reply.ok() || reply.fault == RedisFault::kServer;
    std::string problem = has_answered ? Take(reply, address.primary, primary) : reply.text;
    if (problem.empty()) {
      *first = number;
      return {};
    }
    if (has_answered) problem = "redis " + NameOf(where) + ": " + problem;
    if (reply.fault == RedisFault::kTimeout) fault = RedisFault::kTimeout;
    faults += (faults.empty() ? "no Sentinel tells where it is: " : "; ") + problem;
  }
  return {fault, faults};
}

}  // namespace evenkeel::server
