#include "tests/baselines/timed_batches.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>

#include "planner/base/integers.h"
#include "planner/base/random.h"
#include "planner/baselines/flexible_groups.h"
#include "planner/packing/pack_time.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kFullPercent = 95;
constexpr std::array<int64_t, 2> kQueueParts = {1, 2};  // of a mean micro-batch's time

std::vector<uint32_t> InRandomOrder(size_t samples, uint64_t seed) {
  std::vector<uint32_t> order(samples);
  std::iota(order.begin(), order.end(), 0u);
  Random(seed).Shuffle(order);
  return order;
}

class OutlierQueues {
 public:
  OutlierQueues(const Lengths& lengths, int64_t token_cap, const PackTimes& times,
                const DealRule& rule, const Stop& stop)
      : lengths_(lengths),
        cap_(token_cap),
        sample_times_(SampleTimes(lengths, times)),
        stop_(stop),
        batches_(static_cast<size_t>(rule.ranks * rule.packs_per_rank)),
        slots_(static_cast<size_t>(rule.packs_per_rank)),
        stream_(InRandomOrder(lengths.size(), rule.seed)),
        arrived_(lengths.size()) {
    int64_t tokens = 0, time = 0;
    for (size_t i = 0; i < lengths.size(); ++i)
      tokens += lengths.tokens[i], time += sample_times_[i];
    if (tokens > 0)
      mean_time_ = static_cast<int64_t>(static_cast<double>(time) / static_cast<double>(tokens) *
                                        static_cast<double>(cap_ * kFullPercent / 100));
  }

  // Returns how many entries of the order were made before the stream ended.
  size_t streamed() const { return streamed_; }

  TimedBatches Run() {
    const int64_t room = cap_ * static_cast<int64_t>(batches_) * kFullPercent / 100;
    while (next_ < stream_.size() || Waiting()) {
      int64_t tokens = 0;
      for (const uint32_t sample : ready_) tokens += lengths_.tokens[sample];
      for (; next_ < stream_.size() && tokens < room; ++next_) tokens += Arrive(stream_[next_]);
      ReleaseQueues(next_ == stream_.size());
      FillBatches();
      ++made_.steps;
      if (next_ < stream_.size()) streamed_ = made_.order.size();
    }
    return std::move(made_);
  }

 private:
  bool Waiting() const { return !ready_.empty() || !queues_[0].empty() || !queues_[1].empty(); }

  int64_t Arrive(uint32_t sample) {
    arrived_[sample] = made_.steps;
    const int64_t tokens = lengths_.tokens[sample];
    for (size_t q = 0; q < queues_.size(); ++q) {
      if (sample_times_[sample] * kQueueParts[q] <= mean_time_) continue;
      queues_[q].push_back(sample);
      return 0;
    }
    ready_.push_back(sample);
    return tokens;
  }

  void ReleaseQueues(bool ended) {
    for (std::vector<uint32_t>& queue : queues_) {
      if (queue.size() < batches_ && !ended) continue;
      const auto end =
          queue.begin() + static_cast<std::ptrdiff_t>(std::min(queue.size(), batches_));
      ready_.insert(ready_.end(), queue.begin(), end);
      queue.erase(queue.begin(), end);
    }
  }

