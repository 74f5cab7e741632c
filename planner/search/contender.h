// A candidate during the search, with the facts known about it.
#ifndef EVENKEEL_PLANNER_SEARCH_CONTENDER_H_
#define EVENKEEL_PLANNER_SEARCH_CONTENDER_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "planner/candidates/candidate.h"

namespace evenkeel::planner {

// Steps are not scaled to the requested global batch.
struct Contender {
  Candidate candidate;
  std::vector<Candidate> earlier;  // cuts that are slower with mean packs; with real packs one of
                                   // them may be quicker
  int64_t score_ns = 0;            // step of mean packs
  int64_t bound_ns = 0;            // no cut of this candidate has a shorter step of mean packs
  bool improved = false;           // a better cut of chunks was searched
  bool finished = false;
  // No even cut fits without recompute, so the search starts from an uneven one.
  bool fitted = false;
  bool memory_binds = true;  // some of the examined cuts did not fit
  int64_t uneven_ns = 0;     // ns that a few real packs add to the score; 0 if unknown

  // Returns the best step simulated with real packs, or an estimate of it.
  int64_t best_known_ns() const {
    const int64_t step = candidate.step.total_ns();
    int64_t best = step > 0 ? step : score_ns + uneven_ns;
    for (const Candidate& cut : earlier)
      if (cut.step.total_ns() > 0) best = std::min(best, cut.step.total_ns());
    return best;
  }
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_CONTENDER_H_
