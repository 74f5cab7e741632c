#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/cli/base/command_error.h"
#include "client/cli/job/job_flags.h"
#include "tests/client/job/parse.h"

namespace evenkeel::cli {
namespace {

v1::Offload OffloadOf(const std::vector<std::string>& more) {
  return Parse(Three(more)).job().training().offload();
}

TEST(OffloadFlagsTest, Offload) {
  const v1::Job chosen = Parse(Three({"--offload-optimizer", "auto"})).job();
  EXPECT_TRUE(chosen.training().has_offload());
  EXPECT_FALSE(chosen.training().offload().has_optimizer_ratio());
  const v1::Job given = Parse(Three({"--offload-optimizer", "0.25", "--host-memory-gib", "1024",
                                     "--host-link-gbytes", "20", "--host-memory-gbytes", "300"}))
                            .job();
  EXPECT_EQ(given.training().offload().optimizer_ratio(), 0.25);
  EXPECT_EQ(given.cluster().pools(0).host_memory_bytes(), int64_t{1} << 40);
  EXPECT_EQ(given.cluster().pools(0).host_link_bytes_per_second(), 20e9);
  EXPECT_EQ(given.cluster().pools(0).host_memory_bytes_per_second(), 300e9);
  for (const char* share : {"1.5", "-0.1", "some", "0.5x", "nan"})
    EXPECT_ANY_THROW(Parse(Three({"--offload-optimizer", share}))) << share;
}

TEST(OffloadFlagsTest, FusedStep) {
  EXPECT_TRUE(Parse(Three({"--fused-step", "on"})).job().training().fused_step());
  EXPECT_FALSE(Parse(Three({"--fused-step", "off"})).job().training().fused_step());
  EXPECT_ANY_THROW(Parse(Three({"--fused-step", "yes"})));
}

TEST(OffloadFlagsTest, OffloadOfWeights) {
  EXPECT_TRUE(Parse(Three({"--offload-weights"})).job().training().offload().weights());
  EXPECT_FALSE(Parse(Three({})).job().training().has_offload());
  EXPECT_ANY_THROW(Parse(Three({"--offload-weights", "--offload-optimizer", "auto"})));
}

TEST(OffloadFlagsTest, OffloadOfActivations) {
  const v1::Offload chosen = OffloadOf({"--offload-activations", "auto"});
  EXPECT_TRUE(chosen.choose_activation_layers());
  EXPECT_FALSE(chosen.has_activation_layers());
  const v1::Offload given =
      OffloadOf({"--offload-activations", "12", "--offload-optimizer", "0.5"});
  EXPECT_EQ(given.activation_layers(), 12);
  EXPECT_EQ(given.optimizer_ratio(), 0.5);
  for (const char* layers : {"-1", "some", "1.5", "2000"})
    EXPECT_ANY_THROW(Parse(Three({"--offload-activations", layers}))) << layers;
  const v1::Offload both = OffloadOf({"--offload-activations", "4", "--offload-optimizer", "auto"});
  EXPECT_TRUE(both.choose_optimizer_ratio());
  EXPECT_FALSE(both.has_optimizer_ratio());
}

TEST(OffloadFlagsTest, OffloadOfModules) {
  const v1::Offload chosen = OffloadOf({"--offload-modules", "auto"});
  EXPECT_TRUE(chosen.choose_activation_modules());
  EXPECT_EQ(chosen.activation_modules_size(), 0);
  const v1::Offload given =
      OffloadOf({"--offload-modules", "core_attn,moe_act", "--offload-optimizer", "0.5"});
  ASSERT_EQ(given.activation_modules_size(), 2);
  EXPECT_EQ(given.activation_modules(0), v1::OFFLOAD_MODULE_CORE_ATTENTION);
  EXPECT_EQ(given.activation_modules(1), v1::OFFLOAD_MODULE_MOE_ACTIVATION);
  EXPECT_ANY_THROW(Parse(Three({"--offload-modules", "mlp"})));
  EXPECT_TRUE(OffloadOf({"--offload-modules", "auto", "--offload-optimizer", "auto"})
                  .choose_optimizer_ratio());
}

}  // namespace
}  // namespace evenkeel::cli
