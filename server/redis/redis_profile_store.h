// Profiles in a Redis that replicas share: a list of records that is only ever appended to.
#ifndef EVENKEEL_SERVER_REDIS_REDIS_PROFILE_STORE_H_
#define EVENKEEL_SERVER_REDIS_REDIS_PROFILE_STORE_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/calibration/profile_store.h"
#include "server/redis/redis_client.h"

namespace evenkeel::server {

struct RedisStoreSettings {
  RedisAddress address;
  std::string tenant;  // without '/'; empty if there is only one
  // The operator vouches for a Redis that does not reveal its configuration. If it reveals that it
  // may lose acknowledged writes, the store is opened nonetheless, but is not durable.
  bool trust = false;
  std::chrono::milliseconds read_timeout{250};
  // Time for each of several attempts. A sync may take long on a busy disk.
  std::chrono::milliseconds append_timeout{3000};
  std::chrono::milliseconds load_timeout{10'000};  // for each part of the history
  int64_t capacity_bytes = kHistoryBytesAtMost;    // limit on the whole history
};

// Returns the Redis key of a tenant's history. The braces keep everything that belongs to it in one
// slot of a cluster.
std::string ProfilesKey(std::string_view tenant);

class RedisProfileStore : public ProfileStore {
 public:
  // Reads the whole history. Returns nullptr, with the reason in *error, if Redis cannot be
  // reached, is not configured to keep acknowledged writes (see docs/RELIABILITY.md), or holds a
  // record that is damaged or not ours.
  static std::unique_ptr<RedisProfileStore> Open(const RedisStoreSettings& settings,
                                                 std::string* error);

  std::vector<ProfileRecord> TakeHistory() override;
  AppendResult Append(const ProfileRecord& record) override;
  bool durable() const override { return durable_; }
  bool shared() const override { return true; }
  NewRecords ReadAfter(int64_t revision, bool patient) override;

  // Stores a whole history in one step, with its revisions, times and authors. Returns why it could
  // not (for example because there is already one), or "" on success.
  std::string Load(const std::vector<ProfileRecord>& history);

 private:
  explicit RedisProfileStore(const RedisStoreSettings& settings);

  NewRecords Read(int64_t revision, RedisClient::Deadline deadline);
  std::string Take(const RedisReply& reply, int64_t revision, NewRecords* found);
  void KeepOnly(int64_t revision);
  void AddPlace(int64_t revision, std::string_view bytes);
  std::string CheckDurable(RedisClient::Deadline deadline);
  AppendResult Interpret(const RedisReply& reply, bool* again);
  std::string Named(const std::string& what) const;

  const RedisStoreSettings settings_;
  const std::string key_;
  RedisClient client_;
  bool durable_ = false;
  std::vector<ProfileRecord> history_;
  // A history up to one of its records.
  struct Place {
    std::string end;    // end of the record, which distinguishes this history from another
    int64_t bytes = 0;  // of the records so far
  };
  // By revision: the newest that was asked about, and those that were read or appended after it.
  // The next call asks about one of these.
  std::map<int64_t, Place> places_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_REDIS_REDIS_PROFILE_STORE_H_
