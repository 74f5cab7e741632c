// Iterative sampling and filtering: OmniBal's packer (arXiv 2407.20761, section 4.1;
// docs/ALGORITHMS.md).
#ifndef EVENKEEL_PLANNER_PACKING_ISF_H_
#define EVENKEEL_PLANNER_PACKING_ISF_H_

#include <cstdint>
#include <vector>

#include "planner/packing/sample.h"

namespace evenkeel::planner {

struct IsfRule {
  int64_t unit_cap = 0;   // Qv
  int64_t token_cap = 0;  // Qt
  int64_t keep_units =
      0;  // Qv': keep a pack with at least so many units (0: never for its units) ...
  int64_t keep_tokens = 0;  // Qt': ... or at least so many tokens
  int64_t iterations = 10;  // T
  uint64_t seed = 0;
};

// Packs of indices into `samples`. Every sample is in exactly one pack: unlike the released code, a
// sample that alone breaks a cap is not dropped but gets a pack of its own. Order of packs: as they
// were closed. Cost O(T (N + M)) for N samples and M packs.
std::vector<std::vector<int32_t>> PackByIsf(const std::vector<SampleLength>& samples,
                                            const IsfRule& rule);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_ISF_H_