  void FillBatches() {
    std::sort(ready_.begin(), ready_.end(), [this](uint32_t a, uint32_t b) {
      return sample_times_[a] != sample_times_[b] ? sample_times_[a] > sample_times_[b] : a < b;
    });
    std::vector<std::vector<uint32_t>> members(batches_);
    std::vector<int64_t> busy(batches_), tokens(batches_);
    std::vector<uint32_t> later;
    for (const uint32_t sample : ready_) {
      stop_.Spend(static_cast<int64_t>(2 * batches_));
      const int64_t length = lengths_.tokens[sample];
      auto batch = static_cast<size_t>(std::min_element(busy.begin(), busy.end()) - busy.begin());
      if (tokens[batch] + length > cap_)
        batch =
            static_cast<size_t>(std::min_element(tokens.begin(), tokens.end()) - tokens.begin());
      if (tokens[batch] + length > cap_ && !members[batch].empty()) {
        later.push_back(sample);
        continue;
      }
      members[batch].push_back(sample);
      busy[batch] += sample_times_[sample];
      tokens[batch] += length;
      made_.longest_delay = std::max(made_.longest_delay, made_.steps - arrived_[sample]);
    }
    ready_ = std::move(later);
    // Micro-batches of a step go round its ranks.
    const size_t ranks = batches_ / slots_;
    for (size_t rank = 0; rank < ranks; ++rank) {
      for (size_t slot = 0; slot < slots_; ++slot) {
        const std::vector<uint32_t>& batch = members[slot * ranks + rank];
        made_.order.push_back(batch.empty() ? -1 : made_.batches++);
        made_.packing.members.insert(made_.packing.members.end(), batch.begin(), batch.end());
        made_.packing.ClosePack();
      }
    }
  }

  const Lengths& lengths_;
  const int64_t cap_;
  const std::vector<int32_t> sample_times_;
  const Stop stop_;
  const size_t batches_, slots_;
  const std::vector<uint32_t> stream_;
  std::vector<int64_t> arrived_;  // by sample: step
  int64_t mean_time_ = 0;         // of a micro-batch
  size_t next_ = 0, streamed_ = 0;
  std::array<std::vector<uint32_t>, 2> queues_;
  std::vector<uint32_t> ready_;
  TimedBatches made_;
};

}  // namespace

TimedBatches DelayOutliers(const Lengths& lengths, int64_t token_cap, const PackTimes& times,
                           const DealRule& rule, const Stop& stop) {
  OutlierQueues queues(lengths, token_cap, times, rule, stop);
  TimedBatches made = queues.Run();
  const std::vector<int64_t> pack_times =
      PackTimesOf(lengths, SumsOf(lengths, made.packing), times);
  const std::span<const int64_t> order = made.order;
  made.idle = EpochOf(pack_times, order.first(queues.streamed()), rule).idle;
  return made;
}

TimedBatches DivideFlexibly(const Lengths& lengths, int64_t token_cap, const PackTimes& times,
                            const DealRule& rule, int64_t gpus_per_rank, const Stop& stop) {
  TimedBatches made;
  PackCost cost;
  cost.per_unit = times.vision_per_unit;
  cost.per_token = times.language_per_token;
  cost.per_squared = times.language_per_squared_token;
  DegreeTimes degrees;
  for (int64_t degree = 1; degree <= gpus_per_rank; degree *= 2)
    degrees[degree] = 1 / static_cast<double>(degree) * cost;
  const int64_t gpus = rule.ranks * gpus_per_rank;
  const double tokens_per_gpu = static_cast<double>(token_cap) / static_cast<double>(gpus_per_rank);
  const int64_t room = token_cap * rule.ranks * rule.packs_per_rank * kFullPercent / 100;
  const std::vector<uint32_t> stream = InRandomOrder(lengths.size(), rule.seed);
  double waited = 0, longest_of_all = 0;
  for (size_t next = 0; next < stream.size();) {
    std::vector<PackShape> batch;
    for (int64_t tokens = 0; next < stream.size() && tokens < room; ++next) {
      const int64_t length = lengths.tokens[stream[next]];
      tokens += length;
      const auto t = static_cast<double>(length);
      batch.push_back({lengths.UnitsOf(stream[next]).As<double>(), t, t * t});
    }
    const auto waves = AssignInWaves(std::move(batch), gpus, tokens_per_gpu, degrees, stop);
    for (const std::vector<FlexibleGroup>& wave : waves) {
      double longest = 0, sum = 0;
      for (const FlexibleGroup& group : wave) {
        longest = std::max(longest, group.ns);
        sum += group.ns * static_cast<double>(group.degree);
        made.batches += group.ns > 0 ? 1 : 0;
      }
      waited += longest - sum / static_cast<double>(gpus);
      longest_of_all += longest;
      ++made.steps;
    }
  }
  if (longest_of_all > 0) made.idle = waited / longest_of_all;
  return made;
}

}  // namespace evenkeel::planner
