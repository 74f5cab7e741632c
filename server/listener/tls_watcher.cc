#include "server/listener/tls_watcher.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "server/log.h"

namespace evenkeel::server {
namespace {

// Number of attempts, because files that are being replaced one by one are inconsistent for a
// moment.
constexpr int kTries = 3;
constexpr double kBetweenTriesSeconds = 0.05;
constexpr double kLeastIntervalSeconds = 0.05;

}  // namespace

absl::StatusOr<std::unique_ptr<TlsWatcher>> TlsWatcher::Start(const TlsPaths& paths,
                                                              double interval_seconds, Apply apply,
                                                              std::function<void()> tick) {
  std::unique_ptr<TlsWatcher> watcher(
      new TlsWatcher(paths, interval_seconds, std::move(apply), std::move(tick)));
  absl::StatusOr<TlsMaterial> material = LoadTls(paths);
  if (!material.ok()) return material.status();
  if (!watcher->apply_(*material)) {
    return absl::InvalidArgumentError(paths.certificate + " cannot be used for TLS");
  }
  {
    const MutexLock lock(watcher->mutex_);
    watcher->gauges_ = {true, true, 0, 0, static_cast<double>(material->expiry_unix_seconds)};
  }
  watcher->served_ = std::move(*material);
  if (interval_seconds == 0) return watcher;
  watcher->thread_ = std::thread([self = watcher.get()] { self->Run(); });
  pthread_setname_np(watcher->thread_.native_handle(), "tls-watcher");
  return watcher;
}

TlsWatcher::TlsWatcher(const TlsPaths& paths, double interval_seconds, Apply apply,
                       std::function<void()> tick)
    : paths_(paths),
      interval_seconds_(std::max(interval_seconds, kLeastIntervalSeconds)),
      apply_(std::move(apply)),
      tick_(std::move(tick)) {}

TlsWatcher::~TlsWatcher() { Stop(); }

void TlsWatcher::Stop() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
  }
  stop_changed_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

TlsGauges TlsWatcher::gauges() const {
  const MutexLock lock(mutex_);
  return gauges_;
}

void TlsWatcher::Run() {
  while (!SleepOrStop(interval_seconds_)) {
    Look();
    tick_();
  }
}

bool TlsWatcher::SleepOrStop(double seconds) {
  MutexLock lock(mutex_);
  return stop_changed_.WaitFor(lock, std::chrono::duration<double>(seconds),
                               [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stop_; });
}

absl::StatusOr<TlsMaterial> TlsWatcher::LoadPatiently() {
  for (int i = 1; i < kTries; ++i) {
    if (auto material = LoadTls(paths_); material.ok()) return material;
    if (SleepOrStop(kBetweenTriesSeconds)) break;
  }
  return LoadTls(paths_);
}

void TlsWatcher::Look() {
  absl::StatusOr<TlsMaterial> material = LoadPatiently();
  if (!material.ok()) return Fail(std::string(material.status().message()));
  const bool is_new = *material != served_;
  if (is_new && !apply_(*material)) return Fail(paths_.certificate + " cannot be used for TLS");
  last_error_.clear();
  const MutexLock lock(mutex_);
  gauges_.files_ok = true;
  if (!is_new) return;
  ++gauges_.reloads;
  gauges_.expiry_unix_seconds = static_cast<double>(material->expiry_unix_seconds);
  LogLine(LogLevel::kInfo, "TLS files reloaded")
      .Add("certificate", paths_.certificate)
      .Add("expiry_unix_seconds", material->expiry_unix_seconds);
  served_ = std::move(*material);
}

void TlsWatcher::Fail(const std::string& error) {
  if (error != last_error_) {
    LogLine(LogLevel::kError, "TLS files cannot be used; the former ones stay in use")
        .Add("why", error);
  }
  last_error_ = error;
  const MutexLock lock(mutex_);
  gauges_.files_ok = false;
  ++gauges_.reload_failures;
}

}  // namespace evenkeel::server
