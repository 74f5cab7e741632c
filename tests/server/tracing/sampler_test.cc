#include "server/tracing/sampler.h"

#include <gtest/gtest.h>

#include <string>

#include "server/rpc/random_id.h"

namespace evenkeel::server {
namespace {

constexpr char kSampledTrace[] = "4bf92f3577b34da6a3ce929d0e0e4736";

TEST(SamplerTest, KnowsAllNames) {
  struct Case {
    const char* name;
    bool without_parent, with_parent, with_other_parent;
  };
  for (const Case& one : {Case{"always_on", true, true, true},
                          {"always_off", false, false, false},
                          {"parentbased_always_on", true, true, false},
                          {"parentbased_always_off", false, true, false},
                          {"traceidratio", true, true, true},
                          {"parentbased_traceidratio", true, true, false}}) {
    Sampler sampler;
    ASSERT_EQ(ParseSampler(one.name, "", &sampler), "") << one.name;
    EXPECT_EQ(sampler.Samples(std::nullopt, kSampledTrace), one.without_parent) << one.name;
    EXPECT_EQ(sampler.Samples(true, kSampledTrace), one.with_parent) << one.name;
    EXPECT_EQ(sampler.Samples(false, kSampledTrace), one.with_other_parent) << one.name;
  }
}

TEST(SamplerTest, RefusesOtherNamesAndRatios) {
  Sampler sampler;
  for (const char* name : {"", "on", "parentbased_", "jaeger_remote", "parentbased_xray"}) {
    EXPECT_NE(ParseSampler(name, "", &sampler).find("OTEL_TRACES_SAMPLER "), std::string::npos);
  }
  for (const char* ratio : {"-0.1", "1.1", "nan", "x", "0.5x", " "}) {
    EXPECT_NE(ParseSampler("traceidratio", ratio, &sampler), "") << ratio;
  }
}

// The decision is a matter of the trace id's last 63 bits, as in other SDKs.
TEST(SamplerTest, ARatioIsOfTheTraceId) {
  Sampler sampler;
  ASSERT_EQ(ParseSampler("traceidratio", "0.25", &sampler), "");
  const std::string zeros(16, '0');
  EXPECT_TRUE(sampler.Samples(std::nullopt, zeros + "3fffffffffffffff"));
  EXPECT_FALSE(sampler.Samples(std::nullopt, zeros + "4000000000000000"));
  int sampled = 0;
  for (int i = 0; i < 4000; ++i) sampled += sampler.Samples(std::nullopt, RandomHexId(32)) ? 1 : 0;
  EXPECT_NEAR(sampled, 1000, 150);
  ASSERT_EQ(ParseSampler("traceidratio", "0", &sampler), "");
  EXPECT_FALSE(sampler.Samples(std::nullopt, zeros + zeros));
}

}  // namespace
}  // namespace evenkeel::server
