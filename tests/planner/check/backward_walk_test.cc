#include "planner/check/backward_walk.h"

#include <gtest/gtest.h>

#include "planner/cost/made_gradients.h"
#include "planner/cost/memory.h"
#include "planner/recompute/stage_memory.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

// A token embedding, two dense layers and a head. The first dense layer recomputes.
LayerProfile FourLayers(int64_t logits) {
  LayerProfile profile{.buffer_bytes = 2};
  LayerCost embedding{.kind = LayerKind::kTokenEmbedding};
  embedding.gradient_bytes = 10;
  embedding.modes = {{.kept_bytes = 1, .workspace_bytes = 3}};
  LayerCost dense{.kind = LayerKind::kDense};
  dense.gradient_bytes = 4;
  dense.modes = {{.kept_bytes = 6, .workspace_bytes = 2},
                 {.parts = kWholeLayer, .kept_bytes = 1, .workspace_bytes = 7}};
  LayerCost head{.kind = LayerKind::kHead};
  head.gradient_bytes = 10;
  head.modes = {{.kept_bytes = 2, .workspace_bytes = logits}};
  profile.classes = {embedding, dense, head};
  profile.chain = {0, 1, 1, 2};
  return profile;
}

std::vector<WalkedLayer> Walked(const LayerProfile& profile) {
  std::vector<WalkedLayer> layers;
  for (int64_t i = 0; i < profile.size(); ++i)
    layers.push_back({&profile.at(i), &profile.at(i).modes.front()});
  layers[1].mode = &profile.at(1).modes.back();
  return layers;
}

Job Frees(bool frees) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 1);
  job.training.execution.frees_gradients = frees;
  return job;
}

TEST(BackwardWalkTest, IsWorkedOutByHand) {
  // At the loss: kept 1 + 1 + 6 + 2, and logits. At the end: 28 of gradients, 1 of the embedding,
  // and the first layer with 8 - 4.
  const LayerProfile large = FourLayers(30), small = FourLayers(5);
  const WalkedBytes loss = BackwardWalk(Frees(true), large, {}, 1).Bytes(Walked(large), 10);
  EXPECT_EQ(loss.gradients, 0);
  EXPECT_EQ(loss.transient, 30);
  EXPECT_EQ(loss.most, 40);
  // In addition to the head's gradient, 10, the first layer needs 7.
  const WalkedBytes end = BackwardWalk(Frees(true), small, {}, 1).Bytes(Walked(small), 10);
  EXPECT_EQ(end.transient, 17);
  EXPECT_EQ(end.gradients, 33 - 10 - 17);
  EXPECT_EQ(end.most, 28);
  // On the last of several stages, the head's count all the time.
  const WalkedBytes last =
      BackwardWalk(Frees(true), small, {.pipeline = 2}, 1).Bytes(Walked(small), 10);
  EXPECT_EQ(last.held, 10);
  EXPECT_EQ(last.transient, 7);
  EXPECT_EQ(last.gradients, 10 + 18 + 1 + 4 - 10 - 7);
}

TEST(BackwardWalkTest, IsWhatTheModelAllocates) {
  for (const int64_t logits : {5, 30}) {
    for (const int64_t stages : {1, 2}) {
      const LayerProfile held = FourLayers(logits);
      LayerProfile made = held;
      SetGradients(Frees(true), {.pipeline = stages}, 1, true, &made);
      ClassCounts counts{1, 2, 1};
      ModeCounts recomputed{};
      recomputed[1][1] = 1;
      const StageBytes memory = MemoryOf(made, counts, recomputed, 1);
      const WalkedBytes walked =
          BackwardWalk(Frees(true), held, {.pipeline = stages}, 1).Bytes(Walked(held), 10);
      EXPECT_EQ(memory.activation_bytes, 10);
      EXPECT_EQ(memory.workspace_bytes, walked.transient);
      EXPECT_EQ(memory.static_bytes + memory.end_bytes, walked.gradients);
      EXPECT_GE(memory.allocated(), walked.held + walked.most);
    }
  }
}

