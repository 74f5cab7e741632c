#include "planner/simulate/one_f_one_b.h"

#include <algorithm>

namespace evenkeel::planner {
namespace {

constexpr int64_t kNotYet = -1;

// One stage walking through its fixed sequence of forwards and backwards.
class Stage {
 public:
  Stage(int64_t index, int64_t stages, int64_t packs)
      : warm_up_(std::min(packs, stages - 1 - index)), packs_(packs) {}

  bool Done() const { return backwards_ == packs_; }
  bool NextIsForward() const {
    return forwards_ < packs_ && (forwards_ < warm_up_ || forwards_ - warm_up_ == backwards_);
  }
  int64_t pack() const { return NextIsForward() ? forwards_ : backwards_; }
  int64_t Run(int64_t ready, int64_t duration) {
    ++(NextIsForward() ? forwards_ : backwards_);
    now_ = std::max(now_, ready) + duration;
    return now_;
  }
  int64_t now() const { return now_; }

 private:
  int64_t warm_up_, packs_;
  int64_t forwards_ = 0, backwards_ = 0, now_ = 0;
};

}  // namespace

int64_t SimulateOneFOneB(const PipelineTimes& times) {
  const size_t stages = times.forward.size(), packs = times.forward.front().size();
  std::vector<Stage> stage;
  for (size_t s = 0; s < stages; ++s) {
    stage.emplace_back(static_cast<int64_t>(s), static_cast<int64_t>(stages),
                       static_cast<int64_t>(packs));
  }
  // When each pack leaves each stage, forward and backward.
  std::vector<int64_t> forward_end(stages * packs, kNotYet), backward_end(stages * packs, kNotYet);
  const auto ready = [&](size_t s, size_t k, bool forward) -> int64_t {
    if (forward) {
      if (s == 0) return 0;
      const int64_t end = forward_end[(s - 1) * packs + k];
      return end == kNotYet ? kNotYet : end + times.send[s - 1];
    }
    if (s + 1 == stages) return forward_end[s * packs + k];
    const int64_t end = backward_end[(s + 1) * packs + k];
    return end == kNotYet ? kNotYet : end + times.send[s];
  };
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t s = 0; s < stages; ++s) {
      while (!stage[s].Done()) {
        const bool forward = stage[s].NextIsForward();
        const size_t k = static_cast<size_t>(stage[s].pack());
        const int64_t from = ready(s, k, forward);
        if (from == kNotYet) break;
        const int64_t duration = forward ? times.forward[s][k] : times.backward[s][k];
        (forward ? forward_end : backward_end)[s * packs + k] = stage[s].Run(from, duration);
        progress = true;
      }
    }
  }
  int64_t end = 0;
  for (const Stage& s : stage) end = std::max(end, s.now());
  return end;
}

int64_t OneFOneBLowerBound(const std::vector<int64_t>& forward,
                           const std::vector<int64_t>& backward, const std::vector<int64_t>& send,
                           int64_t micro_batches) {
  int64_t before = 0,
          bound = 0;  // before: forwards, backwards and both sends of the stages in front
  for (size_t s = 0; s < forward.size(); ++s) {
    bound = std::max(bound, before + micro_batches * (forward[s] + backward[s]));
    before += forward[s] + backward[s] + 2 * send[s];
  }
  return std::max(bound, before);
}

}  // namespace evenkeel::planner
