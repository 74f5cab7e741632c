#include "server/redis/redis_durability.h"

#include <optional>
#include <string_view>
#include <utility>

namespace evenkeel::server {
namespace {

// Finds "name:value\r\n" in a reply to INFO.
std::optional<std::string> InfoOf(const std::string& info, std::string_view name) {
  const std::string begin = "\n" + std::string(name) + ":";
  const size_t found = info.find(begin);
  if (found == std::string::npos) return std::nullopt;
  const size_t at = found + begin.size();
  return info.substr(at, info.find_first_of("\r\n", at) - at);
}

struct Wanted {
  const char* section;
  const char* name;
  const char* value;
  const char* problem;
};

constexpr Wanted kWanted[] = {
    {"replication", "role", "master", "is a replica of another Redis: name the primary"},
    {"persistence", "loading", "0", "is still loading its data"},
    {"persistence", "aof_enabled", "1", "has no append-only file: set appendonly yes"},
    {"persistence", "aof_last_write_status", "ok", "can not write its append-only file"},
};

constexpr char kHidden[] =
    "does not show whether it keeps what it acknowledges (INFO and CONFIG GET appendfsync are "
    "needed): allow them, or vouch for appendonly yes, appendfsync always and "
    "maxmemory-policy noeviction by --profile-redis-trust=true";

RedisDurability Refused(const RedisReply& reply) {
  if (reply.fault != RedisFault::kServer) return {.fault = reply.fault, .problem = reply.text};
  return {.hidden = true, .problem = kHidden};
}

}  // namespace

RedisDurability AskDurability(RedisClient& client, RedisClient::Deadline deadline) {
  for (const Wanted& wanted : kWanted) {
    const RedisReply info = client.Command({"INFO", wanted.section}, deadline);
    if (!info.ok()) return Refused(info);
    const std::optional<std::string> value = InfoOf("\n" + info.text, wanted.name);
    if (!value) return {.hidden = true, .problem = kHidden};
    if (*value != wanted.value) return {.problem = wanted.problem};
  }
  const RedisReply memory = client.Command({"INFO", "memory"}, deadline);
  if (!memory.ok()) return Refused(memory);
  const std::string policy = InfoOf("\n" + memory.text, "maxmemory_policy").value_or("noeviction");
  if (policy.starts_with("allkeys")) {
    return {.problem =
                "may evict the history: set maxmemory-policy noeviction, and keep plans in "
                "another instance"};
  }
  const RedisReply config = client.Command({"CONFIG", "GET", "appendfsync"}, deadline);
  if (!config.ok()) return Refused(config);
  if (config.elements.size() != 2) return {.hidden = true, .problem = kHidden};
  if (config.elements[1].text == "always") return {};
  return {.problem = "may lose the last second: set appendfsync always"};
}

}  // namespace evenkeel::server
