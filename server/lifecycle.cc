#include "server/lifecycle.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <ctime>

#include "server/log.h"

namespace evenkeel::server {
namespace {

constexpr long kPollNanoseconds = 10'000'000;

sigset_t EndSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

// Sleeps a little; a signal meanwhile ends the process.
void PollForSecondSignal() {
  const sigset_t signals = EndSignals();
  const timespec poll{0, kPollNanoseconds};
  const int second = sigtimedwait(&signals, nullptr, &poll);
  if (second > 0) _exit(128 + second);
}

}  // namespace

void BlockSignals() {
  const sigset_t signals = EndSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // makes a store that may not grow fail its call, not the process
}

void RunUntilSignal(Server& server, const DrainTimes& times) {
  using Steady = std::chrono::steady_clock;
  const auto after = [](double seconds) {
    return Steady::now() + std::chrono::duration<double>(seconds);
  };
  const sigset_t signals = EndSignals();
  int first = 0;
  while (sigwait(&signals, &first) != 0) {
  }
  server.SetNotServing();
  for (const auto end = after(times.delay_seconds); Steady::now() < end;) PollForSecondSignal();
  server.BeginDrain();
  LogLine(LogLevel::kInfo, "draining")
      .Add("signal", static_cast<int64_t>(first))
      .Add("calls_in_flight", server.calls_in_flight());
  const auto end = after(times.timeout_seconds);
  do {
    PollForSecondSignal();
  } while (server.calls_in_flight() > 0 && Steady::now() < end);
  const int64_t left = server.calls_in_flight();
  server.Shutdown();
  LogLine(left > 0 ? LogLevel::kWarning : LogLevel::kInfo, "stopped").Add("calls_cut_off", left);
}

}  // namespace evenkeel::server
