// Where recorded profiles are kept: an append-only history behind one interface. A roll-back is a
// record of its own; nothing is ever deleted.
#ifndef EVENKEEL_SERVER_CALIBRATION_PROFILE_STORE_H_
#define EVENKEEL_SERVER_CALIBRATION_PROFILE_STORE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace evenkeel::server {

enum class ProfileAction {
  kRecord = 1,      // `profile` was recorded
  kRollBackTo = 2,  // back to how it was after `target`
  kRemove = 3,      // `target` was taken out
};

struct ProfileRecord {
  int64_t revision = 0;  // from 1, without gaps; given by the store
  int64_t unix_ns = 0;   // when, since the epoch
  ProfileAction action = ProfileAction::kRecord;
  int64_t target = 0;   // of a roll-back
  std::string author;   // empty: not said
  std::string profile;  // a serialised v1::Profile; empty for roll-backs
};

struct AppendResult {
  int64_t revision = 0;  // 0: nothing was appended
  std::string error;     // then why: for the caller and the log
  // Of shared stores, with revision 0. Another process was quicker: read what is new, judge again.
  bool conflict = false;
  // The store fell silent: the record may be there all the same, or come later.
  bool unknown = false;
};

// What a shared store has got from other processes.
struct NewRecords {
  std::vector<ProfileRecord> records;  // the next revisions, in order
  bool complete = false;               // when it was asked there was nothing after them
  std::string error;                   // else why, unless there are merely more of them
  bool damaged = false;                // it was reached, but does not hold what it should
};

// Not thread-safe: one writer at a time, who also reads.
class ProfileStore {
 public:
  ProfileStore() = default;
  ProfileStore(const ProfileStore&) = delete;
  ProfileStore& operator=(const ProfileStore&) = delete;
  virtual ~ProfileStore() = default;

  // What was there when it was opened, by revision. Once.
  virtual std::vector<ProfileRecord> TakeHistory() = 0;

  // Appends with the next revision, which shared stores take from `record.revision` and others
  // ignore. When it returns one and durable() is true, the record survives a crash of process and
  // machine; when it does not, the store is as before, unless the result says `unknown`.
  virtual AppendResult Append(const ProfileRecord& record) = 0;

  // Whether other processes append too.
  virtual bool shared() const { return false; }

  // Of a shared store: what comes after `revision`, up to which all was read or appended here.
  // `patient`: as long as a write may take, for whoever can not go on without.
  virtual NewRecords ReadAfter(int64_t /*revision*/, bool /*patient*/) {
    return {.complete = true};
  }

  // Whether anything survives the process.
  virtual bool durable() const = 0;
};

// Keeps revisions in memory only.
class MemoryProfileStore : public ProfileStore {
 public:
  std::vector<ProfileRecord> TakeHistory() override { return {}; }
  AppendResult Append(const ProfileRecord&) override { return {++last_, ""}; }
  bool durable() const override { return false; }

 private:
  int64_t last_ = 0;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CALIBRATION_PROFILE_STORE_H_
