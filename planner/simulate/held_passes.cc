#include "planner/simulate/held_passes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "planner/base/integers.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kGroupsLike = 7;

// Returns the micro-batches that a chunk groups. A single chunk has no groups.
int64_t GroupOf(const PipelineShape& shape) {
  return shape.chunks > 1 ? shape.group() : shape.stages;
}

// Returns the first groups of a step. Later groups repeat them.
PipelineShape FirstGroups(const PipelineShape& shape) {
  const int64_t group = GroupOf(shape);
  return shape.WithFewer(
      std::min(shape.micro_batches, kGroupsLike * group + shape.micro_batches % group));
}

// Calls `seen(held)` at the end of each run of forwards: a stage holds no more of any chunk before.
// `held` counts the micro-batches of each chunk held then.
template <typename Seen>
void GoThrough(const PipelineShape& shape, int64_t stage, Seen seen) {
  std::vector<int64_t> held(static_cast<size_t>(shape.chunks));
  if (shape.schedule == Schedule::kGPipe) {
    held.assign(held.size(), shape.micro_batches);
    return seen(held);
  }
  const PassKind release =
      SplitsBackward(shape.schedule) ? PassKind::kWeightGradient : PassKind::kBackward;
  bool grew = false;
  for (StagePasses passes(FirstGroups(shape), stage); !passes.done(); passes.Next()) {
    const Pass& pass = passes.now();
    int64_t& of_chunk = held[static_cast<size_t>(pass.chunk)];
    if (pass.kind == PassKind::kForward) {
      ++of_chunk;
      grew = true;
    } else if (pass.kind == release) {
      if (std::exchange(grew, false)) seen(held);
      --of_chunk;
    }
  }
}

// Returns MostHeld under kInterleaved. A stage holds most of a chunk when a run of its forwards
// ends: each forward adds one, and the backward before it gives back at most one.
std::vector<int64_t> MostHeldInRuns(const PipelineShape& shape, int64_t stage) {
  const int64_t warm_up = MostInFlight(shape, stage).whole - 1;
  std::vector<int64_t> most(static_cast<size_t>(shape.chunks));
  for (int64_t c = 0; c < shape.chunks; ++c) {
    for (int64_t first = 0; first < shape.micro_batches; first += shape.group()) {
      const int64_t group = std::min(shape.group(), shape.micro_batches - first);
      const int64_t forwards = first * shape.chunks + (c + 1) * group;
      const int64_t backwards = std::max<int64_t>(0, forwards - warm_up - 1);
      int64_t& of_chunk = most[static_cast<size_t>(c)];
      of_chunk =
          std::max(of_chunk, first + group - ForwardsOf(shape, shape.chunks - 1 - c, backwards));
    }
  }
  return most;
}

// Moments that were met. Comparing hashes is quicker than comparing the moments.
class Met {
 public:
  // Returns false if it was there already.
  bool Insert(const std::vector<int64_t>& held) {
    uint64_t hash = held.size();
    for (const int64_t count : held) hash = hash * 1'000'003 + static_cast<uint64_t>(count);
    const auto [begin, end] = by_hash_.equal_range(hash);
    if (std::any_of(begin, end, [&](const auto& met) { return met.second == held; })) return false;
    by_hash_.emplace(hash, held);
    return true;
  }

 private:
  std::multimap<uint64_t, std::vector<int64_t>> by_hash_;
};

Wide SumOf(const std::vector<int64_t>& held, const std::vector<int64_t>& kept) {
  Wide sum = 0;
  for (size_t c = 0; c < held.size(); ++c) sum += Wide{held[c]} * kept[c];
  return sum;
}

}  // namespace

std::vector<int64_t> HeldAtPeak(const PipelineShape& shape, int64_t stage,
                                const std::vector<int64_t>& kept) {
  std::vector<int64_t> peak;
  Wide most = -1;
  GoThrough(shape, stage, [&](const std::vector<int64_t>& held) {
    const Wide sum = SumOf(held, kept);
    if (sum > most) most = sum, peak = held;
  });
  return peak;
}

std::vector<std::vector<int64_t>> PeaksHeld(const PipelineShape& shape, int64_t stage) {
  struct Peak {
    std::vector<int64_t> held;
    int64_t sum = 0;
  };
  std::vector<Peak> peaks;
  // A peak can only cover one with a smaller sum; most peaks of a stage have the same sum.
  const auto covers = [](const Peak& a, const Peak& b) {
    if (a.sum <= b.sum) return false;
    for (size_t c = 0; c < a.held.size(); ++c)
      if (a.held[c] < b.held[c]) return false;
    return true;
  };
  // Groups repeat each other: most moments equal the one a group before.
  const int64_t of_group = GroupOf(shape) * shape.chunks * shape.chunks;
  std::vector<int64_t> history;  // all moments
  Met met;
  int64_t least = 0, most = 0;  // sums of the peaks
  GoThrough(shape, stage, [&](const std::vector<int64_t>& held) {
    const bool repeats = std::ssize(history) >= of_group &&
                         std::equal(held.begin(), held.end(), history.end() - of_group);
    history.insert(history.end(), held.begin(), held.end());
    if (repeats || !met.Insert(held)) return;
    Peak now{held, std::accumulate(held.begin(), held.end(), int64_t{0})};
    const auto covered = [&](const Peak& peak) { return covers(peak, now); };
    if (now.sum < most && std::any_of(peaks.begin(), peaks.end(), covered)) return;
    if (now.sum > least) std::erase_if(peaks, [&](const Peak& peak) { return covers(now, peak); });
    least = peaks.empty() ? now.sum : std::min(least, now.sum);
    most = std::max(most, now.sum);
    peaks.push_back(std::move(now));
  });
  std::vector<std::vector<int64_t>> all;
  for (Peak& peak : peaks) all.push_back(std::move(peak.held));
  return all;
}

PeaksOfStages PeaksOfAllStages(const PipelineShape& shape, const Stop& stop) {
  PeaksOfStages peaks;
  for (int64_t s = 0; s < shape.stages; ++s) {
    stop.Ask();
    peaks.push_back(PeaksHeld(shape, s));
  }
  return peaks;
}

const std::vector<int64_t>& FullestMoment(const std::vector<std::vector<int64_t>>& peaks,
                                          const std::vector<int64_t>& kept) {
  return *std::max_element(peaks.begin(), peaks.end(), [&](const auto& a, const auto& b) {
    return SumOf(a, kept) < SumOf(b, kept);
  });
}

std::vector<int64_t> MostHeld(const PipelineShape& shape, int64_t stage) {
  // With one chunk under 1F1B, a stage fills up until the first backward comes back.
  if (shape.chunks == 1 && shape.schedule == Schedule::kOneFOneB)
    return {std::min(shape.micro_batches, shape.stages - stage)};
  if (shape.schedule == Schedule::kInterleaved) return MostHeldInRuns(FirstGroups(shape), stage);
  std::vector<int64_t> most(static_cast<size_t>(shape.chunks));
  GoThrough(shape, stage, [&](const std::vector<int64_t>& held) {
    for (size_t c = 0; c < held.size(); ++c) most[c] = std::max(most[c], held[c]);
  });
  return most;
}

}  // namespace evenkeel::planner
