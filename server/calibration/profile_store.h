// Stores of recorded profiles: an append-only history behind one interface. A roll-back is a
// separate record; nothing is ever deleted.
#ifndef EVENKEEL_SERVER_CALIBRATION_PROFILE_STORE_H_
#define EVENKEEL_SERVER_CALIBRATION_PROFILE_STORE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "server/base/profile_record.h"

namespace evenkeel::server {

struct AppendResult {
  int64_t revision = 0;  // 0 if nothing was appended
  std::string error;     // the reason if nothing was appended, for the caller and the log
  // Another process was faster. Set by shared stores, with revision 0. Read what is new and judge
  // again.
  bool conflict = false;
  // The store did not answer: the record may be there nonetheless, or appear later.
  bool unknown = false;
};

// Records that other processes have added to a shared store.
struct NewRecords {
  std::vector<ProfileRecord> records;  // the next revisions, in order
  bool complete = false;               // the store had nothing after them
  std::string error;     // the reason if not complete; empty if there are just more records
  bool damaged = false;  // the store was reached, but does not hold what it should
};

// Not thread-safe: one writer at a time, which also reads.
class ProfileStore {
 public:
  ProfileStore() = default;
  ProfileStore(const ProfileStore&) = delete;
  ProfileStore& operator=(const ProfileStore&) = delete;
  virtual ~ProfileStore() = default;

  // Returns the records that existed when the store was opened, by revision. Call at most once.
  virtual std::vector<ProfileRecord> TakeHistory() = 0;

  // Appends with the next revision, which shared stores take from `record.revision` and others
  // ignore. If it returns a revision and durable() is true, the record survives a crash of the
  // process and the machine. If it returns none, the store is unchanged, unless the result says
  // `unknown`.
  virtual AppendResult Append(const ProfileRecord& record) = 0;

  // Returns true if other processes append too.
  virtual bool shared() const { return false; }

  // For shared stores: returns the records after `revision`, up to which everything was read or
  // appended here. If `patient`, it waits as long as a write may take, for callers that cannot
  // continue without the records.
  virtual NewRecords ReadAfter(int64_t /*revision*/, bool /*patient*/) {
    return {.complete = true};
  }

  // Returns true if the records survive the process.
  virtual bool durable() const = 0;
};

// Limit on the bytes of a whole history, in every store.
inline constexpr int64_t kHistoryBytesAtMost = int64_t{1} << 30;
inline constexpr char kStoreFull[] = "the store is full";
inline constexpr char kFullInMemory[] = "profile store in memory: the store is full";

// Keeps revisions in memory only.
class MemoryProfileStore : public ProfileStore {
 public:
  explicit MemoryProfileStore(int64_t capacity_bytes = kHistoryBytesAtMost)
      : capacity_bytes_(capacity_bytes) {}
  std::vector<ProfileRecord> TakeHistory() override { return {}; }
  AppendResult Append(const ProfileRecord& record) override {
    const auto bytes =
        static_cast<int64_t>(sizeof(record) + record.author.size() + record.profile.size());
    if (bytes_ + bytes > capacity_bytes_) return {.error = kFullInMemory};
    bytes_ += bytes;
    return {++last_, ""};
  }
  bool durable() const override { return false; }

 private:
  const int64_t capacity_bytes_;
  int64_t bytes_ = 0;
  int64_t last_ = 0;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CALIBRATION_PROFILE_STORE_H_
