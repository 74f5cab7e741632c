// Padded micro-batches of samples of similar length, as group_by_length of Hugging Face's Trainer
// makes them (get_length_grouped_indices of trainer_pt_utils.py): the samples of some micro-batches
// are drawn at random, sorted with the longest first, and cut in this order.
#ifndef EVENKEEL_PLANNER_PACKING_SORTED_BATCHES_H_
#define EVENKEEL_PLANNER_PACKING_SORTED_BATCHES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "planner/job.h"

namespace evenkeel::planner {

// Returns how many micro-batches are sorted together: 50 times as many as a rank accumulates, or as
// many as a quarter of the dataset has; 0 if the job sorts none. All GPUs are taken to be
// data-parallel ranks; with fewer ranks, each accumulates more micro-batches, and less is padded.
int64_t SortedTogether(const Job& job);

// Returns the share of micro-batches of `size` samples, `sorted` of which are sorted together,
// without any of the `longer` samples of `all`. The number X of longer samples among those that are
// sorted together is hypergeometric, and the first micro-batches, as many as X fills, have one:
// 1 - E[ceil(X / size)] / sorted.
double ShareWithout(int64_t longer, int64_t all, int64_t size, int64_t sorted);

// Returns places in 0 to 1, from the longest micro-batch to the shortest, of `steps` steps of
// `data` ranks x `micro_batches`, rank by rank. The ranks of a step take neighbours in turn. Where
// they begin is spread evenly over all that are sorted together, so that every rank sees the whole
// distribution.
std::vector<double> SortedPlaces(int64_t sorted, int64_t steps, int64_t data,
                                 int64_t micro_batches);

// Returns the work of the ranks with most of it in whole steps, over that of mean ranks, if ranks
// run micro-batches at such places. `ascending` is the work of equally likely micro-batches, at
// least one. Steps of up to 2^20 micro-batches, 2^14 for each rank, are exact. For longer ones, at
// most 2^14 of a rank's are taken, and then as many ranks, evenly spaced, as give 2^20. A rank's
// places are so even (van der Corput's sequence) that its mean is within (log2 m + 2) / m of the
// largest work from that of all, m being the micro-batches taken: at 2^14, 0.1%.
double SlowestOfSorted(const std::vector<double>& ascending, int64_t sorted, int64_t data,
                       int64_t micro_batches);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_SORTED_BATCHES_H_
