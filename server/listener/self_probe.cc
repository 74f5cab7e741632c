#include "server/listener/self_probe.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "server/log.h"

namespace evenkeel::server {

SelfProbe::SelfProbe(std::vector<ProbeTarget> targets, std::chrono::milliseconds interval,
                     ProbeAddresses& probes, std::function<ProbeProgress()> progress,
                     std::function<void(const std::string&)> on_dead)
    : targets_(std::move(targets)),
      interval_(interval),
      probes_(probes),
      progress_(std::move(progress)),
      on_dead_(std::move(on_dead)),
      stop_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  for (const ProbeTarget& target : targets_) {
    threads_.emplace_back([this, &target] { Run(target); });
    pthread_setname_np(threads_.back().native_handle(), "self-probe");
  }
}

SelfProbe::~SelfProbe() {
  Stop();
  close(stop_fd_);
}

void SelfProbe::Stop() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
  }
  stop_changed_.NotifyAll();
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(stop_fd_, &one, sizeof(one));
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

bool SelfProbe::SleepOrStop(std::chrono::steady_clock::time_point until) {
  MutexLock lock(mutex_);
  return stop_changed_.WaitUntil(lock, until,
                                 [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stop_; });
}

void SelfProbe::Run(const ProbeTarget& target) {
  // A target that never answered may be out of reach for this process. That is no reason to end the
  // process.
  bool answered_once = false;
  int misses = 0;
  auto next = std::chrono::steady_clock::now();
  while (!SleepOrStop(next)) {
    next = std::chrono::steady_clock::now() + interval_;
    const ProbeProgress before = progress_();
    const std::string why = ProbeOnce(target, interval_, probes_, stop_fd_);
    if (why.empty()) {
      answered_once = true;
      misses = 0;
      continue;
    }
    if (SleepOrStop(std::chrono::steady_clock::now())) return;  // the probe was stopped
    const ProbeProgress after = progress_();
    const bool is_busy = after.accepted > before.accepted && after.calls_ended > before.calls_ended;
    ++failures_;
    misses = is_busy ? 0 : misses + 1;
    LogLine(LogLevel::kError, "self-probe failed")
        .Add("listen", target.name)
        .Add("why", why)
        .Add("in_a_row", static_cast<int64_t>(misses));
    if (answered_once && misses >= kMissesInARow) return on_dead_(target.name);
  }
}

}  // namespace evenkeel::server
