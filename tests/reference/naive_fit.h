// Slow twins of packing/first_fit and packing/best_fit. They place one sample at a time and look at
// every pack. They share no code with what they check. For tests; never linked into the server.
#ifndef EVENKEEL_TESTS_REFERENCE_NAIVE_FIT_H_
#define EVENKEEL_TESTS_REFERENCE_NAIVE_FIT_H_

#include <cstdint>
#include <utility>
#include <vector>

namespace evenkeel::planner::reference {

using NaiveSamples = std::vector<std::pair<int32_t, int32_t>>;  // (units, tokens)
using NaivePacks = std::vector<std::vector<uint32_t>>;

int64_t NaiveUnits(const NaiveSamples& samples, const std::vector<uint32_t>& pack);
int64_t NaiveTokens(const NaiveSamples& samples, const std::vector<uint32_t>& pack);

// Orders all samples, largest first: by tokens, or by the larger share of a cap; ties by tokens,
// units, and the lower index.
std::vector<uint32_t> NaiveOrder(const NaiveSamples& samples, int64_t unit_cap, int64_t token_cap,
                                 bool by_share);

// Puts samples in the given order, each into the first open pack that has room.
NaivePacks NaiveFirstFit(const NaiveSamples& samples, int64_t unit_cap, int64_t token_cap,
                         const std::vector<uint32_t>& order);
// Puts each sample into the pack with the fewest tokens left, then the fewest units left.
NaivePacks NaiveBestFit(const NaiveSamples& samples, int64_t unit_cap, int64_t token_cap,
                        const std::vector<uint32_t>& order);
// Fills one pack after the other. Each repeatedly takes the first of the remaining samples that
// fits.
NaivePacks NaiveKnapsack(const NaiveSamples& samples, int64_t unit_cap, int64_t token_cap,
                         std::vector<uint32_t> order);

}  // namespace evenkeel::planner::reference

#endif  // EVENKEEL_TESTS_REFERENCE_NAIVE_FIT_H_
