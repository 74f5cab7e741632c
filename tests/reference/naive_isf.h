// Slow twin of packing/isf. It follows the published steps word for word, searching and shortening
// whole lists one sample at a time. It shares only the random number generator. For tests; never
// linked into the server.
#ifndef EVENKEEL_TESTS_REFERENCE_NAIVE_ISF_H_
#define EVENKEEL_TESTS_REFERENCE_NAIVE_ISF_H_

#include <cstdint>

#include "tests/reference/naive_fit.h"

namespace evenkeel::planner::reference {

struct NaiveIsfRule {
  int64_t unit_cap, token_cap, keep_units, keep_tokens, iterations;
  uint64_t seed;
};

NaivePacks NaiveIsf(const NaiveSamples& samples, const NaiveIsfRule& rule);

}  // namespace evenkeel::planner::reference

#endif  // EVENKEEL_TESTS_REFERENCE_NAIVE_ISF_H_
