// Finds the best way to deal a step to ranks, and packs to steps, by trying all of them. Feasible
// for a dozen packs.
#ifndef EVENKEEL_TESTS_REFERENCE_BEST_DEAL_H_
#define EVENKEEL_TESTS_REFERENCE_BEST_DEAL_H_

#include <cstddef>
#include <utility>
#include <vector>

namespace evenkeel::planner::reference {

using NaiveWork = std::vector<std::pair<double, double>>;  // (vision, language) of each pack

// Returns the least sum of both DistRatios of one step over all ways to give each rank the same
// number of packs.
double BestStep(const NaiveWork& packs, size_t ranks);

// Returns the least mean over the steps, one pack per rank, of the sum of both DistRatios, over all
// ways to make steps of `ranks` packs.
double BestSteps(const NaiveWork& packs, size_t ranks);

}  // namespace evenkeel::planner::reference

#endif  // EVENKEEL_TESTS_REFERENCE_BEST_DEAL_H_
