// A synthetic mix of text lengths after the published description of HBP's data (arXiv 2503.07680:
// Tulu 3, chat up to 32K tokens, with about 2,000 samples of LongCite up to 128K), which is not
// public as lengths. Parameters that the description leaves open were set from two published
// figures, before anything was planned or packed on the mix:
//   - table 3, one sample per rank in random order: mean length .8K without the long samples, .9K
//     with them;
//   - table 6: a share of .173 of the work needs sequence parallelism at a short group of 16K.
// Nothing else was looked at, so the results of packers and plans on the mix are predictions.
#ifndef EVENKEEL_TESTS_PLANNER_LONG_MIX_H_
#define EVENKEEL_TESTS_PLANNER_LONG_MIX_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "planner/job.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

struct LongMixParameters {
  size_t short_samples = 939'343;  // samples of Tulu 3's mixture
  double short_median = 437;       // log-normal; mean 800 tokens with this sigma
  double short_sigma = 1.1;
  int32_t short_most = 32 * 1024;  // longer draws are repeated
  size_t long_samples = 2'000;
  int32_t long_least = 16 * 1024;  // uniform between these two
  int32_t long_most = 128 * 1024;
  // Draws uniformly in the logarithm instead. The mean is then 54K tokens instead of 72K. Shows how
  // much a figure depends on the distribution.
  bool log_uniform = false;
  uint64_t seed = 1;
};

struct LongMix {
  std::vector<int32_t> units, tokens;  // per sample, in random order; no units
  Lengths lengths() const { return {units, tokens}; }
};

LongMix MakeLongMix(const LongMixParameters& parameters = {});

// Makes a dataset with one bin per length.
Dataset LongMixDataset(const LongMix& mix);

// Returns the share of the tokens that are in samples of more than `length` tokens.
double TokenShareAbove(const LongMix& mix, int64_t length);

// Makes HBP's experiments as far as they are published: DeepSpeed around Hugging Face modules with
// Ulysses on 32 H100 at 50 GB/s between nodes. Two things are not published. The ZeRO stage is set
// to 1 with fp32 gradients if that fits (as table 4 requires), otherwise to 3 with 16-bit
// gradients. The global batch, in packs of 16K tokens per GPU, is the one of 1, 2, 4 and 8 that
// comes nearest to the attention balance of packs in random order (table 6: .506 with one group,
// .288 with two; on this mix .538 and .619 with 1, .492 and .360 with 4, .397 and .205 with 8).
// Times were not looked at.
Job HbpJob(std::string_view language_model, ZeroStage stage, const LongMix& mix,
           int64_t packs_per_gpu = 4);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_TESTS_PLANNER_LONG_MIX_H_