// FourLayers after an encoder's layer and its projector. The third of them has experts.
LayerProfile UnequalLayers(int64_t logits) {
  LayerProfile profile = FourLayers(logits);
  LayerCost moe{.kind = LayerKind::kMoe};
  moe.gradient_bytes = 9;
  moe.modes = {{.kept_bytes = 4, .workspace_bytes = 1}};
  LayerCost encoder{.kind = LayerKind::kEncoder};
  encoder.gradient_bytes = 3;
  encoder.modes = {{.kept_bytes = 5, .workspace_bytes = 3}};
  LayerCost projector{.kind = LayerKind::kProjector};
  projector.gradient_bytes = 2;
  projector.modes = {{.kept_bytes = 1, .workspace_bytes = 2}};
  profile.classes.insert(profile.classes.end(), {moe, encoder, projector});
  profile.chain = {4, 5, 0, 1, 3, 2};
  return profile;
}

TEST(BackwardWalkTest, UnequalLayersAreWorkedOutByHand) {
  const LayerProfile large = UnequalLayers(60), small = UnequalLayers(5);
  std::vector<WalkedLayer> layers = Walked(large);
  layers[1].mode = &large.at(1).modes.front();
  // Kept: 5 + 1 + 1 + 6 + 4 + 2. Experts hold 5 more of gradients than they keep.
  const WalkedBytes loss = BackwardWalk(Frees(true), large, {}, 1).Bytes(layers, 19);
  EXPECT_EQ(loss.gradients, 5);
  EXPECT_EQ(loss.transient, 60);
  EXPECT_EQ(loss.most, 79);
  // In addition to the encoder's workspace of 3: 10 of the head, 9 of the embedding, 1 of the
  // projector.
  layers = Walked(small);
  layers[1].mode = &small.at(1).modes.front();
  const WalkedBytes end = BackwardWalk(Frees(true), small, {}, 1).Bytes(layers, 19);
  EXPECT_EQ(end.transient, 23);
  // The encoder runs backward with 5 kept, and all gradients but its own.
  EXPECT_EQ(end.most, 5 + 2 + 10 + 4 + 9 + 10 + 3);
  EXPECT_EQ(end.gradients, 5);
}

TEST(BackwardWalkTest, UnequalLayersAreWhatTheModelAllocates) {
  for (const int64_t logits : {5, 60}) {
    for (const int64_t stages : {1, 2}) {
      const LayerProfile held = UnequalLayers(logits);
      LayerProfile made = held;
      SetGradients(Frees(true), {.pipeline = stages}, 1, true, &made);
      const StageBytes memory = MemoryOf(made, ClassCounts{1, 1, 1, 1, 1, 1}, {}, 1);
      std::vector<WalkedLayer> layers = Walked(held);
      layers[1].mode = &held.at(1).modes.front();
      const WalkedBytes walked =
          BackwardWalk(Frees(true), held, {.pipeline = stages}, 1).Bytes(layers, 19);
      EXPECT_EQ(memory.activation_bytes - memory.gradient_excess_bytes, 19);
      EXPECT_EQ(memory.workspace_bytes, walked.transient);
      EXPECT_EQ(memory.static_bytes + memory.gradient_excess_bytes + memory.end_bytes,
                walked.gradients);
      EXPECT_GE(memory.allocated(), walked.held + walked.most);
    }
  }
}

TEST(BackwardWalkTest, WorkspacesAreCappedAsInTheModel) {
  LayerProfile held = FourLayers(5);
  for (RecomputeMode& mode : held.classes[1].modes) mode.workspace_bytes = kWorkspaceBytesAtMost;
  LayerProfile made = held;
  SetGradients(Frees(true), {}, 1, true, &made);
  EXPECT_EQ(made.classes[1].modes.back().workspace_bytes, kWorkspaceBytesAtMost);
  EXPECT_EQ(BackwardWalk(Frees(true), held, {}, 1).Bytes(Walked(held), 10).transient,
            kWorkspaceBytesAtMost);
}

TEST(BackwardWalkTest, OthersHoldGradientsAllTheTime) {
  const LayerProfile profile = FourLayers(5);
  for (const WalkedBytes& bytes :
       {BackwardWalk(Frees(true), profile, {}, 2).Bytes(Walked(profile), 10),
        BackwardWalk(Frees(false), profile, {}, 1).Bytes(Walked(profile), 10),
        BackwardWalk(Frees(true), profile, {.virtual_stages = 2}, 1).Bytes(Walked(profile), 10)}) {
    EXPECT_EQ(bytes.gradients, 28);
    EXPECT_EQ(bytes.held, 28);
    EXPECT_EQ(bytes.transient, 7);
  }
}

}  // namespace
}  // namespace evenkeel::planner
