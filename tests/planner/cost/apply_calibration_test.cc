#include "planner/cost/apply_calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "planner/catalog/catalog.h"
#include "planner/cost/calibration_book.h"
#include "planner/hardware/gpus.h"
#include "planner/make_plan.h"
#include "tests/planner/profiles.h"

namespace evenkeel::planner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kModel[] = "model 1";

const LayerCalibration* CalibratedLayer(const Calibration& calibration, LayerKind kind,
                                        int64_t tensor) {
  for (const LayerCalibration& layer : calibration.layers) {
    if (layer.kind == kind && layer.tensor == tensor) return &layer;
  }
  return nullptr;
}

const FigureBasis* FigureOf(const Plan& plan, const std::string& name) {
  for (const FigureBasis& figure : plan.figures) {
    if (figure.figure == name) return &figure;
  }
  return nullptr;
}

StepMeasurement StepOf(const Plan& plan, const Job& job, double ratio) {
  StepMeasurement m;
  m.predicted_ns = plan.prediction.step.total_ns - plan.prediction.step.measured_correction_ns;
  m.measured_ns = Nearest(ratio * static_cast<double>(m.predicted_ns));
  m.mfu = plan.prediction.mfu;
  m.parameters = CountParameters(job.model);
  m.layer_version = job.calibration.layer_version;
  m.model_version = std::string(kModel);
  return m;
}

TEST(CalibrationBookTest, NothingRecordedIsNoCalibration) {
  const Job job = QuickstartJob();
  const Calibration calibration = CalibrationBook().For(job.model, job.cluster.gpu);
  EXPECT_TRUE(calibration.empty());
  EXPECT_EQ(calibration.version, "");
}

TEST(CalibrationBookTest, MediansByKindAndDegree) {
  MeasuredProfile first = QuickstartProfile(), second = QuickstartProfile(),
                  third = QuickstartProfile(4);
  AddLayerTime(first, LayerKind::kDense, kText, 1.2);
  AddLayerTime(second, LayerKind::kDense, kText, 1.4);
  AddLayerTime(third, LayerKind::kDense, kText, 2);
  const CalibrationBook book({RatedOf(3, first), RatedOf(4, second), RatedOf(7, third)}, kModel);
  const Calibration calibration = book.For(first);
  EXPECT_THAT(*calibration.revisions, ElementsAre(3, 4, 7));
  // Jobs are copied by the hundred.
  EXPECT_EQ(&*Calibration(calibration).revisions, &*calibration.revisions);
  ASSERT_EQ(calibration.layers.size(), 2u);
  const LayerCalibration* two = CalibratedLayer(calibration, LayerKind::kDense, 2);
  ASSERT_NE(two, nullptr);
  EXPECT_NEAR(two->forward.value, 1.3, 1e-5);
  EXPECT_EQ(two->forward.count, 2);
  EXPECT_EQ(two->activation.count, 0);
  EXPECT_NEAR(CalibratedLayer(calibration, LayerKind::kDense, 4)->forward.value, 2, 1e-5);
}

// A measured component helps any model that contains it, on the same GPU.
TEST(CalibrationBookTest, FindsComponentsByNameGpuAndDimensions) {
  MeasuredProfile profile = QuickstartProfile();
  AddLayerTime(profile, LayerKind::kEncoder, kTiles, 1.2);
  AddLayerTime(profile, LayerKind::kDense, kText, 1.3);
  AddLayerTime(profile, LayerKind::kProjector, kTiles, 1.4);
  const CalibrationBook book({RatedOf(1, profile)}, kModel);
  const GpuSpec& gpu = profile.gpu;
  const Job other = VisionJob("internvit-6b-448px-v1.5", "llama3-8b", "a100-sxm-80gb", 8);
  const Calibration encoder = book.For(other.model, gpu);
  ASSERT_EQ(encoder.layers.size(), 1u);
  EXPECT_EQ(encoder.layers[0].kind, LayerKind::kEncoder);
  const Job text = TextJob("internlm2-20b", "a100-sxm-80gb", 8);
  EXPECT_EQ(book.For(text.model, gpu).layers[0].kind, LayerKind::kDense);
  EXPECT_EQ(book.For(QuickstartJob().model, gpu).layers.size(), 3u);
  EXPECT_TRUE(book.For(text.model, FindGpu("h100-sxm-80gb")->spec).empty());
  EXPECT_TRUE(book.For(TextJob("llama3-8b", "a100-sxm-80gb", 8).model, gpu).empty());
  ModelSpec changed = text.model;  // a caller's own model under the catalogue's name
  changed.language_model.ffn += 256;
  EXPECT_TRUE(book.For(changed, gpu).empty());
}

