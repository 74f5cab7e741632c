#include "tests/reference/naive_fit.h"

#include <algorithm>

namespace evenkeel::planner::reference {
namespace {

bool HasRoom(const NaiveSamples& samples, std::vector<uint32_t> pack, uint32_t sample,
             int64_t unit_cap, int64_t token_cap) {
  pack.push_back(sample);
  return NaiveUnits(samples, pack) <= unit_cap && NaiveTokens(samples, pack) <= token_cap;
}

}  // namespace

int64_t NaiveUnits(const NaiveSamples& samples, const std::vector<uint32_t>& pack) {
  int64_t sum = 0;
  for (const uint32_t i : pack) sum += samples[i].first;
  return sum;
}

int64_t NaiveTokens(const NaiveSamples& samples, const std::vector<uint32_t>& pack) {
  int64_t sum = 0;
  for (const uint32_t i : pack) sum += samples[i].second;
  return sum;
}

std::vector<uint32_t> NaiveOrder(const NaiveSamples& samples, int64_t unit_cap, int64_t token_cap,
                                 bool by_share) {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < samples.size(); ++i) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const auto [units_a, tokens_a] = samples[a];
    const auto [units_b, tokens_b] = samples[b];
    if (by_share) {
      const int64_t share_a = std::max(units_a * token_cap, tokens_a * unit_cap);
      const int64_t share_b = std::max(units_b * token_cap, tokens_b * unit_cap);
      if (share_a != share_b) return share_a > share_b;
    }
    if (tokens_a != tokens_b) return tokens_a > tokens_b;
    if (units_a != units_b) return units_a > units_b;
    return a < b;
  });
  return order;
}

NaivePacks NaiveFirstFit(const NaiveSamples& samples, int64_t unit_cap, int64_t token_cap,
                         const std::vector<uint32_t>& order) {
  NaivePacks packs;
  for (const uint32_t sample : order) {
    const auto first = std::find_if(packs.begin(), packs.end(), [&](const auto& pack) {
      return HasRoom(samples, pack, sample, unit_cap, token_cap);
    });
    if (first == packs.end()) {
      packs.push_back({sample});
    } else {
      first->push_back(sample);
    }
  }
  return packs;
}

NaivePacks NaiveBestFit(const NaiveSamples& samples, int64_t unit_cap, int64_t token_cap,
                        const std::vector<uint32_t>& order) {
  NaivePacks packs;
  for (const uint32_t sample : order) {
    std::vector<uint32_t>* best = nullptr;
    std::pair<int64_t, int64_t> best_filled;
    for (std::vector<uint32_t>& pack : packs) {
      if (!HasRoom(samples, pack, sample, unit_cap, token_cap)) continue;
      const std::pair<int64_t, int64_t> filled = {NaiveTokens(samples, pack),
                                                  NaiveUnits(samples, pack)};
      if (best != nullptr && filled <= best_filled) continue;
      best = &pack;
      best_filled = filled;
    }
    if (best == nullptr) best = &packs.emplace_back();
    best->push_back(sample);
  }
  return packs;
}

NaivePacks NaiveKnapsack(const NaiveSamples& samples, int64_t unit_cap, int64_t token_cap,
                         std::vector<uint32_t> order) {
  NaivePacks packs;
  while (!order.empty()) {
    std::vector<uint32_t>& pack = packs.emplace_back();
    while (true) {
      const auto first = std::find_if(order.begin(), order.end(), [&](uint32_t sample) {
        return HasRoom(samples, pack, sample, unit_cap, token_cap);
      });
      if (first == order.end()) break;
      pack.push_back(*first);
      order.erase(first);
    }
  }
  return packs;
}

}  // namespace evenkeel::planner::reference
