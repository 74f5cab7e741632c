// Tests the power limit of a pool: its range, the types that have one, and what answers repeat.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "planner/job.h"
#include "server/convert/job/from_proto.h"
#include "tests/server/convert/requests.h"

namespace evenkeel::server {
namespace {

v1::PlanJobRequest PoolRequest(const std::string& pool) {
  return Parse(R"(job {
      model { name: "llama3.1-8b" }
      dataset { histogram { llm_tokens: 4096 sample_count: 9000 } }
      cluster { pools { gpu_count: 32 )" +
               pool + " } } }");
}

std::string PoolViolations(const std::string& pool) {
  planner::Job job;
  std::string lines;
  for (const Violation& v : JobFromProto(PoolRequest(pool), &job))
    lines += v.field + ": " + v.description + "\n";
  return lines;
}

TEST(PowerLimitTest, IsOfTheCataloguesType) {
  const std::string h100 = R"(gpu_type: "h100" )";
  EXPECT_EQ(JobOf(PoolRequest(h100)).cluster.gpu.power_limit_watts, 0);
  const planner::Job limited = JobOf(PoolRequest(h100 + "power_limit_watts: 500"));
  EXPECT_EQ(limited.cluster.gpu.power_limit_watts, 500);
  EXPECT_TRUE(std::any_of(limited.figures.begin(), limited.figures.end(), [](const auto& figure) {
    return figure.figure == "cluster.power_limit" && figure.detail.starts_with("500 of 700 W");
  }));
  EXPECT_EQ(PoolViolations(h100 + "power_limit_watts: 701"),
            "job.cluster.pools[0].power_limit_watts: must be 280 to 700, but is 701\n");
  EXPECT_NE(PoolViolations(h100 + "power_limit_watts: -1").find("must be 280 to 700"),
            std::string::npos);
  EXPECT_NE(PoolViolations(h100 + "power_limit_watts: nan").find("power_limit_watts"),
            std::string::npos);
}

TEST(PowerLimitTest, NeedsAKnownPower) {
  EXPECT_NE(PoolViolations(R"(gpu { name: "mine" dense_16bit_flops_per_second: 1e15
                              memory_bytes: 85899345920 memory_bytes_per_second: 3e12 }
                            power_limit_watts: 500)")
                .find("its rates are those under the limit"),
            std::string::npos);
}

}  // namespace
}  // namespace evenkeel::server
