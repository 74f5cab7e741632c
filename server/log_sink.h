// The destination of log lines: a buffer that a separate thread writes out, many lines at a time.
// Waking a thread and calling the system for each line would cost more than answering a known plan.
#ifndef EVENKEEL_SERVER_LOG_SINK_H_
#define EVENKEEL_SERVER_LOG_SINK_H_

#include <spdlog/sinks/base_sink.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "server/base/mutex.h"

namespace evenkeel::server {

// If there are few lines, they are written at once, as are lines that the logger flushes. Under
// load, lines are gathered for 20 ms. The sink never blocks: while the reader of `fd` is stuck and
// the buffer is full, new lines are dropped, and a line reports their number as soon as there is
// room.
class BatchSink final : public spdlog::sinks::base_sink<Mutex> {
 public:
  static constexpr size_t kMaxPendingBytes = 1 << 20;

  explicit BatchSink(int fd);
  ~BatchSink() override;

  // Writes pending lines and ends the thread. Later lines are lost.
  void Stop();

  // Returns the number of lines dropped since the start.
  uint64_t dropped_total() const { return dropped_total_; }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void flush_() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

 private:
  void Work();
  void AppendDropped() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // mutex_ belongs to the base class.
  const int fd_;
  CondVar wake_;
  spdlog::memory_buf_t pending_ ABSL_GUARDED_BY(mutex_);
  uint64_t dropped_ ABSL_GUARDED_BY(mutex_) = 0;  // not reported yet
  std::atomic<uint64_t> dropped_total_ = 0;
  spdlog::log_clock::time_point window_ ABSL_GUARDED_BY(mutex_);  // start of the present 20 ms
  int lines_in_window_ ABSL_GUARDED_BY(mutex_) = 0;
  bool urgent_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_LOG_SINK_H_
