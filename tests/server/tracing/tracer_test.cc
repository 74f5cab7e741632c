#include "server/tracing/tracer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <string>

namespace evenkeel::server {
namespace {

using namespace std::chrono_literals;

class TracerTest : public testing::Test {
 protected:
  TracerTest() {
    settings_.queue_length = 8;
    settings_.batch_length = 4;
    settings_.interval = 1h;
    settings_.first_pause = 1ms;
    settings_.tries = 3;
  }

  void Start() {
    tracer_ = std::make_unique<Tracer>(
        settings_,
        [this](const std::vector<SpanRecord>& batch, std::chrono::milliseconds timeout) {
          while (hold_ && timeout > settings_.last_timeout) std::this_thread::sleep_for(1ms);
          const std::lock_guard lock(mutex_);
          batches_.push_back(batch.size());
          for (const SpanRecord& span : batch) names_ += span.name;
          return answer_;
        },
        [this](const std::string& fault) { faults_ += fault + ";"; });
  }
  void Record(const std::string& names) {
    for (const char name : names) {
      SpanRecord span;
      span.name = std::string(1, name);
      tracer_->Record(std::move(span));
    }
  }
  // Waits until so many spans have ended.
  TraceCounters After(uint64_t count) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    TraceCounters counters;
    do {
      std::this_thread::sleep_for(1ms);
      counters = tracer_->counters();
    } while (counters.exported + counters.failed + counters.dropped < count &&
             std::chrono::steady_clock::now() < end);
    return counters;
  }
  std::vector<size_t> batches() {
    const std::lock_guard lock(mutex_);
    return batches_;
  }

  Tracer::Settings settings_;
  Tracer::Sent answer_{.ok = true};
  std::atomic<bool> hold_ = false;
  std::string faults_, names_;  // read after tracer_ has ended
  std::mutex mutex_;
  std::vector<size_t> batches_;
  std::unique_ptr<Tracer> tracer_;
};

TEST_F(TracerTest, SendsAFullBatchAtOnceAndTheRestAtTheEnd) {
  Start();
  Record("abcd");
  EXPECT_EQ(After(4).exported, 4u);
  Record("ef");
  EXPECT_EQ(tracer_->counters().waiting, 2u);
  tracer_.reset();
  EXPECT_EQ(batches(), (std::vector<size_t>{4, 2}));
  EXPECT_EQ(names_, "abcdef");
  EXPECT_EQ(faults_, "");
}

TEST_F(TracerTest, SendsWhatThereIsAfterTheInterval) {
  settings_.interval = 5ms;
  Start();
  Record("a");
  EXPECT_EQ(After(1).exported, 1u);
}

// A receiver that hangs costs no more than the queue.
TEST_F(TracerTest, DropsWhatFindsNoPlace) {
  hold_ = true;
  Start();
  Record("abcd");
  while (tracer_->counters().waiting > 0) std::this_thread::sleep_for(1ms);  // they are being sent
  const auto since = std::chrono::steady_clock::now();
  Record("efghijklmno");
  EXPECT_LT(std::chrono::steady_clock::now() - since, 10s);
  EXPECT_EQ(tracer_->counters().dropped, 3u);
  EXPECT_EQ(tracer_->counters().waiting, 8u);
  hold_ = false;
  EXPECT_EQ(After(15).exported, 12u);
  tracer_.reset();
  EXPECT_EQ(names_, "abcdefghijkl");
}

TEST_F(TracerTest, TriesAgainWhereThatMayHelp) {
  answer_ = {.again = true, .why = "down"};
  Start();
  Record("abcd");
  EXPECT_EQ(After(4).failed, 4u);
  EXPECT_EQ(batches().size(), 3u);
  {
    const std::lock_guard lock(mutex_);
    answer_ = {.why = "forbidden"};
  }
  Record("efgh");
  EXPECT_EQ(After(8).failed, 8u);
  EXPECT_EQ(batches().size(), 4u);
  {
    const std::lock_guard lock(mutex_);
    answer_ = {.ok = true};
  }
  Record("ijkl");
  EXPECT_EQ(After(12).exported, 4u);
  tracer_.reset();
  EXPECT_EQ(faults_, "down;forbidden;;");
}

TEST_F(TracerTest, CountsWhatTheReceiverRefuses) {
  answer_ = {.ok = true, .refused = 3, .why = "too old"};
  Start();
  Record("abcd");
  const TraceCounters counters = After(4);
  EXPECT_EQ(counters.failed, 3u);
  EXPECT_EQ(counters.exported, 1u);
}

TEST_F(TracerTest, EndsSoonWhenNobodyListens) {
  settings_.interval = 1ms;
  settings_.first_pause = 1h;
  answer_ = {.again = true, .why = "down"};
  Start();
  Record("abcdefgh");
  while (batches().empty()) std::this_thread::sleep_for(1ms);
  const auto since = std::chrono::steady_clock::now();
  tracer_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - since, 10s);
}

}  // namespace
}  // namespace evenkeel::server
