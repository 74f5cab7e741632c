#include "server/convert/answer/to_proto.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "evenkeel/v1/plan.pb.h"
#include "planner/job.h"
#include "planner/plan.h"
#include "server/convert/version.h"
#include "tests/server/convert/requests.h"

namespace evenkeel::server {
namespace {

constexpr int64_t kGib = int64_t{1} << 30;

// Returns stage 0 or 1.
planner::StagePlan StageOf(int64_t s) {
  planner::StagePlan stage;
  stage.layers = {{.kind = planner::LayerKind::kDense,
                   .first = 16 * s,
                   .count = 16,
                   .recomputed = {{planner::kNorms | planner::kMlp, s}, {planner::kWholeLayer, 2}},
                   .chunk = s}};
  stage.forward_ns = 1'000'000 + s;
  stage.send_ns = s == 0 ? 500 : 0;
  stage.in_flight = 2 - s;
  stage.memory = {.weights = 1,
                  .gradients = 2,
                  .optimizer = 4,
                  .activations = 8,
                  .workspace = 16,
                  .communication = 32,
                  .framework = 64,
                  .allocator_reserve = 128};
  stage.capacity_bytes = 1000;
  return stage;
}

// Returns a plan that the planner would not make: every field has a distinct value.
planner::Plan FittingPlan() {
  planner::Plan plan;
  plan.figures = {{"gpu.peak", planner::Basis::kPublished, "312"},
                  {"gpu.matrix_rate", planner::Basis::kFitted, "0.8"}};
  plan.parallelism = {.tensor = 2, .pipeline = 2, .data = 2, .context = 4, .expert = 8};
  plan.parallelism.virtual_stages = 3;
  plan.parallelism.encoder_data = 4;
  plan.encoder_data_gain = 0.125;
  plan.schedule = planner::Schedule::kInterleaved;
  for (int64_t s = 0; s < 2; ++s) plan.stages.push_back(StageOf(s));
  plan.prediction.step = {.encoder_compute_ns = 1,
                          .language_compute_ns = 20,
                          .recompute_ns = 300,
                          .tensor_communication_ns = 4000,
                          .pipeline_bubble_ns = 50000,
                          .imbalance_ns = 600000,
                          .data_sync_ns = 7000000,
                          .optimizer_ns = 80000000,
                          .total_ns = 87654321};
  plan.prediction.gpu_days = 12.5;
  plan.ladder = {{.name = "baseline", .fits = false, .gpu_days = 61.8, .step_ns = 9}};
  plan.prediction.holed_steps = 1;
  plan.proof = {.step_ns = 30,
                .lower_bound_ns = 20,
                .gap = 0.5,
                .plan_lower_bound_ns = 25,
                .closed_form_ns = 28,
                .closed_form_optimum_ns = 27,
                .end = planner::SearchEnd::kWorkLimit,
                .parallelisms = 21,
                .parallelisms_pruned = 3,
                .parallelisms_unfit = 4,
                .parallelisms_unsearched = 5,
                .partitions_examined = 6};
  plan.batch_rule.dist_ratio_units = 0.25;
  plan.batch_rule.packer = planner::Packer::kIsf;
  plan.batch_rule.order_window = 16;
  plan.batch_rule.oversize = planner::OversizePolicy::kReject;
  plan.batch_rule.pack_times = {.vision_per_unit = 5, .language_per_token = 3};
  plan.batch_rule.caps_reason = "memory";
  plan.batch_rule.pack_lower_bound = 77;
  plan.batch_rule.idle_ratio = 0.125;
  plan.alternatives = {{.parallelism = {.tensor = 1, .pipeline = 4, .data = 8},
                        .stage_layers = {8, 8, 8, 8},
                        .step_ns = 1'500'000'000,
                        .samples_per_step = 640,
                        .gpu_days = 13,
                        .least_free_bytes = 7}};
  plan.placement = {.gpus_per_node = 8,
                    .nodes = 4,
                    .pipeline_neighbours_cross_nodes = true,
                    .host_memory_bytes = 1000,
                    .shared_memory_bytes = 100};
  return plan;
}

v1::Plan Converted(const planner::Plan& plan) {
  v1::Plan out;
  PlanToProto(JobOf(MinimalText()), plan, "plan-1", &out);
  return out;
}

TEST(PlanToProto, SubjectIsTheJobWithItsDefaults) {
  const v1::Plan plan = Converted(FittingPlan());
  EXPECT_EQ(plan.plan_id(), "plan-1");
  const v1::PlanSubject& subject = plan.subject();
  EXPECT_EQ(subject.model(), "internvl-chat-v1.5");
  EXPECT_EQ(subject.encoder(), "internvit-6b-448px-v1.5");
  EXPECT_EQ(subject.language_model(), "internlm2-20b");
  EXPECT_GT(subject.parameter_count(), 25'000'000'000);
  EXPECT_EQ(subject.gpu_type(), "a100-sxm-80gb");
  EXPECT_EQ(subject.gpu_count(), 32);
  EXPECT_EQ(subject.gpus_per_node(), 8);
  EXPECT_EQ(subject.sample_count(), 40941);
  EXPECT_EQ(subject.global_batch_samples(), 512);
  EXPECT_EQ(subject.epochs(), 1);
}

TEST(PlanToProto, MemoryPartsSumToTheTotal) {
  const v1::Plan plan = Converted(FittingPlan());
  ASSERT_EQ(plan.stages_size(), 2);
  for (const v1::Stage& stage : plan.stages()) {
    const v1::MemoryParts& m = stage.memory();
    EXPECT_EQ(m.weights_bytes() + m.gradients_bytes() + m.optimizer_bytes() +
                  m.activations_bytes() + m.workspace_bytes() + m.communication_bytes() +
                  m.framework_bytes() + m.allocator_reserve_bytes() + m.buffers_bytes(),
              m.total_bytes());
    EXPECT_EQ(m.allocated_bytes() + m.allocator_reserve_bytes(), m.reserved_bytes());
    EXPECT_EQ(m.reserved_bytes() + m.communication_bytes() + m.framework_bytes(), m.total_bytes());
    EXPECT_EQ(m.total_bytes(), 255);
    EXPECT_EQ(stage.free_bytes(), 745);
  }
  EXPECT_EQ(plan.stages(1).index(), 1);
}

TEST(PlanToProto, LayersKeepWhatTheyRecompute) {
  const v1::LayerGroup group = Converted(FittingPlan()).stages(1).layers(0);
  EXPECT_EQ(group.kind(), v1::LAYER_KIND_DENSE);
  EXPECT_EQ(group.first_layer(), 16);
  EXPECT_EQ(group.recomputed_count(), 3);
  EXPECT_EQ(group.chunk(), 1);
  ASSERT_EQ(group.recomputed_size(), 2);
  EXPECT_EQ(group.recomputed(0).layer_count(), 1);
  ASSERT_EQ(group.recomputed(0).parts_size(), 2);
  EXPECT_EQ(group.recomputed(0).parts(0), v1::RECOMPUTE_PART_NORMS);
  EXPECT_EQ(group.recomputed(0).parts(1), v1::RECOMPUTE_PART_MLP);
}

TEST(PlanToProto, StepPartsSumToTheTotal) {
  const v1::StepTime step = Converted(FittingPlan()).predictions().step();
  EXPECT_NEAR(step.encoder_compute_seconds() + step.language_compute_seconds() +
                  step.recompute_seconds() + step.tensor_communication_seconds() +
                  step.pipeline_bubble_seconds() + step.imbalance_seconds() +
                  step.data_sync_seconds() + step.optimizer_seconds(),
              step.total_seconds(), 1e-12);
  EXPECT_EQ(step.total_seconds(), 0.087654321);
}

TEST(PlanToProto, RestOfAFittingPlan) {
  const v1::Plan plan = Converted(FittingPlan());
  EXPECT_FALSE(plan.has_misfit());
  EXPECT_EQ(plan.parallelism().data(), 2);
  EXPECT_EQ(plan.parallelism().context(), 4);
  EXPECT_EQ(plan.parallelism().expert(), 8);
  EXPECT_EQ(plan.parallelism().virtual_stages(), 3);
  EXPECT_EQ(plan.parallelism().encoder_data(), 4);
  EXPECT_EQ(plan.encoder_data_gain_ratio(), 0.125);
  EXPECT_EQ(plan.schedule(), v1::PIPELINE_SCHEDULE_INTERLEAVED);
  EXPECT_EQ(plan.ladder(0).name(), "baseline");
  EXPECT_FALSE(plan.ladder(0).fits());
  EXPECT_EQ(plan.alternatives(0).stage_layers_size(), 4);
  EXPECT_EQ(plan.alternatives(0).step_seconds(), 1.5);
  EXPECT_EQ(plan.alternatives(0).samples_per_step(), 640);
  EXPECT_EQ(plan.predictions().holed_steps(), 1);
  EXPECT_EQ(plan.batch_rule().dist_ratio_units(), 0.25);
  EXPECT_EQ(plan.batch_rule().packer(), v1::PACKER_ISF);
  EXPECT_EQ(plan.batch_rule().order_window(), 16);
  EXPECT_EQ(plan.batch_rule().oversize_policy(), v1::OVERSIZE_POLICY_REJECT);
  EXPECT_EQ(plan.batch_rule().pack_times().vision_seconds_per_unit(), 5);
  EXPECT_EQ(plan.batch_rule().pack_times().language_seconds_per_token(), 3);
  EXPECT_EQ(plan.batch_rule().caps_reason(), "memory");
  EXPECT_EQ(plan.batch_rule().pack_count_lower_bound(), 77);
  EXPECT_EQ(plan.batch_rule().idle_ratio(), 0.125);
  EXPECT_EQ(plan.placement().colocated_ranks(), 2);
  EXPECT_EQ(plan.placement().node_count(), 4);
  EXPECT_EQ(plan.placement().host_memory_bytes(), 1000);
  EXPECT_EQ(plan.placement().shm_bytes(), 100);
  EXPECT_EQ(plan.provenance().planner_version(), PlannerVersion());
  EXPECT_TRUE(PlannerVersion().starts_with(std::string(kReleaseVersion) + "+r"))
      << PlannerVersion();
  EXPECT_EQ(plan.provenance().calibration_version(), "none");
  EXPECT_EQ(plan.provenance().figures(1).basis(), v1::BASIS_FITTED);
}

TEST(PlanToProto, ProofHasEveryFigure) {
  const v1::Proof proof = Converted(FittingPlan()).proof();
  EXPECT_EQ(proof.step_seconds(), 30e-9);
  EXPECT_EQ(proof.lower_bound_seconds(), 20e-9);
  EXPECT_EQ(proof.gap(), 0.5);
  EXPECT_EQ(proof.plan_lower_bound_seconds(), 25e-9);
  EXPECT_EQ(proof.closed_form_seconds(), 28e-9);
  EXPECT_EQ(proof.closed_form_optimum_seconds(), 27e-9);
  EXPECT_EQ(proof.search_end(), v1::SEARCH_END_WORK_LIMIT);
  EXPECT_EQ(proof.parallelism_count(), 21);
  EXPECT_EQ(proof.pruned_parallelism_count(), 3);
  EXPECT_EQ(proof.unfit_parallelism_count(), 4);
  EXPECT_EQ(proof.unsearched_parallelism_count(), 5);
  EXPECT_EQ(proof.examined_state_count(), 6);
  planner::Plan exhausted = FittingPlan();
  exhausted.proof.end = planner::SearchEnd::kExhausted;
  EXPECT_EQ(Converted(exhausted).proof().search_end(), v1::SEARCH_END_EXHAUSTED);
}

TEST(PlanToProto, SubjectSaysWhatThePlanHadToRespect) {
  v1::Plan plan;
  PlanToProto(JobOf(DescribedText()), FittingPlan(), "plan-1", &plan);
  const v1::PlanSubject& subject = plan.subject();
  EXPECT_EQ(subject.gpus_per_full_node(), 8);
  EXPECT_EQ(subject.zero_stage(), v1::ZERO_STAGE_0);
  EXPECT_EQ(subject.gradient_precision(), v1::GRADIENT_PRECISION_16BIT);
  EXPECT_EQ(subject.optimizer(), v1::OPTIMIZER_ADAM);
  EXPECT_EQ(subject.reserved_bytes(), int64_t{1} << 30);
  EXPECT_EQ(subject.price_per_gpu_hour(), 2.5);
  EXPECT_EQ(subject.seed(), 7);
  EXPECT_EQ(subject.isf_iterations(), 5);
  const v1::Constraints& constraints = subject.constraints();
  EXPECT_EQ(constraints.tensor_parallel().max(), 4);
  EXPECT_EQ(constraints.pipeline_parallel().min(), 4);
  EXPECT_EQ(constraints.pipeline_parallel().max(), 4);
  EXPECT_EQ(constraints.data_parallel().max(), 16);
  EXPECT_EQ(constraints.recompute(), v1::RECOMPUTE_POLICY_FULL);
  EXPECT_EQ(constraints.stage_layers_size(), 4);
}

TEST(PlanToProto, ConstraintsThatExcludeNothingAreUnset) {
  const v1::Constraints constraints = Converted(FittingPlan()).subject().constraints();
  EXPECT_FALSE(constraints.has_tensor_parallel());
  EXPECT_FALSE(constraints.has_pipeline_parallel());
  EXPECT_FALSE(constraints.has_data_parallel());
  EXPECT_EQ(constraints.recompute(), v1::RECOMPUTE_POLICY_ONE_SETTING);
}

planner::Plan Misfitting() {
  planner::Plan plan = FittingPlan();
  plan.misfit =
      planner::Misfit{.parallelism = {.tensor = 2, .pipeline = 4, .data = 4},
                      .stage = 2,
                      .layers = {{.kind = planner::LayerKind::kTokenEmbedding, .count = 1},
                                 {.kind = planner::LayerKind::kDense,
                                  .count = 23,
                                  .recomputed = {{planner::kWholeLayer, 23}}},
                                 {.kind = planner::LayerKind::kDense,  // with a window, say
                                  .first = 23,
                                  .count = 1,
                                  .recomputed = {{planner::kWholeLayer, 1}}},
                                 {.kind = planner::LayerKind::kMoe, .count = 1}},
                      .memory = {.weights = 93 * kGib + kGib / 10},
                      .capacity_bytes = 79 * kGib + kGib / 5,
                      .short_bytes = 14 * kGib - kGib / 10,
                      .remedies = {{.kind = planner::RemedyKind::kMoreGpus,
                                    .text = "use 64 GPUs instead of 32",
                                    .gpu_count = 64,
                                    .gpu = ""}}};
  return plan;
}

TEST(PlanToProto, AMisfitIsASentence) {
  const v1::Misfit misfit = Converted(Misfitting()).misfit();
  EXPECT_EQ(
      misfit.text(),
      "Stage 2 of TP 2 x PP 4 x DP 4 needs 93.1 GiB but has only 79.2 GiB: it lacks 13.9 GiB "
      "(token "
      "embedding, 24 language layers (24 recomputed), 1 language layer with experts). Nearest "
      "change: use 64 GPUs instead of 32.");
  EXPECT_EQ(misfit.remedies(0).kind(), v1::REMEDY_KIND_MORE_GPUS);
  EXPECT_EQ(misfit.remedies(0).gpu_count(), 64);
  EXPECT_EQ(misfit.short_bytes(), 14 * kGib - kGib / 10);
}

TEST(PlanToProto, AMisfitSetsNothingOfAPlan) {
  const v1::Plan plan = Converted(Misfitting());
  EXPECT_TRUE(plan.has_subject());
  EXPECT_TRUE(plan.has_batch_rule());
  EXPECT_TRUE(plan.has_proof());
  EXPECT_TRUE(plan.has_provenance());
  EXPECT_FALSE(plan.has_parallelism());
  EXPECT_EQ(plan.stages_size(), 0);
  EXPECT_FALSE(plan.has_predictions());
  EXPECT_EQ(plan.ladder_size(), 0);
  EXPECT_EQ(plan.alternatives_size(), 0);
  EXPECT_FALSE(plan.has_placement());
  EXPECT_EQ(plan.batch_rule().dist_ratio_units(), 0);
}

TEST(PlanToProto, WithoutARemedyItSaysSo) {
  planner::Plan plan = Misfitting();
  plan.misfit->remedies.clear();
  EXPECT_TRUE(Converted(plan).misfit().text().ends_with("None of the changes tried makes it fit."));
}

}  // namespace
}  // namespace evenkeel::server
