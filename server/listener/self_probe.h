// Asks the server through its own ports whether it still answers. A probe from outside cannot tell
// a listener that hangs from one that is far away, and a probe of another port shows nothing.
#ifndef EVENKEEL_SERVER_LISTENER_SELF_PROBE_H_
#define EVENKEEL_SERVER_LISTENER_SELF_PROBE_H_

#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/base/mutex.h"
#include "server/listener/accept_loop.h"

namespace evenkeel::server {

struct ProbeTarget {
  std::string name;  // for the log
  sockaddr_storage address{};
  socklen_t length = 0;
  bool is_tls = false;
};

// Signs of life: connections that the listener accepts, and calls that end. Both must grow during a
// probe for the server to count as busy and not as dead.
struct ProbeProgress {
  uint64_t accepted = 0;
  uint64_t calls_ended = 0;
};

// Runs one probe: connects and waits for the answer to a Health.Check. With TLS, it waits only for
// the certificate, since the server may require one that this process does not have. Returns "" if
// the server answered, otherwise the fault. The connection is listed in `probes` meanwhile. Gives
// up when `stop_fd` becomes readable.
std::string ProbeOnce(const ProbeTarget& target, std::chrono::milliseconds timeout,
                      ProbeAddresses& probes, int stop_fd);

class SelfProbe {
 public:
  static constexpr int kMissesInARow = 3;

  // Probes each target every `interval`, on a separate thread, and waits for the answer for the
  // same time. Calls `on_dead` with the name of a target that answered at least once and then
  // missed kMissesInARow probes without `progress`; `on_dead` may not return.
  SelfProbe(std::vector<ProbeTarget> targets, std::chrono::milliseconds interval,
            ProbeAddresses& probes, std::function<ProbeProgress()> progress,
            std::function<void(const std::string&)> on_dead);
  ~SelfProbe();
  SelfProbe(const SelfProbe&) = delete;
  SelfProbe& operator=(const SelfProbe&) = delete;

  // Stops probing; no probe runs when this returns.
  void Stop();

  // Returns the number of probes that were not answered.
  uint64_t failures() const { return failures_; }

 private:
  void Run(const ProbeTarget& target);
  bool SleepOrStop(std::chrono::steady_clock::time_point until);

  const std::vector<ProbeTarget> targets_;
  const std::chrono::milliseconds interval_;
  ProbeAddresses& probes_;
  const std::function<ProbeProgress()> progress_;
  const std::function<void(const std::string&)> on_dead_;
  std::atomic<uint64_t> failures_ = 0;
  Mutex mutex_;
  CondVar stop_changed_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  int stop_fd_;
  std::vector<std::thread> threads_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_LISTENER_SELF_PROBE_H_