// Measurements of a model with two encoders are of the two together.
TEST(CalibrationBookTest, SeveralEncodersAreOneComponent) {
  MeasuredProfile profile = QuickstartProfile();
  ModelSpec two_towers = profile.model;
  two_towers.towers.push_back(two_towers.towers.front());
  two_towers.towers.back().encoder.name = "second";
  profile.model = two_towers;
  AddLayerTime(profile, LayerKind::kEncoder, kTiles, 1.2);
  AddLayerTime(profile, LayerKind::kProjector, kTiles, 1.4);
  const CalibrationBook book({RatedOf(1, profile)}, kModel);
  EXPECT_EQ(book.For(profile).layers.size(), 2u);
  EXPECT_TRUE(book.For(QuickstartJob().model, profile.gpu).empty());
  ModelSpec changed = profile.model;
  changed.towers.back().encoder.ffn += 256;
  const Calibration projectors = book.For(changed, profile.gpu);
  ASSERT_EQ(projectors.layers.size(), 1u);
  EXPECT_EQ(projectors.layers[0].kind, LayerKind::kProjector);
}

TEST(CalibrationBookTest, AnEncoderAloneLeavesItsStandInAlone) {
  MeasuredProfile profile = QuickstartProfile();
  profile.encoder_only = true;
  AddLayerTime(profile, LayerKind::kEncoder, kTiles, 1.2);
  const CalibrationBook book({RatedOf(1, profile)}, kModel);
  EXPECT_EQ(book.For(profile).layers.size(), 1u);
  const Job text = TextJob("internlm2-20b", "a100-sxm-80gb", 8);
  EXPECT_TRUE(book.For(text.model, profile.gpu).empty());
  EXPECT_EQ(book.For(QuickstartJob().model, profile.gpu).layers.size(), 1u);
}

TEST(CalibrateTest, ScalesTimesAndKeptBytesAtTheNearestDegree) {
  MeasuredProfile two = QuickstartProfile(2), eight = QuickstartProfile(8);
  AddLayerTime(two, LayerKind::kDense, kText, 1.2);
  AddProbes(two, LayerKind::kDense, kText, 8, 1.1);
  AddLayerTime(eight, LayerKind::kDense, kText, 2);
  Job job = QuickstartJob();
  job.calibration =
      CalibrationBook({RatedOf(1, two), RatedOf(2, eight)}, kModel).For(job.model, job.cluster.gpu);
  for (const auto& [degree, factor] : {std::pair{1, 1.2}, {2, 1.2}, {4, 1.2}, {8, 2.0}}) {
    const MeasuredProfile at = QuickstartProfile(degree);
    const LayerCost plain = ModelledLayer(at, LayerKind::kDense, kText);
    LayerCost layer = plain;
    Calibrate(job.calibration, degree, layer);
    EXPECT_NEAR(layer.forward.per_token, factor * plain.forward.per_token, 1e-3);
    EXPECT_NEAR(layer.backward.per_squared, factor * plain.backward.per_squared, 1e-6);
    EXPECT_NEAR(static_cast<double>(layer.modes.front().kept_bytes),
                1.1 * static_cast<double>(plain.modes.front().kept_bytes), 2);
    EXPECT_EQ(layer.modes.back().kept_bytes, plain.modes.back().kept_bytes);
    EXPECT_EQ(layer.modes.front().workspace_bytes, plain.modes.front().workspace_bytes);
    EXPECT_EQ(layer.modes.back().workspace_bytes - plain.modes.back().workspace_bytes,
              layer.modes.front().kept_bytes - plain.modes.front().kept_bytes);
  }
}

TEST(CalibrateTest, AnotherGpuKeepsWhatWasMeasuredOfMemory) {
  MeasuredProfile profile = QuickstartProfile();
  AddLayerTime(profile, LayerKind::kDense, kText, 1.2);
  AddProbes(profile, LayerKind::kDense, kText, 8, 1.1);
  const Calibration calibration =
      WithoutTimes(CalibrationBook({RatedOf(1, profile)}, kModel).For(profile));
  const LayerCost plain = ModelledLayer(profile, LayerKind::kDense, kText);
  LayerCost layer = plain;
  Calibrate(calibration, 2, layer);
  EXPECT_EQ(layer.forward.per_token, plain.forward.per_token);
  EXPECT_EQ(layer.backward.per_token, plain.backward.per_token);
  EXPECT_GT(layer.modes.front().kept_bytes, plain.modes.front().kept_bytes);
  EXPECT_EQ(CorrectedStep(calibration, 1000), 1000);
}

