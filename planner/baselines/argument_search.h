// OmniBal's argument search: finds caps under which ISF's packs hold about as many samples as a
// micro-batch did (docs/ALGORITHMS.md). A baseline; the batch rule derives its own caps.
#ifndef EVENKEEL_PLANNER_BASELINES_ARGUMENT_SEARCH_H_
#define EVENKEEL_PLANNER_BASELINES_ARGUMENT_SEARCH_H_

#include <cstdint>
#include <vector>

#include "planner/packing/isf.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

struct ArgumentRule {
  int64_t micro_batch = 4;  // the wanted AVE-BS is between this and one more
  int64_t start_tokens = 4096;
  int64_t round_tokens = 16;        // the token budget of a unit is rounded up to a multiple
  int64_t keep_slack = kKeepSlack;  // Qt' = Qt - keep_slack; Qv' = Qv
  int64_t iterations = 10;          // T
  uint64_t seed = 0;
  int64_t ranks = 8;  // data parallel, for the DistRatios: one pack per rank and step
  int64_t tries_at_most = 64;
};

struct ArgumentTry {
  Caps caps;
  double samples_per_pack = 0;  // AVE-BS
  double pad_ratio = 0;         // 0 because packs are laid end to end
  double dist_ratio_units = 0;
  double dist_ratio_tokens = 0;
  bool in_range = false;

  double score() const { return pad_ratio + dist_ratio_units + dist_ratio_tokens; }
};

struct ArgumentSearchResult {
  int64_t tokens_per_unit = 0;     // token budget
  std::vector<ArgumentTry> tries;  // in order
  size_t best = 0;                 // index into `tries`
  bool reached = false;            // the best try's AVE-BS is in range
};

// Searches from (Qv, Qt) = (start_tokens / budget, start_tokens). Qv moves by one and Qt by the
// budget: down while packs hold too many samples, else up, until AVE-BS has left the range on the
// far side or tries or caps run out. The try in range with the lowest score wins. If there is none,
// `reached` is false and the best is the try whose AVE-BS is nearest to the range; the earlier of
// equals wins. Samples that exceed a cap on their own count as packs. Without units, Qv is 0
// and Qt moves by the mean sample. Without samples there are no tries.
ArgumentSearchResult SearchArguments(const Lengths& lengths, const ArgumentRule& rule);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_BASELINES_ARGUMENT_SEARCH_H_
