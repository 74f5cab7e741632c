#include "server/redis/circuit_breaker.h"

#include <gtest/gtest.h>

#include <vector>

namespace evenkeel::server {
namespace {

using namespace std::chrono_literals;
using State = CircuitBreaker::State;
using Outcome = CircuitBreaker::Outcome;

class TurnedClock : public Clock {
 public:
  std::chrono::steady_clock::time_point Now() const override { return now; }
  std::chrono::steady_clock::time_point now{1h};
};

class CircuitBreakerTest : public testing::Test {
 protected:
  void Try(Outcome outcome) {
    const auto permit = breaker_.Ask();
    ASSERT_TRUE(permit);
    breaker_.Report(*permit, outcome);
  }

  void Open() {
    for (int i = 0; i < 3; ++i) Try(Outcome::kFailure);
    ASSERT_EQ(breaker_.state(), State::kOpen);
  }

  TurnedClock clock_;
  std::vector<State> changes_;
  CircuitBreaker breaker_{{}, clock_, 7, [this](State state) { changes_.push_back(state); }};
};

TEST_F(CircuitBreakerTest, OpensAfterFailuresInARow) {
  Try(Outcome::kFailure);
  Try(Outcome::kFailure);
  Try(Outcome::kSuccess);
  Try(Outcome::kFailure);
  Try(Outcome::kFailure);
  EXPECT_EQ(breaker_.state(), State::kClosed);
  Try(Outcome::kFailure);
  EXPECT_EQ(breaker_.state(), State::kOpen);
  EXPECT_TRUE(breaker_.is_resting());
  EXPECT_FALSE(breaker_.Ask());
}

TEST_F(CircuitBreakerTest, OneProbeAtATimeClosesIt) {
  Open();
  clock_.now += 500ms;
  EXPECT_FALSE(breaker_.is_resting());
  const auto probe = breaker_.Ask();
  ASSERT_TRUE(probe);
  EXPECT_EQ(breaker_.state(), State::kHalfOpen);
  EXPECT_FALSE(breaker_.Ask());
  breaker_.Report(*probe, Outcome::kUnknown);  // it was not tried, so the next attempt may be
  const auto second = breaker_.Ask();
  ASSERT_TRUE(second);
  breaker_.Report(*second, Outcome::kSuccess);
  EXPECT_EQ(changes_, (std::vector{State::kOpen, State::kHalfOpen, State::kClosed}));
  EXPECT_TRUE(breaker_.Ask());
}

TEST_F(CircuitBreakerTest, PausesGrowToTheLongest) {
  Open();
  std::chrono::nanoseconds expected = 500ms;
  for (int i = 0; i < 12; ++i) {
    clock_.now += std::chrono::duration_cast<std::chrono::nanoseconds>(expected * 0.8) - 1ms;
    EXPECT_FALSE(breaker_.Ask()) << i;
    clock_.now += std::chrono::duration_cast<std::chrono::nanoseconds>(expected * 0.2) + 1ms;
    Try(Outcome::kFailure);
    expected = std::min<std::chrono::nanoseconds>(2 * expected, 30s);
  }
  clock_.now += 30s;
  Try(Outcome::kSuccess);
  Open();
  clock_.now += 500ms;  // the pause is short again
  EXPECT_TRUE(breaker_.Ask());
}

TEST_F(CircuitBreakerTest, WhatWasTriedBeforeDoesNotCount) {
  const auto old = breaker_.Ask();
  ASSERT_TRUE(old);
  Open();
  breaker_.Report(*old, Outcome::kSuccess);
  EXPECT_EQ(breaker_.state(), State::kOpen);
  clock_.now += 500ms;
  const auto probe = breaker_.Ask();
  ASSERT_TRUE(probe);
  breaker_.Report(*old, Outcome::kFailure);
  EXPECT_EQ(breaker_.state(), State::kHalfOpen);
}

// Replicas that lost Redis at the same time do not return at the same time.
TEST_F(CircuitBreakerTest, JitterIsSeeded) {
  const auto first_pause = [](uint64_t seed) {
    TurnedClock clock;
    CircuitBreaker breaker({}, clock, seed);
    for (int i = 0; i < 3; ++i) breaker.Report(*breaker.Ask(), Outcome::kFailure);
    int steps = 0;
    for (; breaker.is_resting(); ++steps) clock.now += 1ms;
    return steps;
  };
  EXPECT_EQ(first_pause(1), first_pause(1));
  EXPECT_NE(first_pause(1), first_pause(2));
}

}  // namespace
}  // namespace evenkeel::server
