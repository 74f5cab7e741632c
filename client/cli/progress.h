// A line on stderr that says what takes so long, with a bar where that is known. Appears after a
// second, and only if stderr is a terminal; goes without trace when done.
#ifndef EVENKEEL_CLIENT_CLI_PROGRESS_H_
#define EVENKEEL_CLIENT_CLI_PROGRESS_H_

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

  // Replaces the text, and shows a bar where `share` (0 to 1) of the work is said to be done. Cheap
  // enough for a call per chunk, not for one per record.
  void Say(std::string what, double share = kUnknownShare);

 private:
  static constexpr double kUnknownShare = -1;

  void Run();

  server::Mutex mutex_;
  server::CondVar wake_;
  std::string what_ ABSL_GUARDED_BY(mutex_);
  double share_ ABSL_GUARDED_BY(mutex_) = kUnknownShare;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // not started where there is no terminal
};

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_PROGRESS_H_
