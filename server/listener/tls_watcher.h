// Checks the certificates on disk periodically, and passes on new ones that are usable.
#ifndef EVENKEEL_SERVER_LISTENER_TLS_WATCHER_H_
#define EVENKEEL_SERVER_LISTENER_TLS_WATCHER_H_

#include <absl/status/statusor.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "server/base/mutex.h"
#include "server/listener/tls_files.h"
#include "server/metrics/listener_gauges.h"

namespace evenkeel::server {

class TlsWatcher {
 public:
  // Returns false if the material cannot be used. The former one then stays in use.
  using Apply = std::function<bool(const TlsMaterial&)>;

  // Applies the files on disk now, then checks again every `interval_seconds` (0: never) on a
  // separate thread, which also calls `tick` each time. Fails if the files cannot be used.
  static absl::StatusOr<std::unique_ptr<TlsWatcher>> Start(const TlsPaths& paths,
                                                           double interval_seconds, Apply apply,
                                                           std::function<void()> tick);
  ~TlsWatcher();
  TlsWatcher(const TlsWatcher&) = delete;
  TlsWatcher& operator=(const TlsWatcher&) = delete;

  // Stops checking the files.
  void Stop();

  TlsGauges gauges() const;

 private:
  TlsWatcher(const TlsPaths& paths, double interval_seconds, Apply apply,
             std::function<void()> tick);

  void Run();
  void Look();
  void Fail(const std::string& error);
  absl::StatusOr<TlsMaterial> LoadPatiently();
  bool SleepOrStop(double seconds);

  const TlsPaths paths_;
  const double interval_seconds_;
  const Apply apply_;
  const std::function<void()> tick_;
  TlsMaterial served_;      // used by Start, then by the thread
  std::string last_error_;  // used by Start, then by the thread
  mutable Mutex mutex_;
  CondVar stop_changed_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  TlsGauges gauges_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_LISTENER_TLS_WATCHER_H_
