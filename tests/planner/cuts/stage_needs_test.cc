#include "planner/cuts/stage_needs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "planner/cost/memory.h"
#include "planner/cuts/even_cuts.h"
#include "planner/space/offload.h"
#include "tests/planner/jobs.h"
#include "tests/planner/plans.h"

namespace evenkeel::planner {
namespace {

TEST(StageNeedsTest, AllocatedIsWhatTheWholeAnswerSays) {
  Job job = QuickstartJob();
  for (const RecomputePolicy policy :
       {RecomputePolicy::kAuto, RecomputePolicy::kForbidden, RecomputePolicy::kFull}) {
    job.constraints.recompute = policy;
    for (const MemoryProspect& prospect : ProspectsByMemory(job, MakeBatching(job), {})) {
      const StageNeeds needs(job, prospect);
      const std::vector<int64_t> even = EvenLayerCut(prospect.profile, prospect.parallelism);
      for (const int64_t moved : {0, 1, -1}) {
        std::vector<int64_t> cut = even;
        if (cut.size() > 2) cut[1] += moved;
        for (int64_t s = 0; s < prospect.shape.stages; ++s) {
          const int64_t allocated = needs.LeastHeld(cut, s).allocated;
          ASSERT_EQ(needs.Allocated(cut, s), allocated) << "stage " << s;
          ASSERT_TRUE(needs.Fits(cut, s, allocated)) << "stage " << s;
          ASSERT_FALSE(needs.Fits(cut, s, allocated - 1)) << "stage " << s;
        }
      }
    }
  }
}

// With uneven chunks, the host may have most at another moment than the GPU.
TEST(StageNeedsTest, TheHostBindsAtItsOwnPeak) {
  Job job = LongTextJob("llama3-8b", "h100-sxm-80gb", 4, 8192);
  job.model.language_model.layers = 12;
  FixDegrees(job, 1, 2, 2);
  job.constraints.virtual_stages = {1, 3};
  AskModuleOffload(kOffloadQkv, &job);
  job = WithModules(job, kOffloadQkv, kOffloadQkv, {});
  int several = 0;
  for (MemoryProspect& prospect : ProspectsByMemory(job, MakeBatching(job), {})) {
    const std::vector<int64_t> even = EvenLayerCut(prospect.profile, prospect.parallelism);
    for (const int64_t moved : {0, 1, -1}) {
      std::vector<int64_t> cut = even;
      cut[1] += moved;
      for (int64_t s = 0; s < prospect.shape.stages; ++s) {
        int64_t fixed = 0, held = 0, most = 0;
        std::vector<int64_t> of_chunk;
        for (int64_t c = 0; c < prospect.shape.chunks; ++c) {
          const size_t segment = static_cast<size_t>(prospect.shape.virtual_stage(s, c));
          of_chunk.push_back(0);
          for (int64_t i = cut[segment]; i < cut[segment + 1]; ++i) {
            fixed += prospect.profile.at(i).host_bytes;
            of_chunk.back() += prospect.profile.at(i).host_kept_bytes;
          }
        }
        for (const Pass& pass : StageOrder(prospect.shape, s)) {
          const int64_t bytes = of_chunk[static_cast<size_t>(pass.chunk)];
          held += pass.kind == PassKind::kForward ? bytes : -bytes;
          most = std::max(most, held);
        }
        ASSERT_GT(most, 0);
        several += prospect.shape.chunks > 1 ? 1 : 0;
        for (const int64_t lacking : {0, 1}) {
          prospect.profile.host_room = fixed + most - lacking;
          const StageNeeds needs(job, prospect);
          const StageHeld of = needs.LeastHeld(cut, s);
          EXPECT_EQ(of.allocated >= kNoHostRoom, lacking > 0) << "stage " << s;
          EXPECT_EQ(needs.Allocated(cut, s), of.allocated) << "stage " << s;
          EXPECT_EQ(needs.Fits(cut, s, AllocatableBytes(job)), lacking == 0) << "stage " << s;
          EXPECT_EQ(HostExcess(prospect.profile, of.loads), lacking) << "stage " << s;
        }
      }
    }
  }
  EXPECT_GT(several, 0);
}

}  // namespace
}  // namespace evenkeel::planner
