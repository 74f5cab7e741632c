// The destination of log lines: a buffer that a thread of its own writes out, many lines at a time.
// Waking a thread and a system call for each line would cost more than answering a known plan.
#ifndef EVENKEEL_SERVER_LOG_SINK_H_
#define EVENKEEL_SERVER_LOG_SINK_H_

#include <spdlog/sinks/base_sink.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>

namespace evenkeel::server {

// Few lines are written at once, as are those that the logger flushes; under load, lines are
// gathered for 20 ms. Never blocks: while the reader of `fd` is stuck and the buffer is full, new
// lines are dropped, and a line reports their number as soon as there is room.
class BatchSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  static constexpr size_t kMaxPendingBytes = 1 << 20;

  explicit BatchSink(int fd);
  ~BatchSink() override;

  // Writes what is pending and ends the thread; later lines are lost.
  void Stop();

  // Number of lines dropped since the start.
  uint64_t dropped_total() const { return dropped_total_; }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override;

 private:
  void Work();
  void AppendDropped();

  // mutex_ of the base class guards all members except the thread.
  const int fd_;
  std::condition_variable wake_;
  spdlog::memory_buf_t pending_;
  uint64_t dropped_ = 0;  // not reported yet
  std::atomic<uint64_t> dropped_total_ = 0;
  spdlog::log_clock::time_point window_;  // start of the present 20 ms
  int lines_in_window_ = 0;
  bool urgent_ = false;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_LOG_SINK_H_
