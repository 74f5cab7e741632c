#include "planner/workload/unit_scales.h"

#include <gtest/gtest.h>

#include "planner/workload/dataset.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

ModelSpec TwoEncoders(int64_t layers, int64_t tokens_per_unit) {
  ModelSpec model = VisionJob("internvit-300m-448px", "llama3-8b", "h100-sxm-80gb", 8).model;
  EncoderTower second = model.towers.front();
  second.encoder.layers = layers;
  second.encoder.tokens_per_unit = tokens_per_unit;
  model.towers.push_back(second);
  return model;
}

TEST(UnitScalesTest, OneEncoderCountsAsItIs) {
  ModelSpec model = TwoEncoders(24, 1025);
  model.towers.pop_back();
  EXPECT_EQ(UnitScalesOf(model), PerEncoder<int64_t>(1));
  model.towers.clear();
  EXPECT_EQ(UnitScalesOf(model), PerEncoder<int64_t>(1));
}

TEST(UnitScalesTest, AUnitCountsAsItsWork) {
  const ModelSpec equal = TwoEncoders(24, 1025);
  EXPECT_EQ(UnitScalesOf(equal)[0], 1);
  EXPECT_EQ(UnitScalesOf(equal)[1], 1);
  EXPECT_EQ(UnitScalesOf(equal)[2], 0);
  const ModelSpec longer = TwoEncoders(24, 4 * 1025);
  EXPECT_NEAR(static_cast<double>(UnitScalesOf(longer)[1]), 4, 1);
  ModelSpec lighter = TwoEncoders(1, 1);
  EXPECT_EQ(UnitScalesOf(lighter)[1], 1);
  EXPECT_GT(UnitScalesOf(lighter)[0], 9);
  EXPECT_LE(UnitScalesOf(lighter)[0], kUnitScaleAtMost);
}

// Freezing must change no pack.
TEST(UnitScalesTest, WhatTrainsDoesNotCount) {
  ModelSpec model = TwoEncoders(8, 257);
  const PerEncoder<int64_t> trained = UnitScalesOf(model);
  model.towers[1].encoder.train = model.towers[1].projector.train = TrainMode::kFrozen;
  EXPECT_EQ(UnitScalesOf(model), trained);
}

TEST(DatasetTest, ScalesTheUnitsOfEachEncoder) {
  Dataset data;
  data.bins = {{.units = 3, .llm_tokens = 10, .count = 2}};
  EXPECT_EQ(data.encoders(), 1u);
  EXPECT_EQ(data.ScaledUnits(data.bins[0]), 3);
  data.unit_scales[1] = 40;
  data.bins[0].units[1] = 2;
  EXPECT_EQ(data.encoders(), 2u);
  EXPECT_EQ(data.ScaledUnits(data.bins[0]), 83);
  EXPECT_TRUE(data.has_units());
  data.bins[0].units = 0;
  EXPECT_FALSE(data.has_units());
}

}  // namespace
}  // namespace evenkeel::planner
