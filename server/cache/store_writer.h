// The file of plans, written by a separate thread. Nobody waits for the disk, and a file that
// cannot be opened or written is tried again later.
#ifndef EVENKEEL_SERVER_CACHE_STORE_WRITER_H_
#define EVENKEEL_SERVER_CACHE_STORE_WRITER_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "server/base/mutex.h"
#include "server/cache/plan_store.h"

namespace evenkeel::server {

class StoreWriter {
 public:
  using OnFault = std::function<void(const std::string& fault)>;

  struct Settings {
    std::string path;
    int64_t budget_bytes = 0;
    size_t queue_bytes = size_t{64} << 20;  // limit on waiting bytes; more are dropped and counted
    std::chrono::milliseconds retry{30'000};  // wait after the file could not be opened
  };

  // Opens the file before it returns. `on_fault` is called when a fault begins, from any thread.
  StoreWriter(Settings settings, OnFault on_fault);
  ~StoreWriter();  // writes what is waiting

  // Returns true if the record exists. A damaged file counts as an error, and is set aside soon
  // after.
  bool Find(std::string_view key, std::string* record);

  // Writes the entry later.
  void Put(PlanEntry entry);

  // Returns nullptr while the file cannot be opened.
  std::shared_ptr<PlanStore> store() const;

  bool ok() const { return ok_; }  // the file is open, and the last write succeeded
  int64_t errors() const { return errors_; }
  int64_t dropped() const { return dropped_; }      // entries that were never written
  int64_t set_aside() const { return set_aside_; }  // damaged files

 private:
  void Open();
  void Run();
  void WriteBatch(std::deque<PlanEntry> batch);
  LogFault Repair(PlanStore* store, const LogFault& found);
  void OnSetAside(const std::string& what);
  void Fault(const std::string& fault);

  const Settings settings_;
  const OnFault on_fault_;
  std::atomic<bool> ok_ = false;
  std::atomic<int64_t> errors_ = 0, dropped_ = 0, set_aside_ = 0;

  mutable Mutex mutex_;
  CondVar wake_;
  std::shared_ptr<PlanStore> store_ ABSL_GUARDED_BY(mutex_);
  bool damaged_ ABSL_GUARDED_BY(mutex_) = false;  // a reader found damage
  std::deque<PlanEntry> queue_ ABSL_GUARDED_BY(mutex_);
  size_t queue_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last member, because it uses the others
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CACHE_STORE_WRITER_H_
