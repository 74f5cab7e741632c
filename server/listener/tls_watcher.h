// Looks at the certificates on disk from time to time, and passes on what is new and usable.
#ifndef EVENKEEL_SERVER_LISTENER_TLS_WATCHER_H_
#define EVENKEEL_SERVER_LISTENER_TLS_WATCHER_H_

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "server/listener/tls_files.h"
#include "server/metrics/listener_gauges.h"

namespace evenkeel::server {

class TlsWatcher {
 public:
  // False: it can not be used, and what was served before stays.
  using Apply = std::function<bool(const TlsMaterial&)>;

  // Applies what is on disk now, then looks again every `interval_seconds` (0: never) on a thread
  // of its own, which also calls `tick` each time. nullptr, with a reason in *error: the files can
  // not be used.
  static std::unique_ptr<TlsWatcher> Start(const TlsPaths& paths, double interval_seconds,
                                           Apply apply, std::function<void()> tick,
                                           std::string* error);
  ~TlsWatcher();
  TlsWatcher(const TlsWatcher&) = delete;
  TlsWatcher& operator=(const TlsWatcher&) = delete;

  // Looks at the files no more.
  void Stop();

  TlsGauges gauges() const;

 private:
  TlsWatcher(const TlsPaths& paths, double interval_seconds, Apply apply,
             std::function<void()> tick);

  void Run();
  void Look();
  void Fail(const std::string& error);
  std::optional<TlsMaterial> LoadPatiently(std::string* error);
  bool SleepOrStop(double seconds);

  const TlsPaths paths_;
  const double interval_seconds_;
  const Apply apply_;
  const std::function<void()> tick_;
  TlsMaterial served_;      // Start's, then the thread's
  std::string last_error_;  // likewise
  mutable std::mutex mutex_;
  std::condition_variable stop_changed_;
  bool stop_ = false;  // guarded by mutex_
  TlsGauges gauges_;   // guarded by mutex_
  std::thread thread_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_LISTENER_TLS_WATCHER_H_
