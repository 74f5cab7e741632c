// Plan records in files of bounded size; the oldest records are dropped first. They survive the end
// of the process, however it ends, and damage to the files. Records are opaque bytes here.
//
// PATH takes new records; PATH.1, PATH.2, ... are older parts. A full part is renamed, and the
// oldest one is removed to make room.
#ifndef EVENKEEL_SERVER_CACHE_PLAN_STORE_H_
#define EVENKEEL_SERVER_CACHE_PLAN_STORE_H_

#include <absl/container/flat_hash_map.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/base/mutex.h"
#include "server/cache/file_owner.h"
#include "server/cache/record_log.h"

namespace evenkeel::server {

struct PlanEntry {
  std::string key;
  int64_t made_ns = 0;  // since the epoch
  std::string record;
};

// Any thread may read; one thread at a time may write or repair.
class PlanStore {
 public:
  // Number of files set aside that are kept. Further ones are removed, so that damage cannot fill
  // the disk.
  static constexpr int kDamagedKept = 4;

  // Called with a text for people when a damaged file was set aside.
  using OnSetAside = std::function<void(const std::string& what)>;

  // Opens or creates the files and checks every record. Files of earlier versions are imported.
  // Damaged files are set aside as PATH.damaged-1 and so on (reported by `on_set_aside`) and
  // replaced by new ones. The files take at most one and a half times `budget_bytes`. Returns
  // nullptr, with the reason in *error, if another process has the files, if they are not ours or
  // of another release, or if they cannot be opened.
  static std::unique_ptr<PlanStore> Open(const std::string& path, int64_t budget_bytes,
                                         OnSetAside on_set_aside, std::string* error);

  enum class Found { kYes, kNo, kDamaged };
  // Returns kDamaged if the file is damaged: *error says what is wrong, and Repair() should be
  // called.
  Found Find(std::string_view key, std::string* record, std::string* error) const;

  // Stores the entries in place of those with the same keys; they are on disk when this returns. A
  // fault means that some of them were not stored. If the fault is `damaged`, Repair() should be
  // called.
  LogFault Write(std::span<const PlanEntry> entries);

  // Checks everything again, as Open does. Returns why the store cannot be used, or "". If it
  // cannot, nothing is found in it until a later Repair() or Write() succeeds.
  std::string Repair();

  // Visits the entries, newest first, until `visit` returns false. Entries that cannot be read are
  // left out, and *error says why.
  void ForEachNewest(const std::function<bool(const PlanEntry&)>& visit, std::string* error) const;

  int64_t bytes() const { return bytes_; }  // on disk, of all parts
  int64_t entries() const { return entries_; }
  int64_t evictions() const { return evictions_; }
  int64_t set_aside() const { return set_aside_; }  // files set aside since Open began
  int64_t left_out() const { return left_out_; }    // records larger than a part

 private:
  struct Place {
    int64_t part = 0;
    LogPlace at;
    int64_t made_ns = 0;
  };
  struct Part {
    int64_t number = 0;  // increases; the last part takes new records
    std::shared_ptr<RecordLog> log;
  };
  // Places by a digest of the key. If two keys have the same digest (very unlikely), they hide each
  // other. A record contains its key, so one is never taken for the other.
  using Index = absl::flat_hash_map<uint64_t, Place>;

  PlanStore(std::string path, int64_t budget_bytes, OnSetAside on_set_aside);

  std::string OpenParts(std::vector<Part>* parts, Index* index);
  std::string OpenPart(const std::string& path, std::vector<Part>* parts, Index* index);
  std::string TakeInLmdb(const std::string& path);
  std::string SetAside(const std::string& path, const std::string& why);
  LogFault BeginPart();
  void DropOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  LogFault Append(std::span<const PlanEntry> entries, std::vector<std::string>* records);
  std::string PartPath(size_t age) const;
  void Count() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  RecordLog* newest() const;  // nullptr if there is none; called only by the writing thread

  const std::string path_;
  const int64_t budget_bytes_;
  const int64_t part_bytes_;
  const OnSetAside on_set_aside_;
  FileOwner owner_;
  int64_t next_part_ = 0;                            // used only by the writing thread
  mutable SharedMutex mutex_;                        // only the writing thread takes it as a writer
  std::vector<Part> parts_ ABSL_GUARDED_BY(mutex_);  // oldest first
  Index index_ ABSL_GUARDED_BY(mutex_);
  std::atomic<int64_t> bytes_ = 0, entries_ = 0, evictions_ = 0, set_aside_ = 0, left_out_ = 0;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CACHE_PLAN_STORE_H_
