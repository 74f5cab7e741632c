#include "client/cli/job/trainer_names.h"

#include <gtest/gtest.h>

namespace evenkeel::cli {
namespace {

TEST(TrainerNamesTest, TheNearestIsFoundIfAnyIsNear) {
  EXPECT_EQ(NearestTrainer("llm-fondry"), "llm-foundry");
  EXPECT_EQ(NearestTrainer("Megatron-Cor"), "megatron-core");
  EXPECT_EQ(NearestTrainer("torchtian"), "torchtitan");
  EXPECT_EQ(NearestTrainer("zzzzzzzzzzzz"), "");
}

}  // namespace
}  // namespace evenkeel::cli
