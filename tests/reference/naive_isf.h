// Slow twin of packing/isf: the published steps word for word, with whole lists searched and
// shortened one sample at a time. Shares the generator of random numbers alone. For tests; never
// linked into the server.
#ifndef EVENKEEL_TESTS_REFERENCE_NAIVE_ISF_H_
#define EVENKEEL_TESTS_REFERENCE_NAIVE_ISF_H_

#include <cstdint>
#include <utility>
#include <vector>

namespace evenkeel::planner::reference {

struct NaiveIsfRule {
  int64_t unit_cap, token_cap, keep_units, keep_tokens, iterations;
  uint64_t seed;
};

// Samples are (units, tokens). One that breaks a cap alone gets a pack of its own, ahead of all.
std::vector<std::vector<int32_t>> NaiveIsf(const std::vector<std::pair<int64_t, int64_t>>& samples,
                                           const NaiveIsfRule& rule);

}  // namespace evenkeel::planner::reference

#endif  // EVENKEEL_TESTS_REFERENCE_NAIVE_ISF_H_
