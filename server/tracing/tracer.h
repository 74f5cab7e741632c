// Keeps finished spans until they are sent, and sends them in batches on a thread of its own. No
// call ever waits for it: when the queue is full, spans are dropped and counted. Thread-safe.
#ifndef EVENKEEL_SERVER_TRACING_TRACER_H_
#define EVENKEEL_SERVER_TRACING_TRACER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "server/base/mutex.h"
#include "server/tracing/sampler.h"
#include "server/tracing/span_record.h"

namespace evenkeel::server {

// Every recorded span ends as one of exported, dropped and failed.
struct TraceCounters {
  uint64_t exported = 0;
  uint64_t dropped = 0;  // the queue was full, or the server ended
  uint64_t failed = 0;   // the receiver refused them, or could not be reached for too long
  uint64_t waiting = 0;
};

class Tracer {
 public:
  struct Settings {
    Sampler sampler;
    size_t queue_length = 2048;
    size_t batch_length = 512;  // most spans in one message
    std::chrono::milliseconds interval{5000};
    std::chrono::milliseconds timeout{10'000};     // of one attempt
    int tries = 5;                                 // of one batch
    std::chrono::milliseconds first_pause{1000};   // between two tries; doubles
    std::chrono::milliseconds last_timeout{1000};  // for all spans that remain at the end
  };

  struct Sent {
    bool ok = false;
    bool again = false;    // if not ok: another try may help
    size_t refused = 0;    // if ok: spans that the receiver did not take
    std::string why = {};  // if not ok, or if some were refused
  };
  using Send =
      std::function<Sent(const std::vector<SpanRecord>& batch, std::chrono::milliseconds timeout)>;

  // `send` is called on the tracer's thread only. `on_fault` gets each new reason of a failure, and
  // "" when spans are taken again.
  Tracer(const Settings& settings, Send send, std::function<void(const std::string&)> on_fault);

  // Tries once to send the remaining spans, for `last_timeout` in all.
  ~Tracer();

  const Sampler& sampler() const { return settings_.sampler; }
  void Record(SpanRecord span);
  TraceCounters counters() const;

 private:
  using Batch = std::vector<SpanRecord>;

  void Run();
  bool Pause(std::chrono::milliseconds time);
  Batch Take();
  void Export(const Batch& batch);
  void SendRest();
  void Count(const Batch& batch, const Sent& sent);
  void Tell(const std::string& why);

  const Settings settings_;
  const Send send_;
  const std::function<void(const std::string&)> on_fault_;
  std::string fault_;  // the last argument of on_fault_; used by the thread only
  mutable Mutex mutex_;
  CondVar changed_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<SpanRecord> queue_ ABSL_GUARDED_BY(mutex_);
  TraceCounters counters_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_TRACING_TRACER_H_
