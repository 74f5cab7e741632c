// Plan records in files of bounded size: what was written first goes first. Survives the end of the
// process, however it ends, and damage to the files. Records are opaque bytes here.
//
// PATH takes what is written; PATH.1, PATH.2, ... are the parts before it. A full part is renamed,
// and the oldest is removed to make room.
#ifndef EVENKEEL_SERVER_CACHE_PLAN_STORE_H_
#define EVENKEEL_SERVER_CACHE_PLAN_STORE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/cache/file_owner.h"
#include "server/cache/record_log.h"

namespace evenkeel::server {

struct PlanEntry {
  std::string key;
  int64_t made_ns = 0;  // since the epoch
  std::string record;
};

// Reads from any thread; one thread at a time writes or repairs.
class PlanStore {
 public:
  // Files set aside that are kept. More are removed, so that damage can not fill the disk.
  static constexpr int kDamagedKept = 4;

  // In words, when a damaged file was set aside.
  using OnSetAside = std::function<void(const std::string& what)>;

  // Opens the files, or makes them; checks every record. Files of earlier versions are taken in.
  // What is damaged is set aside as PATH.damaged-1 and so on (`on_set_aside`), and begun anew.
  // `budget_bytes`: the files take at most half as much again. nullptr, with the reason in *error:
  // another process has them, they are none of ours or of another release, or can not be had.
  static std::unique_ptr<PlanStore> Open(const std::string& path, int64_t budget_bytes,
                                         OnSetAside on_set_aside, std::string* error);

  enum class Found { kYes, kNo, kDamaged };
  // kDamaged: *error says what is wrong with the file; Repair() is due.
  Found Find(std::string_view key, std::string* record, std::string* error) const;

  // Keeps the entries, in place of those with the same keys; they are on disk when it returns. A
  // fault: some of them were not kept. Where it says damaged, Repair() is due.
  LogFault Write(std::span<const PlanEntry> entries);

  // Checks everything again, as Open does. Returns why the store can not be used; then nothing is
  // found in it until a later Repair() or Write() succeeds.
  std::string Repair();

  // The newest first, until `visit` says false. What can not be read is left out, and *error says
  // why.
  void ForEachNewest(const std::function<bool(const PlanEntry&)>& visit, std::string* error) const;

  int64_t bytes() const { return bytes_; }  // on disk, of all parts
  int64_t entries() const { return entries_; }
  int64_t evictions() const { return evictions_; }
  int64_t set_aside() const { return set_aside_; }  // files, since Open began
  int64_t left_out() const { return left_out_; }    // records that are larger than a part

 private:
  struct Place {
    int64_t part = 0;
    LogPlace at;
    int64_t made_ns = 0;
  };
  struct Part {
    int64_t number = 0;  // grows; the last part takes what is written
    std::shared_ptr<RecordLog> log;
  };
  // By a digest of the key. Two keys of the same digest, which nobody should live to see, hide each
  // other: a record has its key, so that the one is never taken for the other.
  using Index = std::unordered_map<uint64_t, Place>;

  PlanStore(std::string path, int64_t budget_bytes, OnSetAside on_set_aside);

  std::string OpenParts(std::vector<Part>* parts, Index* index);
  std::string OpenPart(const std::string& path, std::vector<Part>* parts, Index* index);
  std::string TakeInLmdb(const std::string& path);
  std::string SetAside(const std::string& path, const std::string& why);
  LogFault BeginPart();
  void DropOldest();
  LogFault Append(std::span<const PlanEntry> entries, std::vector<std::string>* records);
  std::string PartPath(size_t age) const;
  void Count();
  RecordLog* newest() const { return parts_.empty() ? nullptr : parts_.back().log.get(); }

  const std::string path_;
  const int64_t budget_bytes_;
  const int64_t part_bytes_;
  const OnSetAside on_set_aside_;
  FileOwner owner_;
  mutable std::shared_mutex mutex_;  // guards what follows; only the writing thread changes it
  std::vector<Part> parts_;          // the oldest first
  Index index_;
  int64_t next_part_ = 0;
  std::atomic<int64_t> bytes_ = 0, entries_ = 0, evictions_ = 0, set_aside_ = 0, left_out_ = 0;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CACHE_PLAN_STORE_H_