TEST(CalibratedPlanTest, SaysWhatIsMeasuredAndMovesTowardsIt) {
  Job job = QuickstartJob();
  job.constraints.tensor_parallel = {2, 2};
  const Plan before = MakePlan(job, {}).plan;
  MeasuredProfile profile = QuickstartProfile();
  AddLayerTime(profile, LayerKind::kEncoder, kTiles, 1.5);
  AddLayerTime(profile, LayerKind::kDense, kText, 1.0);
  AddProbes(profile, LayerKind::kEncoder, kTiles, 8, 1.2);
  job.calibration = CalibrationBook({RatedOf(1, profile)}, kModel).For(job.model, job.cluster.gpu);
  const PlanResult result = MakePlan(job, {});
  ASSERT_EQ(result.end, PlanEnd::kComplete) << (result.faults.empty() ? "" : result.faults[0]);
  const Plan& after = result.plan;
  EXPECT_NEAR(static_cast<double>(after.prediction.step.encoder_compute_ns) /
                  static_cast<double>(before.prediction.step.encoder_compute_ns),
              1.5, 0.05);
  // Slower encoder layers move the cuts, so that the first stage has fewer of them.
  EXPECT_LT(after.stages[0].layers.back().count, before.stages[0].layers.back().count);
  const FigureBasis* figure = FigureOf(after, "layer_times.encoder");
  ASSERT_NE(figure, nullptr);
  EXPECT_EQ(figure->basis, Basis::kMeasured);
  EXPECT_THAT(figure->detail, HasSubstr("1.50x"));
  EXPECT_NE(FigureOf(after, "activations.encoder"), nullptr);
  EXPECT_EQ(FigureOf(after, "activations.dense"), nullptr);
  EXPECT_EQ(FigureOf(before, "layer_times.encoder"), nullptr);
}

TEST(CalibratedPlanTest, OtherDegreesSayThatTheyAreMeasuredElsewhere) {
  Job job = QuickstartJob();
  job.constraints.tensor_parallel = {4, 4};
  MeasuredProfile profile = QuickstartProfile();
  AddLayerTime(profile, LayerKind::kEncoder, kTiles, 1.5);
  job.calibration = CalibrationBook({RatedOf(1, profile)}, kModel).For(job.model, job.cluster.gpu);
  const Plan plan = MakePlan(job, {}).plan;
  const FigureBasis* figure = FigureOf(plan, "layer_times.encoder");
  ASSERT_NE(figure, nullptr);
  EXPECT_THAT(figure->detail, HasSubstr("measured at tensor parallel 2, the nearest to 4"));
}

TEST(CalibratedPlanTest, StepsCorrectEveryPredictedStep) {
  Job job = QuickstartJob();
  // With packs that leave memory, so that the bytes below move no plan.
  job.training.unit_cap = 10;
  job.training.token_cap = 3968;
  const Plan before = MakePlan(job, {}).plan;
  MeasuredProfile profile = QuickstartProfile();
  profile.steps.push_back(StepOf(before, job, 1.2));
  profile.steps.back().rest_bytes = {int64_t{1} << 20, 5, -7};
  job.calibration = CalibrationBook({RatedOf(1, profile)}, kModel).For(job.model, job.cluster.gpu);
  EXPECT_NEAR(job.calibration.step.value, 1.2, 1e-9);
  EXPECT_EQ(job.calibration.rest_bytes, int64_t{1} << 20);
  const PlanResult result = MakePlan(job, {});
  ASSERT_EQ(result.end, PlanEnd::kComplete) << result.faults[0];
  const Plan& after = result.plan;
  const StepTime& t = after.prediction.step;
  EXPECT_EQ(t.total_ns - t.measured_correction_ns, before.prediction.step.total_ns);
  EXPECT_NEAR(static_cast<double>(t.total_ns), 1.2 * static_cast<double>(before.proof.step_ns),
              0.02 * static_cast<double>(t.total_ns));
  EXPECT_NEAR(after.prediction.gpu_days, 1.2 * before.prediction.gpu_days, 1e-6);
  EXPECT_NEAR(after.ladder.back().gpu_days, after.prediction.gpu_days, 1e-9);
  EXPECT_EQ(after.alternatives[0].step_ns,
            CorrectedStep(job.calibration, before.alternatives[0].step_ns));
  EXPECT_NE(FigureOf(after, "step_time.total"), nullptr);
  EXPECT_EQ(after.stages[0].memory.workspace,
            before.stages[0].memory.workspace + (int64_t{1} << 20));
}

