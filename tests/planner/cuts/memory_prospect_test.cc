#include "planner/cuts/memory_prospect.h"

#include <gtest/gtest.h>

#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

// A profile of each degree takes a millisecond or more, and there may be hundreds.
TEST(MemoryProspectsTest, AsksBeforeEachProfile) {
  const Job job = VisionJob("internvit-300m-448px", "llama3-8b", "h100-sxm-80gb", 32);
  const Batching batching = MakeBatching(job);
  size_t asked = 0;
  const std::vector<MemoryProspect> all = ProspectsByMemory(job, batching, [&] {
    ++asked;
    return false;
  });
  EXPECT_GT(all.size(), 3u);
  EXPECT_EQ(asked, all.size());
  asked = 0;
  EXPECT_TRUE(ProspectsByMemory(job, batching, [&] { return ++asked == 3; }).empty());
  EXPECT_EQ(asked, 3u);
}

}  // namespace
}  // namespace evenkeel::planner
