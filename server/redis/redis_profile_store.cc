#include "server/redis/redis_profile_store.h"

#include <algorithm>
#include <random>
#include <utility>

#include "server/calibration/record_bytes.h"
#include "server/redis/redis_durability.h"

namespace evenkeel::server {
namespace {

using std::chrono::steady_clock;
using Kind = RedisReply::Kind;

constexpr size_t kEndBytes = 8;      // size of the end of a record: its checksum
constexpr char kEndOffset[] = "-8";  // the same, for Lua
constexpr char kRecordsAtOnce[] = "64";
constexpr int kAppendTries = 3;
constexpr char kLoadingSeconds[] = "3600";  // life of the remains of an interrupted load

// Returns {length, end of record ARGV[1], up to ARGV[3] records after it}.
constexpr std::string_view kRead = R"(
local known = tonumber(ARGV[1])
local last = ''
if known > 0 then
  last = string.sub(redis.call('LINDEX', KEYS[1], known - 1) or '', tonumber(ARGV[2]))
end
return {redis.call('LLEN', KEYS[1]), last,
        redis.call('LRANGE', KEYS[1], known, known + tonumber(ARGV[3]) - 1)})";

// Appends ARGV[2] after record ARGV[1], which ends in ARGV[3]. Running it twice appends only once,
// so that it can be repeated if the reply is lost. Returns -1 if there are other records, and -2 if
// there is another history.
constexpr std::string_view kAppend = R"(
local known = tonumber(ARGV[1])
local length = redis.call('LLEN', KEYS[1])
if length > known and redis.call('LINDEX', KEYS[1], known) == ARGV[2] then return known + 1 end
if length ~= known then return -1 end
if known > 0 and string.sub(redis.call('LINDEX', KEYS[1], -1), tonumber(ARGV[4])) ~= ARGV[3] then
  return -2
end
return redis.call('RPUSH', KEYS[1], ARGV[2]))";

// Renames KEYS[1] to KEYS[2], unless that exists.
constexpr std::string_view kRename = R"(
if redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
redis.call('PERSIST', KEYS[1])
redis.call('RENAME', KEYS[1], KEYS[2])
return 1)";

std::string EndOf(std::string_view bytes) {
  return std::string(bytes.substr(bytes.size() - std::min(bytes.size(), kEndBytes)));
}

}  // namespace

std::string ProfilesKey(std::string_view tenant) {
  return "evenkeel:profiles:1:{" + std::string(tenant) + "}";
}

RedisProfileStore::RedisProfileStore(const RedisStoreSettings& settings)
    : settings_(settings),
      key_(ProfilesKey(settings.tenant)),
      client_(settings.address, settings.append_timeout) {}

std::string RedisProfileStore::Named(const std::string& what) const {
  return "profile store redis " + NameOf(settings_.address) + " " + key_ + ": " + what;
}

std::unique_ptr<RedisProfileStore> RedisProfileStore::Open(const RedisStoreSettings& settings,
                                                           std::string* error) {
  if (!settings.address.sentinels.empty()) {
    *error =
        "a store of profiles can not be named by Sentinels: the replica that they make the "
        "primary may lack profiles that were acknowledged; name the primary itself";
    return nullptr;
  }
  std::unique_ptr<RedisProfileStore> store(new RedisProfileStore(settings));
  const auto deadline = [&] { return steady_clock::now() + settings.load_timeout; };
  *error = store->CheckDurable(deadline());
  for (bool complete = false; error->empty() && !complete;) {
    NewRecords found = store->Read(static_cast<int64_t>(store->history_.size()), deadline());
    *error = found.error;
    complete = found.complete;
    std::move(found.records.begin(), found.records.end(), std::back_inserter(store->history_));
  }
  return error->empty() ? std::move(store) : nullptr;
}

std::vector<ProfileRecord> RedisProfileStore::TakeHistory() { return std::exchange(history_, {}); }

// Sets durable_. Returns why nothing may be acknowledged with this Redis, or "" if it may.
std::string RedisProfileStore::CheckDurable(RedisClient::Deadline deadline) {
  const RedisDurability found = AskDurability(client_, deadline);
  durable_ = found.problem.empty() || (found.hidden && settings_.trust);
  const bool is_fault = found.fault != RedisFault::kNone;
  if (durable_ || (settings_.trust && !is_fault)) return "";
  return Named(found.problem);
}

NewRecords RedisProfileStore::ReadAfter(int64_t revision, bool patient) {
  const auto timeout = patient ? settings_.append_timeout : settings_.read_timeout;
  return Read(revision, steady_clock::now() + timeout);
}

NewRecords RedisProfileStore::Read(int64_t revision, RedisClient::Deadline deadline) {
  const std::string known = std::to_string(revision);
  const RedisReply reply =
      client_.Command({"EVAL", kRead, "1", key_, known, kEndOffset, kRecordsAtOnce}, deadline);
  NewRecords found;
  if (!reply.ok()) {
    // A key of another type belongs to somebody else.
    found.damaged = reply.text.find("WRONGTYPE") != std::string::npos;
    found.error = Named(reply.text);
    return found;
  }
  found.error = Take(reply, revision, &found);
  found.damaged = !found.error.empty();
  if (found.damaged) found.error = Named(found.error);
  return found;
}