// Otherwise, newer layer times and older steps would correct the same error twice.
TEST(CalibratedPlanTest, StepsOfOtherLayerTimesOrModelsDoNotCount) {
  const Job job = QuickstartJob();
  const Plan plan = MakePlan(job, {}).plan;
  MeasuredProfile steps = QuickstartProfile();
  steps.steps.push_back(StepOf(plan, job, 1.2));
  const auto correct = [&](const std::vector<RatedProfilePtr>& active) {
    return CalibrationBook(active, kModel).For(job.model, job.cluster.gpu).step.count;
  };
  EXPECT_EQ(correct({RatedOf(1, steps)}), 1);
  MeasuredProfile layers = QuickstartProfile();
  AddLayerTime(layers, LayerKind::kDense, kText, 1.2);
  EXPECT_EQ(correct({RatedOf(1, steps), RatedOf(2, layers)}), 0);
  MeasuredProfile older = steps;
  older.steps[0].model_version = std::string("model 0");
  EXPECT_EQ(correct({RatedOf(1, older)}), 0);
  MeasuredProfile namesake = steps;
  ++namesake.steps[0].parameters;
  EXPECT_EQ(correct({RatedOf(1, namesake)}), 0);
}

// A caller's own name says nothing, so the layers and the GPU decide.
TEST(CalibratedPlanTest, DescribedStepsCountForMoreOfTheSameLayers) {
  Job job = QuickstartJob();
  const Plan plan = MakePlan(job, {}).plan;
  MeasuredProfile described = QuickstartProfile();
  described.described = true;
  described.model = job.model;
  described.gpu = job.cluster.gpu;
  described.steps.push_back(StepOf(plan, job, 1.2));
  const CalibrationBook book({RatedOf(1, described)}, kModel);
  const auto count = [&](const Job& other) {
    return book.For(other.model, other.cluster.gpu).step.count;
  };
  EXPECT_EQ(count(job), 1);
  Job deeper = job;
  deeper.model.language_model.layers += 4;
  EXPECT_EQ(count(deeper), 1);
  EXPECT_NEAR(book.For(deeper.model, deeper.cluster.gpu).step.value, 1.2, 1e-9);
  Job wider = job;
  wider.model.language_model.ffn += 64;
  EXPECT_EQ(count(wider), 0);
  Job quicker = job;
  quicker.cluster.gpu.dense_16bit_flops *= 2;
  EXPECT_EQ(count(quicker), 0);
  MeasuredProfile like = described;
  EXPECT_EQ(book.StepRatiosLike(like).size(), 1u);
  GpuSpec faster = like.gpu;
  faster.hbm_bytes_per_second *= 2;
  like.gpu = faster;
  EXPECT_TRUE(book.StepRatiosLike(like).empty());
}

TEST(CalibrationBookTest, VersionsFollowWhatIsInForce) {
  MeasuredProfile profile = QuickstartProfile();
  AddLayerTime(profile, LayerKind::kDense, kText, 1.2);
  MeasuredProfile other = PairProfile("internvit-6b-448px-v1.5", "llama3-8b", "h100-sxm-80gb", 2);
  AddLayerTime(other, LayerKind::kDense, kText, 1.2);
  const auto version = [&](const std::vector<RatedProfilePtr>& active) {
    return CalibrationBook(active, kModel).For(profile).version;
  };
  const std::string one = version({RatedOf(1, profile)});
  EXPECT_EQ(one.substr(0, 4), "cal-");
  EXPECT_EQ(version({RatedOf(1, profile), RatedOf(2, other)}), one);
  EXPECT_NE(version({RatedOf(1, profile), RatedOf(2, profile)}), one);
}

TEST(ErrorsOfTest, FallToNothingWhenTheProfileIsUsed) {
  MeasuredProfile profile = QuickstartProfile();
  AddLayerTime(profile, LayerKind::kDense, kText, 1.25);
  AddProbes(profile, LayerKind::kDense, kText, 8, 0.8);
  const std::vector<Rating> ratings = RatingsOf(profile);
  const PredictionErrors before = ErrorsOf(profile, ratings, {});
  EXPECT_EQ(before.layer_times.count, 2);
  EXPECT_NEAR(before.layer_times.mean, 0.2, 1e-5);
  EXPECT_NEAR(before.memory.mean, 0.25, 1e-5);
  EXPECT_EQ(before.steps.count, 0);
  const Calibration used = CalibrationBook({RatedOf(1, profile)}, kModel).For(profile);
  EXPECT_NEAR(ErrorsOf(profile, ratings, used).layer_times.mean, 0, 1e-5);
  EXPECT_NEAR(ErrorsOf(profile, ratings, used).memory.mean, 0, 1e-5);
}

}  // namespace
}  // namespace evenkeel::planner
