#include "client/cli/base/progress.h"

#include <fmt/format.h>
#include <langinfo.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <utility>

#include "client/cli/base/text.h"
#include "server/base/visible_text.h"

namespace evenkeel::cli {
namespace {

std::string BarText(double share) {
  Style style;
  style.unicode = std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  return fmt::format("{} {:3.0f}%", Gauge(style, share, 24), 100 * share);
}

// Shows a text. Ignores errors, because a lost terminal changes nothing.
void Show(const std::string& text) {
  (void)!std::fwrite(text.data(), 1, text.size(), stderr);
  (void)std::fflush(stderr);
}

}  // namespace

Progress::Progress(std::string what) : what_(std::move(what)) {
  if (isatty(STDERR_FILENO) != 0) thread_ = std::thread(&Progress::Run, this);
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const server::MutexLock lock(mutex_);
    done_ = true;
  }
  wake_.NotifyOne();
  thread_.join();
}

void Progress::Say(std::string what, double share) {
  const server::MutexLock lock(mutex_);
  what_ = std::move(what);
  share_ = share;
}

void Progress::Run() {
  using std::chrono::duration;
  using std::chrono::milliseconds;
  using std::chrono::steady_clock;
  const auto start = steady_clock::now();
  server::MutexLock lock(mutex_);
  bool shown = false;
  auto pause = milliseconds(1000);
  while (!wake_.WaitFor(lock, pause,
                        [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return done_; })) {
    const double seconds = duration<double>(steady_clock::now() - start).count();
    const std::string bar = share_ < 0 ? " ..." : " " + BarText(share_);
    Show(fmt::format("\r\x1b[K{}{} {:.0f} s", server::Visible(what_), bar, seconds));
    shown = true;
    pause = milliseconds(200);
  }
  if (shown) {
    Show("\r\x1b[K");
  }
}

}  // namespace evenkeel::cli