std::string RedisProfileStore::Take(const RedisReply& reply, int64_t revision, NewRecords* found) {
  if (reply.elements.size() != 3 || reply.elements[0].kind != Kind::kInteger) {
    return "the reply is not that of a Redis";
  }
  const int64_t length = reply.elements[0].integer;
  if (length < revision) {
    return "has " + std::to_string(length) + " revisions, and had " + std::to_string(revision) +
           ": it was emptied, or restored from an older copy";
  }
  if (reply.elements[1].text != places_[revision].end) {
    return "revision " + std::to_string(revision) +
           " is not the one that was read before: this is "
           "another history";
  }
  KeepOnly(revision);
  for (const RedisReply& element : reply.elements[2].elements) {
    ProfileRecord record;
    const int64_t next = ++revision;
    const std::string problem = DecodeRecord(next, element.text, &record);
    if (!problem.empty()) return "revision " + std::to_string(next) + " " + problem;
    AddPlace(next, element.text);
    found->records.push_back(std::move(record));
  }
  found->complete = revision == length;
  return "";
}

void RedisProfileStore::KeepOnly(int64_t revision) {
  std::erase_if(places_, [&](const auto& place) { return place.first != revision; });
}

void RedisProfileStore::AddPlace(int64_t revision, std::string_view bytes) {
  places_[revision] = {EndOf(bytes),
                       places_[revision - 1].bytes + static_cast<int64_t>(bytes.size())};
}

AppendResult RedisProfileStore::Append(const ProfileRecord& record) {
  const int64_t known = record.revision - 1;
  const std::string bytes = EncodeRecord(record);
  const std::string number = std::to_string(known);
  const auto& [end, bytes_before] = places_[known];
  AppendResult result;
  if (bytes_before + static_cast<int64_t>(bytes.size()) > settings_.capacity_bytes)
    return {.error = Named(kStoreFull)};
  bool again = true;
  bool unsettled = false;  // a command was sent, and its result is not known
  for (int i = 0; i < kAppendTries && again; ++i) {
    const auto deadline = steady_clock::now() + settings_.append_timeout;
    // This is checked each time, because Redis may have been restarted or reconfigured.
    result = AppendResult{.error = CheckDurable(deadline)};
    if (!result.error.empty()) {
      again = !client_.connected();
      continue;
    }
    const uint64_t connections = client_.connections();
    const RedisReply reply =
        client_.Command({"EVAL", kAppend, "1", key_, number, bytes, end, kEndOffset}, deadline);
    const bool has_refused =
        reply.fault == RedisFault::kServer || reply.fault == RedisFault::kCluster;
    unsettled = !reply.ok() && (unsettled || (client_.was_sent() && !has_refused));
    result = Interpret(reply, &again);
    // After a reconnection, this may be a Redis whose configuration was not checked. It is checked,
    // and then the append is repeated once.
    if (result.revision != 0 && client_.connections() != connections) {
      result = AppendResult{.error = Named("was restarted meanwhile")};
      again = unsettled = true;
    }
  }
  if (result.revision != 0) {
    KeepOnly(known);
    AddPlace(record.revision, bytes);
  }
  result.unknown = unsettled;
  return result;
}

// Clears *again if the outcome is certain.
AppendResult RedisProfileStore::Interpret(const RedisReply& reply, bool* again) {
  if (!reply.ok()) {
    *again = reply.fault != RedisFault::kServer && reply.fault != RedisFault::kCluster;
    return {.error = Named(reply.text)};
  }
  *again = false;
  if (reply.kind == Kind::kInteger && reply.integer > 0) return {.revision = reply.integer};
  return {.error = Named("others have written to it"), .conflict = true};
}

std::string RedisProfileStore::Load(const std::vector<ProfileRecord>& history) {
  if (history.empty()) return "";
  std::random_device chance;
  const std::string part = key_ + ":loading:" + std::to_string(chance()) + std::to_string(chance());
  const auto command = [&](const std::vector<std::string_view>& words) {
    return client_.Command(words, steady_clock::now() + settings_.load_timeout);
  };
  RedisReply reply;
  for (const ProfileRecord& record : history) {
    reply = command({"RPUSH", part, EncodeRecord(record)});
    if (reply.ok() && record.revision == 1) reply = command({"EXPIRE", part, kLoadingSeconds});
    if (!reply.ok()) break;
  }
  if (reply.ok()) reply = command({"EVAL", kRename, "2", part, key_});
  if (reply.ok() && reply.integer == 1) return "";
  (void)command({"DEL", part});
  return Named(reply.ok() ? "has a history already" : reply.text);
}

}  // namespace evenkeel::server
