// A line on stderr that names the work in progress, with a bar if the share of the work is known.
// It appears after a second, and only if stderr is a terminal. It disappears without a trace when
// done.
#ifndef EVENKEEL_CLIENT_CLI_BASE_PROGRESS_H_
#define EVENKEEL_CLIENT_CLI_BASE_PROGRESS_H_

#include <string>
#include <thread>

#include "server/base/mutex.h"

namespace evenkeel::cli {

class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Replaces the text, and shows a bar if `share` (0 to 1), the part of the work that is done, is
  // known. It is cheap enough to call per chunk, but not per record.
  void Say(std::string what, double share = kUnknownShare);

 private:
  static constexpr double kUnknownShare = -1;

  void Run();

  server::Mutex mutex_;
  server::CondVar wake_;
  std::string what_ ABSL_GUARDED_BY(mutex_);
  double share_ ABSL_GUARDED_BY(mutex_) = kUnknownShare;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // not started if there is no terminal
};

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_BASE_PROGRESS_H_
