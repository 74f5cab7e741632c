#include "planner/trainer/trainers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

namespace evenkeel::planner {
namespace {

bool IsName(std::string_view name) {
  for (const char c : name) {
    if (!std::islower(static_cast<unsigned char>(c)) && c != '-') return false;
  }
  return !name.empty();
}

TEST(TrainersTest, NamesAreDistinctAndFoundAgain) {
  std::set<std::string_view> names;
  for (const Trainer& trainer : Trainers()) {
    EXPECT_TRUE(IsName(trainer.name)) << trainer.name;
    EXPECT_TRUE(names.insert(trainer.name).second) << trainer.name;
    EXPECT_EQ(FindTrainer(trainer.name), &trainer);
    EXPECT_FALSE(trainer.title.empty() || trainer.source.empty()) << trainer.name;
    if (trainer.alias.empty()) continue;
    EXPECT_TRUE(names.insert(trainer.alias).second) << trainer.alias;
    EXPECT_EQ(FindTrainer(trainer.alias), &trainer);
  }
  EXPECT_EQ(FindTrainer(""), nullptr);
  EXPECT_EQ(FindTrainer("megatron"), nullptr);
}

TEST(TrainersTest, AFrameworkIsShortForOneTrainer) {
  EXPECT_EQ(TrainerOf(Framework::kMegatron).name, "megatron-core");
  EXPECT_EQ(TrainerOf(Framework::kFsdp).name, "fsdp");
  EXPECT_EQ(TrainerOf(Framework::kDeepSpeed).name, "deepspeed");
  EXPECT_EQ(GenericTrainer().name, "generic");
}

// The slowest and the quickest of the fitted rates bound the rate of an unknown trainer.
TEST(TrainersTest, TheGenericOneLiesBetweenTheOthers) {
  double least = 1, most = 0;
  for (const Trainer& trainer : Trainers()) {
    if (trainer.fitted_runs == 0) continue;
    least = std::min(least, trainer.default_execution.kernel_rate);
    most = std::max(most, trainer.default_execution.kernel_rate);
  }
  EXPECT_GT(GenericTrainer().default_execution.kernel_rate, least);
  EXPECT_LT(GenericTrainer().default_execution.kernel_rate, most);
}

// The contract's comment names every trainer, so that users need not read this code.
TEST(TrainersTest, TheContractNamesEachOfThem) {
  std::ifstream in(EVENKEEL_SOURCE_DIR "/proto/evenkeel/v1/trainer.proto");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  for (const Trainer& trainer : Trainers()) {
    for (const std::string_view name : {trainer.name, trainer.alias}) {
      EXPECT_TRUE(name.empty() || text.find("\"" + std::string(name) + "\"") != std::string::npos)
          << name;
    }
  }
}

}  // namespace
}  // namespace evenkeel::planner
