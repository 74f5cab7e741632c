// Token embedding and head that train in full with adapters.
#include <gtest/gtest.h>

#include "planner/cost/goodput.h"
#include "planner/cost/layer_profile.h"
#include "tests/planner/jobs.h"
#include "tests/planner/plans.h"

namespace evenkeel::planner {
namespace {

Job AdapterJob(bool embedding, bool head, bool tied = false) {
  Job job = TrainedBy(TextJob("llama3-8b", "h100-sxm-80gb", 8), "huggingface-trainer");
  LanguageModel& m = job.model.language_model;
  m.tied_embeddings = tied;
  m.train = TrainMode::kLora;
  m.lora.train_embedding = embedding, m.lora.train_head = head;
  job.training.zero_stage = ZeroStage::kNone;
  return job;
}

LayerCost TableLayerOf(const Job& job, LayerKind kind, int64_t stages = 1) {
  const PackShape pack{.tokens = 4096, .squared = 4096.0 * 4096};
  const LayerProfile profile =
      BuildLayerProfile(job, Parallelism{.pipeline = stages, .data = 8 / stages}, pack, pack);
  for (const LayerCost& layer : profile.classes)
    if (layer.kind == kind) return layer;
  return {};
}

TEST(SavedTablesTest, ACopyTrainsBesideTheFrozenTable) {
  const Job adapters = AdapterJob(false, false), both = AdapterJob(true, true);
  const int64_t table = both.model.language_model.vocab * both.model.language_model.hidden;
  for (const LayerKind kind : {LayerKind::kTokenEmbedding, LayerKind::kHead}) {
    const LayerCost before = TableLayerOf(adapters, kind), after = TableLayerOf(both, kind);
    EXPECT_EQ(before.trained_parameters, 0);
    EXPECT_EQ(after.trained_parameters, table);
    EXPECT_EQ(after.weight_bytes - before.weight_bytes, 2 * table);
    const int64_t gradient = both.training.distributed_gradients_fp32 ? 4 : 2;
    EXPECT_EQ(after.gradient_bytes, gradient * table);
    EXPECT_EQ(after.optimizer_bytes, 12 * table);
  }
  // The head's weight gradient is one more product; transformer layers stay as they are.
  const LayerCost before = TableLayerOf(adapters, LayerKind::kHead),
                  after = TableLayerOf(both, LayerKind::kHead);
  EXPECT_GT(after.backward_ns, before.backward_ns);
  EXPECT_GT(after.weight_gradient_ns, 0);
  EXPECT_EQ(after.forward_ns, before.forward_ns);
  EXPECT_EQ(after.backward_flops_ratio, 2);
  EXPECT_EQ(TableLayerOf(adapters, LayerKind::kDense).trained_parameters,
            TableLayerOf(both, LayerKind::kDense).trained_parameters);
}

// The weight gradient is that of the logits, which run once more for a predicted token, but not of
// the layer that predicts it.
TEST(SavedTablesTest, PredictedTokensCountTheHeadAlone) {
  Job job = AdapterJob(false, true);
  LanguageModel& m = job.model.language_model;
  const double logits = TableLayerOf(job, LayerKind::kHead).forward_flops.per_token;
  m.predicted_tokens = 1;
  const LayerCost head = TableLayerOf(job, LayerKind::kHead);
  const PackShape pack{.tokens = 4096, .squared = 4096.0 * 4096};
  EXPECT_NEAR(head.backward_flops_ratio, 1 + 2 * logits * 4096 / head.forward_flops.at(pack), 1e-9);
  EXPECT_LT(head.backward_flops_ratio, 2);
  m.train = TrainMode::kFull;
  EXPECT_EQ(TableLayerOf(job, LayerKind::kHead).backward_flops_ratio, 2);
}

TEST(SavedTablesTest, EachAloneAndTied) {
  const Job head = AdapterJob(false, true);
  const int64_t table = head.model.language_model.vocab * head.model.language_model.hidden;
  EXPECT_EQ(TableLayerOf(head, LayerKind::kTokenEmbedding).trained_parameters, 0);
  EXPECT_EQ(TableLayerOf(head, LayerKind::kHead).trained_parameters, table);
  // One table, on one stage; a copy of it on either of two.
  for (const bool of_head : {false, true}) {
    const Job tied = AdapterJob(!of_head, of_head, /*tied=*/true);
    EXPECT_EQ(TableLayerOf(tied, LayerKind::kTokenEmbedding).trained_parameters, table);
    EXPECT_EQ(TableLayerOf(tied, LayerKind::kHead).trained_parameters, 0);
    EXPECT_GT(TableLayerOf(tied, LayerKind::kHead).weight_gradient_ns, 0);
    EXPECT_EQ(TableLayerOf(tied, LayerKind::kHead, 2).trained_parameters, table);
  }
}

// Full training of the same model costs the head the same, except for its norm and the frozen copy.
TEST(SavedTablesTest, CostsTheHeadWhatFullTrainingDoes) {
  Job full = AdapterJob(false, true);
  const LayerCost saved = TableLayerOf(full, LayerKind::kHead);
  full.model.language_model.train = TrainMode::kFull;
  full.model.language_model.lora = {};
  const LayerCost trained = TableLayerOf(full, LayerKind::kHead);
  EXPECT_EQ(saved.forward_ns, trained.forward_ns);
  EXPECT_NEAR(static_cast<double>(saved.backward_ns), static_cast<double>(trained.backward_ns),
              0.01 * static_cast<double>(trained.backward_ns));
  // Eager norms keep their normalised rows where their weight trains.
  const int64_t rows = 2 * 4096 * full.model.language_model.hidden;  // bytes of 4096 tokens
  EXPECT_EQ(saved.modes.front().kept_bytes, trained.modes.front().kept_bytes - rows);
  EXPECT_EQ(saved.trained_parameters + full.model.language_model.hidden,
            trained.trained_parameters);
}

TEST(SavedTablesTest, PlansAndCheckpointsGrow) {
  const Plan adapters = CheckedPlan(AdapterJob(false, false)),
             both = CheckedPlan(AdapterJob(true, true));
  ASSERT_TRUE(adapters.fits() && both.fits());
  EXPECT_GT(both.prediction.step.total_ns, adapters.prediction.step.total_ns);
  const Job job = AdapterJob(true, true);
  const ModelSpec& model = job.model;
  const int64_t table = model.language_model.vocab * model.language_model.hidden;
  EXPECT_EQ(CheckpointBytes(model, job.training) -
                CheckpointBytes(AdapterJob(false, false).model, job.training),
            2 * 14 * table);
}

}  // namespace
}  // namespace evenkeel::planner
