// Measures how long work takes here, compared with its estimates. Not thread-safe.
#ifndef EVENKEEL_SERVER_CORE_WORK_SPEED_H_
#define EVENKEEL_SERVER_CORE_WORK_SPEED_H_

#include <cstdint>

namespace evenkeel::server {

class WorkSpeed {
 public:
  // Notes work that ran to its end. `cost_seconds` must be above 0.
  void Note(double cost_seconds, double seconds) {
    cost_ = kKeep * cost_ + cost_seconds;
    taken_ = kKeep * taken_ + seconds;
    ++noted_;
  }

  // Returns the seconds taken per second of estimated cost of recent work, or 1 if there was none
  // yet.
  double factor() const { return noted_ == 0 ? 1 : taken_ / cost_; }

  // Returns true if enough work was seen to refuse requests because of it.
  bool known() const { return noted_ >= kEnough; }

 private:
  static constexpr double kKeep = 0.8;  // weight of earlier work each time more is noted
  static constexpr int64_t kEnough = 8;
  double cost_ = 0, taken_ = 0;
  int64_t noted_ = 0;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CORE_WORK_SPEED_H_
