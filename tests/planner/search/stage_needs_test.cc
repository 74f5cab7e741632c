#include "planner/search/stage_needs.h"
#include "planner/search/even_cuts.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

TEST(StageNeedsTest, AllocatedIsWhatTheWholeAnswerSays) {
  Job job = QuickstartJob();
  for (const RecomputePolicy policy :
       {RecomputePolicy::kAuto, RecomputePolicy::kForbidden, RecomputePolicy::kFull}) {
    job.constraints.recompute = policy;
    for (const Shard& shard : ShardsBySize(job, MakeBatching(job), {})) {
      const StageNeeds needs(job, shard);
      std::vector<int64_t> cut = EvenLayerCut(shard.profile, shard.parallelism);
      for (const int64_t moved : {0, 1, -1}) {
        if (cut.size() > 2) cut[1] += moved;
        for (int64_t s = 0; s < shard.shape.stages; ++s) {
          const int64_t allocated = needs.Of(cut, s).allocated;
          ASSERT_EQ(needs.Allocated(cut, s), allocated) << "stage " << s;
          ASSERT_TRUE(needs.Fits(cut, s, allocated)) << "stage " << s;
          ASSERT_FALSE(needs.Fits(cut, s, allocated - 1)) << "stage " << s;
        }
      }
    }
  }
}

}  // namespace
}  // namespace evenkeel::planner
