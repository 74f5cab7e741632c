#include "tests/reference/naive_one_f_one_b.h"

#include <algorithm>

namespace evenkeel::planner::reference {
namespace {

struct Edge {
  size_t from, to;
  int64_t delay;
};

}  // namespace

int64_t LongestPathOneFOneB(const std::vector<std::vector<int64_t>>& forward,
                            const std::vector<std::vector<int64_t>>& backward,
                            const std::vector<int64_t>& send) {
  const size_t stages = forward.size(), packs = forward[0].size();
  const auto f = [&](size_t s, size_t k) { return (s * packs + k) * 2; };
  const auto b = [&](size_t s, size_t k) { return (s * packs + k) * 2 + 1; };
  std::vector<int64_t> duration(stages * packs * 2);
  std::vector<Edge> edges;
  for (size_t s = 0; s < stages; ++s) {
    for (size_t k = 0; k < packs; ++k) {
      duration[f(s, k)] = forward[s][k];
      duration[b(s, k)] = backward[s][k];
      edges.push_back({f(s, k), b(s, k), 0});
      if (s + 1 < stages) {
        edges.push_back({f(s, k), f(s + 1, k), send[s]});
        edges.push_back({b(s + 1, k), b(s, k), send[s]});
      }
    }
    // The passes that the stage runs, in order.
    std::vector<size_t> order;
    const size_t warm_up = std::min(packs, stages - 1 - s);
    for (size_t k = 0; k < warm_up; ++k) order.push_back(f(s, k));
    for (size_t k = warm_up; k < packs; ++k) {
      order.push_back(f(s, k));
      order.push_back(b(s, k - warm_up));
    }
    for (size_t k = packs - warm_up; k < packs; ++k) order.push_back(b(s, k));
    for (size_t n = 0; n + 1 < order.size(); ++n) edges.push_back({order[n], order[n + 1], 0});
  }
  std::vector<int64_t> end = duration;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Edge& e : edges) {
      const int64_t at = end[e.from] + e.delay + duration[e.to];
      if (at > end[e.to]) end[e.to] = at, changed = true;
    }
  }
  return *std::max_element(end.begin(), end.end());
}

}  // namespace evenkeel::planner::reference
