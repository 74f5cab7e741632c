#include "server/log_sink.h"

#include <spdlog/details/log_msg.h>
#include <spdlog/sinks/base_sink-inl.h>  // spdlog itself includes it only for its own mutexes
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <utility>

namespace evenkeel::server {
namespace {

constexpr std::chrono::milliseconds kGatherTime(20);
constexpr int kPromptLines = 4;  // lines written promptly in each such interval

// Writes all data. Data that cannot be written is lost.
void WriteAll(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t written = write(fd, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    data += written;
    size -= static_cast<size_t>(written);
  }
}

}  // namespace

BatchSink::BatchSink(int fd) : fd_(fd), thread_([this] { Work(); }) {}

BatchSink::~BatchSink() { Stop(); }

void BatchSink::Stop() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  wake_.NotifyOne();
  if (thread_.joinable()) thread_.join();
}

void BatchSink::sink_it_(const spdlog::details::log_msg& message) {
  if (pending_.size() + message.payload.size() > kMaxPendingBytes) {
    ++dropped_;
    ++dropped_total_;
    return;
  }
  if (message.time < window_ || message.time > window_ + kGatherTime) {
    window_ = message.time;
    lines_in_window_ = 0;
  }
  const bool is_prompt = lines_in_window_ < kPromptLines;
  lines_in_window_ += is_prompt ? 1 : 0;
  urgent_ |= is_prompt;
  const bool is_first = pending_.size() == 0;
  formatter_->format(message, pending_);
  if (is_first || is_prompt) wake_.NotifyOne();
}

void BatchSink::flush_() {
  urgent_ = true;
  wake_.NotifyOne();
}

void BatchSink::Work() {
  spdlog::memory_buf_t writing;
  MutexLock lock(mutex_);
  while (true) {
    wake_.Wait(lock, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return ending_ || pending_.size() > 0;
    });
    wake_.WaitFor(lock, kGatherTime,
                  [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ending_ || urgent_; });
    if (pending_.size() == 0) return;  // the sink is ending
    urgent_ = false;
    AppendDropped();
    std::swap(pending_, writing);
    lock.Unlock();
    WriteAll(fd_, writing.data(), writing.size());
    writing.clear();
    lock.Lock();
  }
}

void BatchSink::AppendDropped() {
  if (dropped_ == 0) return;
  const std::string text =
      R"("msg":"log lines dropped","lines":)" + std::to_string(std::exchange(dropped_, 0));
  formatter_->format(spdlog::details::log_msg("evenkeel", spdlog::level::warn, text), pending_);
}

}  // namespace evenkeel::server
