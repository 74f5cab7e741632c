// Tests which of Liger's kernels axolotl's configurations turn on.
#include <gtest/gtest.h>

#include <string>

#include "client/cli/from/run/run_of.h"
#include "client/cli/from/run/user_run.h"
#include "tests/client/trainer_folder.h"

namespace evenkeel::cli {
namespace {

v1::Execution ExecutionWith(const std::string& more) {
  JobFlags flags;
  flags.model = "llama3-8b";
  flags.gpu = "h100-sxm-80gb";
  flags.gpus = {8};
  const TrainerFolder folder;
  return RunOf(folder.Read("train.yaml",
                           "base_model: NousResearch/Meta-Llama-3-8B\nmicro_batch_size: 2\n"
                           "datasets:\n  - path: tatsu-lab/alpaca\n    type: alpaca\n" +
                               more),
               flags)
      .job.training()
      .execution();
}

TEST(AxolotlKernelsTest, TheLossFusesNoOtherKernel) {
  const v1::Execution e = ExecutionWith("liger_fused_linear_cross_entropy: true\n");
  EXPECT_FALSE(e.fused_activation() || e.fused_rotary() || e.rms_norm_bytes() > 0);
  EXPECT_GT(e.loss_logit_bytes(), 0);
}

TEST(AxolotlKernelsTest, EachKernelIsNamed) {
  const v1::Execution e = ExecutionWith("liger_glu_activation: true\nliger_rms_norm: true\n");
  EXPECT_TRUE(e.fused_activation());
  EXPECT_FALSE(e.fused_rotary());
  EXPECT_EQ(e.rms_norm_bytes(), 2);
  EXPECT_TRUE(ExecutionWith("liger_rope: true\n").fused_rotary());
}

}  // namespace
}  // namespace evenkeel::cli
