#include "server/tracing/tracer.h"

#include <pthread.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace evenkeel::server {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

Tracer::Tracer(const Settings& settings, Send send,
               std::function<void(const std::string&)> on_fault)
    : settings_(settings), send_(std::move(send)), on_fault_(std::move(on_fault)) {
  thread_ = std::thread([this] { Run(); });
  pthread_setname_np(thread_.native_handle(), "tracer");
}

Tracer::~Tracer() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

void Tracer::Record(SpanRecord span) {
  bool is_batch = false;
  {
    const MutexLock lock(mutex_);
    if (queue_.size() >= settings_.queue_length) {
      ++counters_.dropped;
      return;
    }
    queue_.push_back(std::move(span));
    is_batch = queue_.size() == settings_.batch_length;
  }
  if (is_batch) changed_.NotifyAll();
}

TraceCounters Tracer::counters() const {
  const MutexLock lock(mutex_);
  TraceCounters counters = counters_;
  counters.waiting = queue_.size();
  return counters;
}

void Tracer::Run() {
  while (true) {
    {
      MutexLock lock(mutex_);
      changed_.WaitFor(lock, settings_.interval, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stop_ || queue_.size() >= settings_.batch_length;
      });
      if (stop_) break;
    }
    for (Batch batch = Take(); !batch.empty(); batch = Take()) Export(batch);
  }
  SendRest();
}

// Returns false if the tracer ends.
bool Tracer::Pause(milliseconds time) {
  MutexLock lock(mutex_);
  return !changed_.WaitFor(lock, time,
                           [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stop_; });
}

Tracer::Batch Tracer::Take() {
  const MutexLock lock(mutex_);
  const auto count = static_cast<std::ptrdiff_t>(std::min(queue_.size(), settings_.batch_length));
  Batch batch(std::move_iterator(queue_.begin()), std::move_iterator(queue_.begin() + count));
  queue_.erase(queue_.begin(), queue_.begin() + count);
  return batch;
}

void Tracer::Export(const Batch& batch) {
  Sent sent;
  milliseconds pause = settings_.first_pause;
  for (int i = 1;; ++i) {
    sent = send_(batch, settings_.timeout);
    Tell(sent.why);
    if (sent.ok || !sent.again || i >= settings_.tries) break;
    if (!Pause(pause)) break;
    pause *= 2;
  }
  Count(batch, sent);
}

void Tracer::SendRest() {
  const auto end = steady_clock::now() + settings_.last_timeout;
  bool goes_on = true;
  for (Batch batch = Take(); !batch.empty(); batch = Take()) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - steady_clock::now());
    if (goes_on && left > milliseconds(0)) {
      const Sent sent = send_(batch, std::min(left, settings_.timeout));
      goes_on = sent.ok;
      Tell(sent.why);
      Count(batch, sent);
      continue;
    }
    const MutexLock lock(mutex_);
    counters_.dropped += batch.size();
  }
}

void Tracer::Count(const Batch& batch, const Sent& sent) {
  const size_t refused = sent.ok ? std::min(sent.refused, batch.size()) : batch.size();
  const MutexLock lock(mutex_);
  counters_.failed += refused;
  counters_.exported += batch.size() - refused;
}

void Tracer::Tell(const std::string& why) {
  if (why == fault_) return;
  fault_ = why;
  on_fault_(fault_);
}

}  // namespace evenkeel::server
