// Micro-batches of a fixed number of samples that are padded to one length, as most data loaders
// for fine-tuning make them: their distribution, and how unequal the ranks of a step come out.
#ifndef EVENKEEL_PLANNER_PACKING_PADDED_BATCHES_H_
#define EVENKEEL_PLANNER_PACKING_PADDED_BATCHES_H_

#include <cstdint>
#include <vector>

#include "planner/base/stop.h"
#include "planner/cost/pack_cost.h"
#include "planner/job.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

// A length to which micro-batches are padded, and the share of micro-batches that have it.
struct RowLength {
  int64_t tokens = 0;
  double share = 0;
};

// Returns the lengths of rows, ascending, if the samples of each micro-batch are drawn at random
// without putting any back. If x samples of M have at most t tokens, a micro-batch of N samples has
// none longer with probability x/M (x-1)/(M-1) ... (x-N+1)/(M-N+1).
// If micro-batches are `sorted` together, see ShareWithout.
std::vector<RowLength> RowLengthsOf(const Dataset& dataset, const Training& training,
                                    int64_t sorted = 0);

// Figures of padded micro-batches other than their shapes.
struct PaddedRows {
  double mean_tokens = 0;      // expected length of a row: a padded sample
  int64_t longest_tokens = 0;  // of all rows
  PackShape real;              // the mean micro-batch without padding
  int64_t sorted = 0;          // SortedTogether
};

// The micro-batches of a job that pads them. The means are those of the distribution. The largest
// micro-batch has the longest row N times, and the units of the N samples that have most, since any
// micro-batch may.
struct PaddedMicroBatches {
  PaddedRows rows;
  PackShape mean, largest;
  int64_t unit_cap = 0;         // scaled units of the largest
  std::vector<PackSums> packs;  // equally likely
  // Samples that `packs` are drawn from. 0 for data without units, whose `packs` follow from
  // RowLengthsOf.
  int64_t sampled = 0;
};
PaddedMicroBatches PadMicroBatches(const Job& job, int64_t sampled_at_most, const Stop& stop = {});

// Returns whole steps of `data` ranks x `micro_batches`, drawn at random from equally likely
// `packs`. The steps are a Latin hypercube by time: those at one place of all steps come from equal
// parts of the distribution, and each from a cell of its part that no other place takes. So their
// mean is that of the distribution, while the micro-batches of one step are all but independent. If
// there are too many in a step, returns the packs in random order. If micro-batches are `sorted`
// together, the ranks of a step take neighbours (SortedPlaces).
std::vector<PackSums> PaddedSteps(const std::vector<PackSums>& packs, const PackTimes& times,
                                  uint64_t seed, int64_t data, int64_t micro_batches,
                                  int64_t sorted, const Stop& stop = {});

// A value and its probability.
struct Outcome {
  double value = 0;
  double probability = 0;
};

// Bounds on the expected largest of `ranks` sums of `terms` independent values each.
struct LargestSum {
  double low = 0, high = 0;
};
// Values at least 0, not all of them 0. Both bounds come from sums on a grid. Values moved down to
// its points give the lower one. Values split between both neighbours so that their mean stays are
// a mean-preserving spread, and the largest is convex in each, so they give the upper one.
LargestSum ExpectedLargestSum(const std::vector<Outcome>& outcomes, int64_t terms, int64_t ranks);

// Returns the expected time of the rank with most work in a step, over that of a mean rank, by
// these times. For data without units it follows from RowLengthsOf, else from `packs`.
double SlowestRankRatio(const Job& job, const std::vector<PackSums>& packs, const PackTimes& times,
                        int64_t data, int64_t micro_batches);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_PADDED_BATCHES_H_
