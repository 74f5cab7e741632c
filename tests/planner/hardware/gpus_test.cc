#include "planner/hardware/gpus.h"

#include <gtest/gtest.h>

#include <string>

#include "planner/cost/cost_constants.h"

namespace evenkeel::planner {
namespace {

GpuSpec Described(const char* figures_of) {
  GpuSpec gpu = FindGpu(figures_of)->spec;
  gpu.name = "mine";
  gpu.costs = {};
  return gpu;
}

TEST(CostsLikeTest, MeasuredTypesAreNearestToThemselves) {
  for (const char* type : {"a100-sxm-80gb", "h100-sxm-80gb", "h200-sxm-141gb", "b200-sxm-180gb",
                           "gb200-186gb", "l40s-48gb"}) {
    const GpuCosts& own = FindGpu(type)->spec.costs;
    const GpuCosts costs = CostsLike(Described(type), nullptr);
    EXPECT_EQ(costs.like, type);
    EXPECT_EQ(costs.basis, Basis::kAssumed);
    EXPECT_EQ(costs.collectives, own.collectives) << type;
    EXPECT_EQ(costs.matrix.efficiency, own.matrix.efficiency) << type;
    EXPECT_EQ(costs.workspace_bytes, own.workspace_bytes) << type;
    EXPECT_NE(costs.source.find(type), std::string::npos) << costs.source;
  }
}

TEST(CostsLikeTest, NameHasNoInfluence) {
  GpuSpec gpu = Described("l40s-48gb");
  gpu.name = "h100-like";
  EXPECT_EQ(CostsLike(gpu, nullptr).like, "l40s-48gb");
}

TEST(CostsLikeTest, TypeThatIsAskedForDecides) {
  const GpuEntry* v100 = FindGpu("v100-sxm2-32gb");
  const GpuCosts costs = CostsLike(Described("h100-sxm-80gb"), v100);
  EXPECT_EQ(costs.like, "v100-sxm2-32gb");
  EXPECT_EQ(costs.processors, 80);
  EXPECT_EQ(costs.generation, GpuGeneration::kOther);
  EXPECT_NE(costs.source.find("as asked for"), std::string::npos) << costs.source;
}

TEST(CostsLikeTest, LinksDecideOnCollectives) {
  GpuSpec gpu = Described("h100-sxm-80gb");
  gpu.scaleup_bytes_per_second = 0;
  EXPECT_EQ(CostsLike(gpu, nullptr).collectives, &PcieCollectives());
  gpu = Described("l40s-48gb");  // this type has no link
  gpu.scaleup_bytes_per_second = 500e9;
  EXPECT_EQ(CostsLike(gpu, nullptr).collectives, &H100Collectives());
}

TEST(GpusTest, AllHaveAPower) {
  for (const GpuEntry& entry : Gpus()) {
    EXPECT_GT(entry.spec.power_watts, 0) << entry.spec.name;
    EXPECT_NE(entry.spec.full_power_watts, entry.spec.power_watts) << entry.spec.name;
  }
}

TEST(SustainedClockTest, FallsWithTheCubeRootOfThePower) {
  GpuSpec gpu = FindGpu("h100-sxm-80gb")->spec;
  const auto clock = [&] { return SustainedClock(gpu, NumberFormat::k16Bit, {}); };
  const double full = clock();
  gpu.power_limit_watts = 700;
  EXPECT_EQ(clock(), full);
  gpu.power_limit_watts = 700.0 / 8;
  EXPECT_NEAR(clock(), full / 2, 1e-12);
  gpu.power_limit_watts = 500;
  EXPECT_NEAR(clock() / full, 0.8939, 1e-4);
  // A type whose boards are limited by default.
  EXPECT_EQ(SustainedClock(FindGpu("h100-sxm-96gb-hbm2e")->spec, NumberFormat::k16Bit, {}),
            clock());
}

// B200's boards have 1,000 W, GB300's 1,400.
TEST(SustainedClockTest, RisesWithThePowerOnlyIn16Bits) {
  const CostConstants constants;
  GpuSpec gpu = FindGpu("gb300-288gb")->spec;
  const auto clock = [&](NumberFormat products) {
    return SustainedClock(gpu, products, constants);
  };
  EXPECT_NEAR(clock(NumberFormat::k16Bit) / constants.blackwell_clock, 1.1187, 1e-4);
  EXPECT_EQ(clock(NumberFormat::kFp8), constants.blackwell_low_clock);
  gpu.power_limit_watts = 1000;
  EXPECT_EQ(clock(NumberFormat::k16Bit), constants.blackwell_clock);
  EXPECT_NEAR(clock(NumberFormat::kFp8) / constants.blackwell_low_clock, 0.8939, 1e-4);
  gpu.power_limit_watts = 0, gpu.power_watts = 8000;
  EXPECT_EQ(clock(NumberFormat::k16Bit), 1);
}

// Exactly the cards without a link among all GPUs of a node exchange through the host.
TEST(GpusTest, CollectivesFitTheLink) {
  for (const GpuEntry& entry : Gpus()) {
    const bool linked = entry.spec.scaleup_bytes_per_second > 0 && !entry.spec.scaleup_pairs_only;
    const CollectiveTable* const table = entry.spec.costs.collectives;
    EXPECT_EQ(table == &L40sCollectives() || table == &PcieCollectives(), !linked)
        << entry.spec.name;
  }
}

// github.com/NVIDIA/nccl/issues/1639: all-reduces of 8 GiB among RTX 5090s on PCIe Gen5.
TEST(GpusTest, CollectivesOverPcieHaveThePublishedRates) {
  const double bytes = 8e9;
  const auto rate = [&](double ranks, double link) {  // on each link, bytes per nanosecond
    return 2 * (ranks - 1) / ranks * bytes /
           PcieCollectives().Time(Collective::kAllReduce, static_cast<int64_t>(ranks), bytes, link);
  };
  EXPECT_NEAR(rate(4, 63e9), 35, 0.5);
  EXPECT_NEAR(rate(8, 63e9), 28, 0.5);
  EXPECT_NEAR(rate(8, 31.5e9), 14, 0.3);
}

}  // namespace
}  // namespace evenkeel::planner
