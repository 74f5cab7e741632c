#include "planner/search/choose_caps.h"

#include <gtest/gtest.h>

#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

double SamplesOfAStep(Job job, int64_t asked) {
  job.training.global_batch_samples = asked;
  const CapsSearch search = ChooseCaps(job, 0, {});
  EXPECT_FALSE(search.found.best.empty());
  if (search.found.best.empty()) return 0;
  const Candidate& best = search.found.best.front();
  return static_cast<double>(best.micro_batches * best.parallelism.data) *
         search.batching.rule.samples_per_pack;
}

TEST(ChooseCapsTest, KeepsTheBatchThatIsAskedFor) {
  // Longer packs would be quicker for each sample, but a step would have others.
  const Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  for (const int64_t asked : {1, 4, 64, 512})
    EXPECT_NEAR(SamplesOfAStep(job, asked) / static_cast<double>(asked), 1, 0.05) << asked;
}

}  // namespace
}  // namespace evenkeel::planner
