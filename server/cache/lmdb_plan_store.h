// Plan records in an LMDB file of bounded size: what was made first goes first. Survives the end of
// the process, however it ends. Records are opaque bytes here.
#ifndef EVENKEEL_SERVER_CACHE_LMDB_PLAN_STORE_H_
#define EVENKEEL_SERVER_CACHE_LMDB_PLAN_STORE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>

#include "server/cache/lmdb_util.h"

namespace evenkeel::server {

struct PlanEntry {
  std::string key;
  int64_t made_ns = 0;  // since the epoch; orders the entries
  std::string record;
};

// Reads from any thread, writes from one at a time.
//
// An environment whose pages could not be read (the file was cut short, the disk fails) is lost:
// from then on every call says kLost, and the file is left alone until the next start.
class LmdbPlanStore {
 public:
  static constexpr int kLost = -1;  // besides LMDB's and the system's codes

  // Opens the file, or makes it. `budget_bytes`: of what the entries take on disk; the file may
  // become half as large again. nullptr, with the reason in *error: another process has it, it is
  // none of ours or of another release, or can not be had.
  static std::unique_ptr<LmdbPlanStore> Open(const std::string& path, int64_t budget_bytes,
                                             std::string* error);
  ~LmdbPlanStore();
  LmdbPlanStore(const LmdbPlanStore&) = delete;
  LmdbPlanStore& operator=(const LmdbPlanStore&) = delete;

  // 0, MDB_NOTFOUND, or why it can not be read.
  int Find(std::string_view key, std::string* record) const;

  // Keeps all of them, in place of entries with the same keys, in one transaction that is on disk
  // when it returns. 0, or why none of them was kept.
  int Write(std::span<const PlanEntry> entries);

  // The newest first, until `visit` says false. 0, or why it ended early.
  int ForEachNewest(const std::function<bool(const PlanEntry&)>& visit) const;

  int64_t bytes() const { return bytes_; }  // on disk, of the entries
  int64_t entries() const { return entries_; }
  int64_t evictions() const { return evictions_; }

 private:
  LmdbPlanStore(std::string path, int64_t budget_bytes)
      : path_(std::move(path)), budget_bytes_(budget_bytes) {}

  std::string OpenEnvironment();
  std::string OpenTables();
  int WriteAll(std::span<const PlanEntry> entries);
  int Guarded(const std::function<int()>& call) const;

  const std::string path_;
  const int64_t budget_bytes_;
  FileOwner owner_;
  mutable std::shared_mutex open_mutex_;  // exclusive while the file is opened anew
  MDB_env* environment_ = nullptr;
  MDB_dbi meta_ = 0, plans_ = 0, by_time_ = 0;
  mutable std::atomic<bool> lost_ = false;
  std::atomic<int64_t> bytes_ = 0, entries_ = 0, evictions_ = 0;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CACHE_LMDB_PLAN_STORE_H_
