// Tells a computation that its answer is no longer wanted. A Stop is passed to every function that
// may run for long; all copies share one state. Results never depend on it: a computation either
// ends as if there were no Stop, or ends as Stopped.
#ifndef EVENKEEL_PLANNER_BASE_STOP_H_
#define EVENKEEL_PLANNER_BASE_STOP_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace evenkeel::planner {

// Thrown by Stop::Ask and Stop::Spend, and caught only by RunsThrough, so that a partial result
// never gets out.
struct Stopped {};

// Not thread-safe: a Stop and its copies belong to the one thread of their computation.
class Stop {
 public:
  // Units of work between two calls of `ask`: some milliseconds at worst. One unit is about a
  // nanosecond of an inner loop, such as one cell of a table.
  static constexpr int64_t kUnitsPerQuestion = 1'000'000;

  Stop() = default;        // never stops
  Stop(std::nullptr_t) {}  // never stops; NOLINT(google-explicit-constructor)

  // `ask` returns true when the answer is no longer wanted. After that it is not called again.
  template <std::invocable Ask>
  requires(!std::same_as<std::remove_cvref_t<Ask>, Stop>)
      Stop(Ask&& ask) {  // NOLINT(google-explicit-constructor): callers pass a lambda
    std::function<bool()> wrapped(std::forward<Ask>(ask));
    if (!wrapped) return;
    if (const Stop* same = wrapped.target<Stop>())
      meter_ = same->meter_;
    else
      meter_ = std::make_shared<Meter>(Meter{.ask = std::move(wrapped)});
  }

  // Asks at once, and returns true if the answer is no longer wanted. The caller may then return a
  // partial result, which RunsThrough discards.
  bool operator()() const { return meter_ != nullptr && meter_->Ask(); }

  // Asks at once. Throws Stopped if the answer is no longer wanted.
  void Ask() const {
    if ((*this)()) throw Stopped();
  }

  // Counts work that is about to be done, at most a few million units at a time, and asks every
  // kUnitsPerQuestion units. Throws Stopped if the answer is no longer wanted.
  void Spend(int64_t units) const {
    if (meter_ == nullptr || (meter_->left -= units) >= 0) return;
    if (meter_->Ask()) throw Stopped();
  }

  // Returns whether `ask` has returned true.
  bool stopped() const { return meter_ != nullptr && meter_->stopped; }

  // Returns the units that all copies together have spent.
  int64_t spent() const { return meter_ == nullptr ? 0 : meter_->granted - meter_->left; }

 private:
  struct Meter {
    bool Ask() {
      if (!stopped) stopped = ask();
      // Once stopped, the next Spend throws.
      const int64_t more = stopped ? -1 - left : kUnitsPerQuestion - left;
      left += more;
      granted += more;
      return stopped;
    }
    std::function<bool()> ask;
    int64_t left = kUnitsPerQuestion;     // units until the next question
    int64_t granted = kUnitsPerQuestion;  // units granted in total
    bool stopped = false;
  };

  std::shared_ptr<Meter> meter_;
};

// Runs `work` to its end. Returns false if `stop` ended it. The results of `work` are then
// incomplete.
template <std::invocable Work>
[[nodiscard]] bool RunsThrough(const Stop& stop, const Work& work) {
  try {
    work();
  } catch (const Stopped&) {
    return false;
  }
  return !stop.stopped();
}

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_BASE_STOP_H_
