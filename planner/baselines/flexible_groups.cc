#include "planner/baselines/flexible_groups.h"

#include <algorithm>
#include <utility>

namespace evenkeel::planner {
namespace {

// Returns the least degree that holds this number of tokens, or the largest degree if none does.
int64_t DegreeFor(double tokens, double tokens_per_gpu, const DegreeTimes& times) {
  for (const auto& [degree, time] : times)
    if (tokens <= tokens_per_gpu * static_cast<double>(degree)) return degree;
  return times.rbegin()->first;
}

// Makes groups for the samples that need more than one GPU. `samples` descend in tokens.
std::vector<FlexibleGroup> GroupsForLong(const std::vector<PackShape>& samples,
                                         double tokens_per_gpu, const DegreeTimes& times,
                                         const Stop& stop) {
  std::vector<FlexibleGroup> groups;
  std::vector<double> room;
  for (const PackShape& sample : samples) {
    const int64_t degree = DegreeFor(sample.tokens, tokens_per_gpu, times);
    if (degree == times.begin()->first) break;
    stop.Spend(static_cast<int64_t>(room.size()));
    const auto fits = std::find_if(room.begin(), room.end(),
                                   [&](double tokens) { return tokens >= sample.tokens; });
    if (fits != room.end()) {
      *fits -= sample.tokens;
      continue;
    }
    groups.push_back({.degree = degree});
    room.push_back(tokens_per_gpu * static_cast<double>(degree) - sample.tokens);
  }
  return groups;
}

}  // namespace

std::vector<FlexibleGroup> AssignFlexibly(const std::vector<PackShape>& samples, int64_t gpus,
                                          double tokens_per_gpu, const DegreeTimes& times,
                                          const Stop& stop) {
  std::vector<PackShape> sorted = samples;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const PackShape& a, const PackShape& b) { return a.tokens > b.tokens; });
  std::vector<FlexibleGroup> groups = GroupsForLong(sorted, tokens_per_gpu, times, stop);
  int64_t left = gpus;
  for (const FlexibleGroup& group : groups) left -= group.degree;
  if (left < 0) return {};
  const int64_t least = times.begin()->first;
  for (; left >= least; left -= least) groups.push_back({.degree = least});
  for (const PackShape& sample : sorted) {
    const int64_t degree = DegreeFor(sample.tokens, tokens_per_gpu, times);
    stop.Spend(static_cast<int64_t>(4 * groups.size()));
    FlexibleGroup* best = nullptr;
    double best_ns = 0;
    for (FlexibleGroup& group : groups) {
      if (group.degree < degree ||
          group.work.tokens + sample.tokens > tokens_per_gpu * static_cast<double>(group.degree))
        continue;
      const double ns = times.at(group.degree).at(group.work + sample);
      if (best == nullptr || ns < best_ns) best = &group, best_ns = ns;
    }
    if (best == nullptr) return {};
    best->work += sample;
    best->ns = best_ns;
  }
  return groups;
}

std::vector<std::vector<FlexibleGroup>> AssignInWaves(std::vector<PackShape> samples, int64_t gpus,
                                                      double tokens_per_gpu,
                                                      const DegreeTimes& times, const Stop& stop) {
  // Share of the room of all GPUs that may be filled, and the factor from one try to the next.
  constexpr double kFull = .98, kLess = .95;
  std::stable_sort(samples.begin(), samples.end(),
                   [](const PackShape& a, const PackShape& b) { return a.tokens > b.tokens; });
  std::vector<std::vector<FlexibleGroup>> waves;
  for (size_t begin = 0; begin < samples.size();) {
    std::vector<FlexibleGroup> groups;
    size_t end = begin;
    for (double room = kFull * tokens_per_gpu * static_cast<double>(gpus); groups.empty();
         room *= kLess) {
      const bool alone = end == begin + 1;
      double tokens = 0;
      for (end = begin; end < samples.size() && tokens + samples[end].tokens <= room; ++end)
        tokens += samples[end].tokens;
      end = std::max(end, begin + 1);
      if (alone && end == begin + 1) return {};
      const auto first = samples.begin() + static_cast<std::ptrdiff_t>(begin);
      groups = AssignFlexibly({first, first + static_cast<std::ptrdiff_t>(end - begin)}, gpus,
                              tokens_per_gpu, times, stop);
    }
    waves.push_back(std::move(groups));
    begin = end;
  }
  return waves;
}

}  // namespace evenkeel::planner
