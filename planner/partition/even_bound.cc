#include "planner/partition/even_bound.h"

#include <algorithm>
#include <vector>

namespace evenkeel::planner {
namespace {

// Largest relative error that rounding can cause in a bound.
constexpr double kRounding = 1e-9;

class Even {
 public:
  Even(const EvenChain& chain, int64_t stages, int64_t micro_batches)
      : stages_(stages),
        m_(static_cast<double>(micro_batches)),
        work_(static_cast<double>(chain.work_ns)),
        longest_(static_cast<double>(chain.longest_layer_ns)),
        send_(2 * static_cast<double>(chain.least_send_ns)),
        once_(work_ + static_cast<double>(stages - 1) * send_) {
    for (int64_t s = 0; s < stages; ++s)
      trips_.push_back(static_cast<double>((micro_batches - 1) / (stages - s)));
  }

  // Returns the least time within which the stages can take all the work.
  double Least() const {
    double low = std::max({once_ + (m_ - 1) / 2 * longest_, m_ * longest_, once_});
    double high = std::max(low, m_ * once_);  // packs run one after the other
    for (int round = 0; round < 60 && high - low > 0.5; ++round) {
      const double middle = low + (high - low) / 2;
      (Takes(middle) ? high : low) = middle;
    }
    return low;
  }

 private:
  // Returns whether stages that end within `time` can take all the work. From the last to the
  // first, each stage takes as much as its paths allow. This is optimal: if a stage takes more, the
  // stages in front can take less, but the loss is smaller than the gain.
  bool Takes(double time) const {
    const double spare = time - once_;
    double behind = 0, sends = 0;  // work and sends of the stages after s, and only the sends
    for (int64_t s = stages_ - 1; s >= 0; --s) {
      if (s + 1 < stages_) behind += send_, sends += send_;
      const double after = static_cast<double>(stages_ - 1 - s);
      double most = work_;
      const auto limit = [&](double numerator, double denominator) {
        if (denominator > 0) most = std::min(most, numerator / denominator);
      };
      const double trips = trips_[static_cast<size_t>(s)];
      // Trips to the end and back allow no more work after stage s than this.
      if (trips >= 1) behind = std::min(behind, spare / trips);
      if (behind < sends * (1 - kRounding)) return false;
      limit(spare + behind, m_ - 1);
      limit(2 * spare, m_ + std::max(1.0, m_ - std::min(m_, after)) - 2);
      if (trips >= 1) {
        limit(spare - behind, m_ - after - 1);
        limit(spare - trips * behind, m_ - trips * after - 1);
      }
      behind += std::max(0.0, most);
    }
    return behind * (1 + kRounding) >= once_;
  }

  const int64_t stages_;
  const double m_;
  const double work_;
  const double longest_;  // longest layer
  const double send_;     // both ways
  const double once_;     // one pack through all stages and back
  // By stage: how often a path there can go to the end and back between its first and last pack.
  std::vector<double> trips_;
};

}  // namespace

int64_t EvenBound(const EvenChain& chain, int64_t stages, int64_t micro_batches) {
  return static_cast<int64_t>(Even(chain, stages, micro_batches).Least() * (1 - kRounding));
}

}  // namespace evenkeel::planner
