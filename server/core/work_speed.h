// How long work takes here, against what was estimated of it. Not thread-safe.
#ifndef EVENKEEL_SERVER_CORE_WORK_SPEED_H_
#define EVENKEEL_SERVER_CORE_WORK_SPEED_H_

#include <cstdint>

namespace evenkeel::server {

class WorkSpeed {
 public:
  // Work that ran to its end. `cost_seconds` above 0.
  void Note(double cost_seconds, double seconds) {
    cost_ = kKeep * cost_ + cost_seconds;
    taken_ = kKeep * taken_ + seconds;
    ++noted_;
  }

  // Seconds per second of estimated cost, of recent work; 1 until there is some.
  double factor() const { return noted_ == 0 ? 1 : taken_ / cost_; }

  // Whether enough has been seen to refuse anybody by it.
  bool known() const { return noted_ >= kEnough; }

 private:
  static constexpr double kKeep = 0.8;  // of what was noted, whenever more is
  static constexpr int64_t kEnough = 8;
  double cost_ = 0, taken_ = 0;
  int64_t noted_ = 0;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CORE_WORK_SPEED_H_
