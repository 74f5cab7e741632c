// How a computation learns that its answer is no longer wanted. A Stop is handed down to whatever
// may take long; copies of it belong together. Results never depend on it: a computation either
// ends as if there were none, or ends as Stopped.
#ifndef EVENKEEL_PLANNER_BASE_STOP_H_
#define EVENKEEL_PLANNER_BASE_STOP_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace evenkeel::planner {

// Thrown by Stop::Spend, and caught by RunsThrough alone: half of a result never gets out.
struct Stopped {};

// Used by one thread, like the computation that holds it.
class Stop {
 public:
  // A unit of work is what an inner loop does in about a nanosecond, such as one cell of a table.
  // So many are spent between two questions: some milliseconds at worst.
  static constexpr int64_t kUnitsPerQuestion = 1'000'000;

  Stop() = default;        // never
  Stop(std::nullptr_t) {}  // likewise; NOLINT(google-explicit-constructor)

  // `ask` says true where the answer is no longer wanted. From then on it is not asked again.
  template <std::invocable Ask>
  requires(!std::same_as<std::remove_cvref_t<Ask>, Stop>)
      Stop(Ask&& ask) {  // NOLINT(google-explicit-constructor): callers give a lambda
    std::function<bool()> wrapped(std::forward<Ask>(ask));
    if (!wrapped) return;
    if (const Stop* same = wrapped.target<Stop>())
      meter_ = same->meter_;
    else
      meter_ = std::make_shared<Meter>(Meter{.ask = std::move(wrapped)});
  }

  explicit operator bool() const { return meter_ != nullptr; }

  // Asks at once. Whoever calls this may return half a result: the front door (RunsThrough) drops
  // it.
  bool operator()() const { return meter_ != nullptr && meter_->Ask(); }

  // Asks at once. Throws Stopped.
  void Ask() const {
    if ((*this)()) throw Stopped();
  }

  // Counts work that is about to be done, at most a few million units at a time, and asks every
  // kUnitsPerQuestion. Throws Stopped.
  void Spend(int64_t units) const {
    if (meter_ == nullptr || (meter_->left -= units) >= 0) return;
    if (meter_->Ask()) throw Stopped();
  }

  // Whether `ask` has said true.
  bool said() const { return meter_ != nullptr && meter_->said; }

  // Units that have been spent, by all copies.
  int64_t spent() const { return meter_ == nullptr ? 0 : meter_->granted - meter_->left; }

 private:
  struct Meter {
    bool Ask() {
      if (!said) said = ask();
      const int64_t more = said ? -1 - left : kUnitsPerQuestion - left;  // said: the next throws
      left += more;
      granted += more;
      return said;
    }
    std::function<bool()> ask;
    int64_t left = kUnitsPerQuestion;     // until the next question
    int64_t granted = kUnitsPerQuestion;  // units, in all
    bool said = false;
  };

  std::shared_ptr<Meter> meter_;
};

// A front door. False: `stop` said so, and whatever `work` made is not whole.
template <std::invocable Work>
[[nodiscard]] bool RunsThrough(const Stop& stop, const Work& work) {
  try {
    work();
  } catch (const Stopped&) {
    return false;
  }
  return !stop.said();
}

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_BASE_STOP_H_
