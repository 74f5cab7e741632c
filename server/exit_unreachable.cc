#include "server/exit_unreachable.h"

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <thread>

#include "server/log.h"

namespace evenkeel::server {
namespace {

constexpr int kExitUnreachable = 3;
constexpr std::chrono::milliseconds kTimeToLog{100};

}  // namespace

// No destructor runs, because something that hangs must not delay the exit.
void ExitUnreachable(const std::string& address) {
  LogLine(LogLevel::kError, "the server does not answer at its own address: exit")
      .Add("listen", address)
      .Add("exit_code", static_cast<int64_t>(kExitUnreachable));
  std::this_thread::sleep_for(kTimeToLog);
  _exit(kExitUnreachable);
}

}  // namespace evenkeel::server
