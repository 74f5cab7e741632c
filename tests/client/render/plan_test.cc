// Compares rendered plans with golden files. EVENKEEL_UPDATE_GOLDEN=1 rewrites them; look at the
// difference before keeping it.
#include "client/cli/render/plan.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace evenkeel::cli {
namespace {

std::filesystem::path Golden(const std::string& name) {
  return std::filesystem::path(__FILE__).parent_path() / "golden" / name;
}

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

v1::Plan ReadPlan(const std::string& name) {
  v1::Plan plan;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(ReadText(Golden(name)), &plan));
  return plan;
}

void ExpectGolden(const std::string& name, const std::string& text) {
  if (const char* update = std::getenv("EVENKEEL_UPDATE_GOLDEN");
      update != nullptr && *update == '1') {
    std::ofstream(Golden(name), std::ios::binary) << text;
    return;
  }
  EXPECT_EQ(text, ReadText(Golden(name))) << "EVENKEEL_UPDATE_GOLDEN=1 rewrites " << name;
}

void ExpectWidth(const std::string& text, int width) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("evenkeelctl") != std::string::npos) continue;  // commands stay whole
    EXPECT_LE(DisplayWidth(line), width) << line;
    EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
  }
}

PlanOrigin Asked(std::vector<std::string> more) {
  more.insert(more.begin(), {"evenkeelctl", "plan"});
  return {"computed by 127.0.0.1:50051", CommandLine(std::move(more))};
}

const PlanOrigin& FirstQuestion() {
  static const PlanOrigin origin =
      Asked({"--model", "internvl-chat-v1.5", "--gpu", "a100-sxm-80gb", "--gpus=32"});
  return origin;
}

TEST(RenderPlanText, SaysBetweenWhichRanksImagesAreShared) {
  v1::Plan plan = ReadPlan("plan.textproto");
  Style style;
  style.width = 400;
  const auto header = [&] { return RenderHeader(style, plan, {}); };
  EXPECT_EQ(header().find("encoder data"), std::string::npos);
  v1::Parallelism* p = plan.mutable_parallelism();
  p->set_tensor(4), p->set_context(2), p->set_encoder_data(8);
  plan.set_encoder_data_gain_ratio(0.0312);
  EXPECT_NE(header().find(", context 2, encoder data 8"), std::string::npos) << header();
  EXPECT_NE(header().find("8 ranks share the images of a pack"), std::string::npos) << header();
  EXPECT_NE(header().find("3.1% more"), std::string::npos) << header();
  p->set_encoder_data(2);
  EXPECT_NE(header().find("tensor-parallel part"), std::string::npos) << header();
  p->set_encoder_data(1), plan.set_encoder_data_gain_ratio(-0.05);
  EXPECT_NE(header().find("5.0% less"), std::string::npos) << header();
}

TEST(RenderPlanTest, Plan) {
  const std::string text = RenderPlan({}, ReadPlan("plan.textproto"), FirstQuestion());
  ExpectGolden("plan.txt", text);
  ExpectWidth(text, 100);
}

TEST(RenderPlanTest, PlanInAsciiOf80Columns) {
  const Style style{.width = 80, .unicode = false};
  const std::string text = RenderPlan(style, ReadPlan("plan.textproto"), FirstQuestion());
  ExpectGolden("plan_ascii_80.txt", text);
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
}

TEST(RenderPlanTest, ColorsChangeNothingElse) {
  const v1::Plan plan = ReadPlan("plan.textproto");
  std::string text = RenderPlan({.color = true}, plan, FirstQuestion());
  EXPECT_NE(text.find("\x1b[32m"), std::string::npos);
  for (size_t at = text.find('\x1b'); at != std::string::npos; at = text.find('\x1b')) {
    text.erase(at, text.find('m', at) + 1 - at);
  }
  EXPECT_EQ(text, RenderPlan({}, plan, FirstQuestion()));
}

TEST(RenderPlanTest, Misfit) {
  const PlanOrigin origin =
      Asked({"--model", "llama3-70b", "--gpu", "a10-24gb", "--gpus", "8", "--tp", "8"});
  const std::string text = RenderPlan({}, ReadPlan("misfit.textproto"), origin);
  ExpectGolden("misfit.txt", text);
  ExpectWidth(text, 100);
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(RenderPlanTest, NotesMissedDeadlinesAndGroups) {
  v1::Plan plan = ReadPlan("plan.textproto");
  v1::Predictions& predictions = *plan.mutable_predictions();
  predictions.clear_goodput();
  predictions.set_epoch_seconds(7 * 3600);
  plan.mutable_subject()->set_epochs(2);
  plan.mutable_subject()->mutable_objective()->set_deadline_seconds(15 * 3600);
  EXPECT_FALSE(Has(RenderNotes({.width = 1000}, plan), "deadline"));
  plan.mutable_subject()->mutable_objective()->set_deadline_seconds(10 * 3600);
  EXPECT_TRUE(Has(RenderNotes({.width = 1000}, plan),
                  "note: the deadline is missed: training takes 14.0 h, 4.0 h more than 10.0 h"))
      << RenderNotes({.width = 1000}, plan);
  plan.mutable_group_choice();
  EXPECT_TRUE(
      Has(RenderNotes({.width = 1000}, plan), "--groups one gives a plan that they can run"));
  plan.mutable_subject()->mutable_trainer()->set_name("unlimited");
  EXPECT_FALSE(Has(RenderNotes({.width = 1000}, plan), "--groups one"));
}

TEST(RenderPlanTest, NotesSmallerGroupsThatShareTheStates) {
  v1::Plan plan = ReadPlan("plan.textproto");
  plan.mutable_parallelism()->set_data(12);
  plan.mutable_parallelism()->set_context(2);
  const auto note = [&](int group) {
    plan.mutable_subject()->set_zero_group(group);
    return RenderNotes({.width = 1000}, plan);
  };
  EXPECT_FALSE(Has(note(0), "states are shared"));
  EXPECT_FALSE(Has(note(8), "states are shared"));
  EXPECT_TRUE(Has(note(9),
                  "the states are shared by groups of 8 ranks, not 9: 9 does not divide the 24 "
                  "ranks that hold copies of a weight"));
  EXPECT_TRUE(Has(note(32), "groups of 24 ranks, not 32: only 24 hold copies of a weight"));
}

TEST(RenderPlanTest, NotesOnlyWhereThereIsSomethingToSay) {
  v1::Plan plan = ReadPlan("plan.textproto");
  plan.mutable_batch_rule()->clear_oversize_sample_count();
  EXPECT_EQ(RenderNotes({}, plan), "");

  plan.mutable_predictions()->set_samples_per_step(640);
  plan.mutable_predictions()->set_micro_batches(1);
  std::string notes = RenderNotes({.width = 1000}, plan);
  EXPECT_TRUE(Has(notes, "note: a step trains on 640 samples, 25.0% more than the 512 asked for: "))
      << notes;
  EXPECT_TRUE(Has(notes, "(here 1 pack of 4.13 samples on each of 2 ranks)")) << notes;

  plan.mutable_subject()->set_micro_batch_samples(4);
  EXPECT_TRUE(Has(RenderNotes({.width = 1000}, plan),
                  "micro-batches are whole, and every data-parallel rank needs at least one (here "
                  "1 micro-batch of"));
  plan.mutable_subject()->clear_micro_batch_samples();

  plan.mutable_subject()->set_sample_count(100);
  notes = RenderNotes({.width = 1000}, plan);
  EXPECT_TRUE(Has(notes,
                  "note: the dataset has 100 samples, fewer than the 640 of one step: some "
                  "ranks lack a pack"))
      << notes;
}

TEST(RenderPlanTest, ProofOfTheBestSaysSo) {
  v1::Plan plan = ReadPlan("plan.textproto");
  plan.mutable_predictions()->set_samples_per_step(1024);
  const auto proof = [&] { return RenderProof({.width = 1000}, plan); };
  EXPECT_TRUE(
      Has(proof(),
          "With mean packs, a step of 512 samples takes 23.3 s under this plan. No plan in "
          "the search space takes less than 22.9 s, so this one is at most 1.7% slower than "
          "the best. Its own steps have 1,024 samples: 46.6 s with mean packs, 24.2 s with "
          "unequal packs."))
      << proof();
  plan.mutable_predictions()->set_samples_per_step(512);
  EXPECT_TRUE(Has(proof(), "the best. A step takes 24.2 s with unequal packs. Search:")) << proof();
  plan.mutable_proof()->set_gap(0);
  plan.mutable_proof()->clear_unsearched_parallelism_count();
  const std::string text = RenderProof({.width = 1000}, plan);
  EXPECT_TRUE(
      Has(text, "takes 23.3 s under this plan, and no plan in the search space can be faster. "))
      << text;
  EXPECT_TRUE(Has(text, "21 configurations (degrees, virtual stages)")) << text;
  EXPECT_FALSE(Has(text, "work limit")) << text;
}

// Plans may differ in a degree that tensor, pipeline and data leave open.
TEST(RenderPlanTest, TheFirstAlternativeIsToldApartFromThePlan) {
  v1::Plan plan = ReadPlan("plan.textproto");
  v1::Parallelism& other = *plan.mutable_alternatives(0)->mutable_parallelism();
  other = plan.parallelism();
  const CommandLine command({"evenkeelctl", "plan", "--dp", "2"});
  const auto next = [&] { return RenderNextCommands({.width = 1000}, plan, command); };
  const std::string caps = " --unit-cap 16 --token-cap 4096\n";  // caps of the packs that both have
  EXPECT_TRUE(Has(next(), "evenkeelctl plan --dp 2 --tp 4 --pp 4 --virtual-stages 1" + caps))
      << next();
  other.set_context(2), other.set_expert(8), other.set_virtual_stages(3), other.set_encoder_data(4);
  EXPECT_TRUE(Has(next(), "--tp 4 --pp 4 --cp 2 --ep 8 --virtual-stages 3 --encoder-dp 4" + caps))
      << next();
  EXPECT_TRUE(Has(RenderAlternatives({.width = 1000}, plan),
                  "4 x 4 x 2, context 2, expert 8, encoder data 4, virtual 3"));
  std::swap(other, *plan.mutable_parallelism());
  EXPECT_TRUE(Has(next(), "--cp 1 --ep 1 --virtual-stages 1 --encoder-dp 1" + caps)) << next();
  // With packing groups, the alternatives have all samples in one group.
  plan.add_packing_groups();
  EXPECT_TRUE(Has(next(), " --groups one --order-window 1 --unit-cap 16 --token-cap 4096\n"))
      << next();
  plan.clear_packing_groups();
  plan.mutable_stages(0)->mutable_layers(0)->set_kind(v1::LAYER_KIND_MOE);
  other.set_expert(1);
  EXPECT_TRUE(Has(next(), " --ep 1 ")) << next();
  const CommandLine capped({"evenkeelctl", "plan", "--unit-cap", "9", "--token-cap=4097"});
  EXPECT_FALSE(Has(RenderNextCommands({.width = 1000}, plan, capped), " 4096")) << next();
}

TEST(RenderPlanTest, SaysWhetherAPipelineCrossesNodesOnlyIfThereIsOne) {
  v1::Plan plan = ReadPlan("plan.textproto");
  plan.mutable_placement()->set_stages_cross_nodes(true);
  EXPECT_TRUE(Has(RenderHeader({}, plan, {}), "; the pipeline crosses nodes"));
  plan.mutable_placement()->set_stages_cross_nodes(false);
  EXPECT_TRUE(Has(RenderHeader({}, plan, {}), "; each pipeline stays inside a node"));
  plan.mutable_parallelism()->set_pipeline(1);
  EXPECT_FALSE(Has(RenderHeader({}, plan, {}), "inside a node\n"));
}

TEST(RenderPlanTest, ImbalanceIsExplainedOnlyWhereItMatters) {
  v1::Plan plan;
  v1::StepTime& step = *plan.mutable_predictions()->mutable_step();
  step.set_total_seconds(10);
  step.set_imbalance_seconds(0.5);
  EXPECT_EQ(StepSumText(plan),
            "The simulated step takes 9.50 s with mean packs. Unequal packs add 500 ms "
            "(imbalance).");
  step.set_imbalance_seconds(0.005);
  EXPECT_EQ(StepSumText(plan), "");
}

TEST(RenderPlanTest, PaddedMicroBatchesAreNotCalledPacks) {
  v1::Plan plan = ReadPlan("plan.textproto");
  plan.mutable_subject()->set_micro_batch_samples(2);
  const Style style = {.width = 1000};
  for (const std::string& text :
       {RenderStages(style, plan), RenderStepTime(style, plan), RenderProof(style, plan)}) {
    EXPECT_TRUE(Has(text, "micro-batch")) << text;
    EXPECT_FALSE(Has(text, "pack")) << text;
  }
}

TEST(RenderPlanTest, SmallJobsAreNotZeroGpuDays) {
  v1::Plan plan = ReadPlan("plan.textproto");
  plan.mutable_predictions()->set_gpu_days(1.5e-7);
  const std::string text = RenderHeader({}, plan, {});
  EXPECT_TRUE(Has(text, "0.0130 GPU-seconds")) << text;
}

TEST(RenderPlanTest, PartOfANode) {
  v1::Plan plan = ReadPlan("plan.textproto");
  plan.mutable_subject()->set_gpu_count(4);
  plan.mutable_subject()->set_gpus_per_node(4);
  const std::string text = RenderHeader({}, plan, {});
  EXPECT_TRUE(Has(text, "4 of the 8 GPUs of a node; 300 GB/s inside a node, per GPU")) << text;
}

TEST(RenderPlanTest, EmptyPlansAndFoolishNumbersDoNotCrash) {
  EXPECT_FALSE(RenderPlan({}, v1::Plan(), {}).empty());
  v1::Plan plan;
  plan.add_stages()->mutable_memory()->set_total_bytes(-5);
  plan.add_stages()->set_forward_seconds(1e300);
  plan.mutable_predictions()->mutable_step()->set_total_seconds(1e-300);
  plan.add_ladder();
  plan.add_alternatives();
  plan.mutable_misfit();
  EXPECT_FALSE(RenderPlan({}, plan, {}).empty());
  plan.clear_misfit();
  EXPECT_FALSE(RenderPlan({}, plan, {}).empty());
}

TEST(RenderPlanTest, LongLayerListsBreakBetweenGroups) {
  const v1::Plan plan = ReadPlan("plan.textproto");
  EXPECT_EQ(LayersText(plan.stages(1).layers(), 1000),
            "encoder 22-44 (23) + projector + embedding");
  EXPECT_EQ(LayersText(plan.stages(1).layers(), 24), "encoder 22-44 (23) +\nprojector + embedding");
}

TEST(CommandLineTest, ReplacesAddsAndDrops) {
  const CommandLine line({"evenkeelctl", "plan", "--gpus", "32", "--tp=4", "--label", "it's"});
  EXPECT_TRUE(line.Has("--tp"));
  EXPECT_FALSE(line.Has("--gpu"));
  EXPECT_EQ(line.With("--gpus", "64").Text(),
            "evenkeelctl plan --gpus 64 --tp=4 --label 'it'\\''s'");
  EXPECT_EQ(line.Without("--tp").Without("--label").With("--pp", "2").Text(),
            "evenkeelctl plan --gpus 32 --pp 2");
}

TEST(RenderPlanTest, OtherSizesAndFailuresShowOnlyWhereAskedFor) {
  v1::Plan plan = ReadPlan("plan.textproto");
  const Style style = {.width = 100, .unicode = true, .color = false};
  EXPECT_EQ(RenderOtherSizes(style, plan), "");
  EXPECT_EQ(RenderGoodput(style, plan), "");
  v1::OtherSize* less = plan.add_other_sizes();
  less->set_change(v1::SIZE_CHANGE_NODE_LESS);
  less->set_gpu_type("a100-sxm-80gb");
  less->set_gpu_count(24);
  v1::OtherSize* more = plan.add_other_sizes();
  more->set_change(v1::SIZE_CHANGE_NODE_MORE);
  more->set_gpu_count(40);
  more->set_fits(true);
  more->mutable_plan()->set_gpu_days(2 * plan.predictions().gpu_days());
  v1::Goodput* goodput = plan.mutable_predictions()->mutable_goodput();
  goodput->set_useful_share(0.97);
  goodput->set_finish_seconds(7200);
  goodput->set_checkpoint_interval_steps(12);
  const std::string text = RenderPlan(style, plan, FirstQuestion());
  EXPECT_NE(text.find("fewer GPUs    24"), std::string::npos);
  EXPECT_NE(text.find("no fit"), std::string::npos);
  EXPECT_NE(text.find("100%"), std::string::npos);
  EXPECT_NE(text.find("97.0% of that time"), std::string::npos);
  EXPECT_NE(text.find("2.0 h from start to end"), std::string::npos);
  ExpectWidth(text, 100);
}

TEST(RenderPlanTest, IntervalsAndTrainersShowWhereTheyAreKnown) {
  v1::Plan plan = ReadPlan("plan.textproto");
  const Style style;
  EXPECT_EQ(RenderPlan(style, plan, FirstQuestion()).find("trainer  "), std::string::npos);
  v1::Interval* step = plan.mutable_predictions()->mutable_step_interval();
  step->set_low_ratio(0.5);
  step->set_high_ratio(2);
  step->set_coverage_ratio(0.8);
  *plan.mutable_predictions()->mutable_memory_interval() = *step;
  plan.mutable_subject()->mutable_trainer()->set_name("nanotron");
  plan.mutable_subject()->mutable_trainer()->set_version("0.4");
  std::string text = RenderPlan(style, plan, FirstQuestion());
  EXPECT_NE(text.find("(80% of runs: 12.1 s to 48.3 s)"), std::string::npos) << text;
  EXPECT_NE(text.find("nanotron 0.4"), std::string::npos);
  EXPECT_EQ(text.find("memory may not suffice"), std::string::npos);
  EXPECT_FALSE(Has(text, "is not a known trainer"));
  v1::FigureBasis* trainer = plan.mutable_provenance()->add_figures();
  trainer->set_figure("training.trainer");
  trainer->set_detail("no record of nanotron: defaults between those of the known trainers");
  EXPECT_TRUE(
      Has(RenderNotes({.width = 1000}, plan),
          "note: \"nanotron\" is not a known trainer (did you mean nanotron? `evenkeelctl "
          "trainers` lists them): planned with the defaults of a trainer without a record."));
  EXPECT_FALSE(Has(RenderNotes({.width = 1000}, plan), "no kernel of this GPU type"));
  v1::FigureBasis* kernels = plan.mutable_provenance()->add_figures();
  kernels->set_figure("gpu.kernel_times");
  kernels->set_detail("no measurement of this chip at all: assumed by analogy");
  EXPECT_TRUE(Has(RenderNotes({.width = 1000}, plan), "note: no kernel of this GPU type"));
  plan.set_memory_fit(v1::MEMORY_FIT_WITHIN_MARGIN);
  text = RenderPlan(style, plan, FirstQuestion());
  EXPECT_TRUE(Has(RenderHeader({.width = 1000}, plan, {}),
                  "stage 0 is the fullest: 7.4 GiB free. That may not suffice: in 80% of runs, "
                  "memory peaks at 50% to 200% of the prediction. --memory-confidence 0.8 plans"));
  ExpectWidth(text, 100);
  plan.mutable_stages(2)->set_free_bytes(1000);
  EXPECT_TRUE(Has(RenderHeader({.width = 1000}, plan, {}), "Fits with nothing to spare: 24.2 s"));
  EXPECT_TRUE(
      Has(RenderHeader({.width = 1000}, plan, {}), "stage 2 is the fullest: 0.0 GiB free."));
}

TEST(RenderPlanTest, TheHeadNamesWhatDecidesMemory) {
  v1::Plan plan = ReadPlan("plan.textproto");
  v1::PlanSubject& subject = *plan.mutable_subject();
  const auto header = [&] { return RenderHeader({.width = 1000}, plan, {}); };
  subject.mutable_trainer()->set_name("megatron-core");
  subject.set_zero_stage(v1::ZERO_STAGE_1);
  subject.set_gradient_precision(v1::GRADIENT_PRECISION_FP32);
  subject.set_optimizer(v1::OPTIMIZER_ADAM);
  EXPECT_TRUE(Has(header(), "megatron-core: ZeRO-1, 16-bit precision, fp32 gradients, Adam\n"));
  subject.set_zero_stage(v1::ZERO_STAGE_0);
  subject.set_precision(v1::PRECISION_MXFP8);
  subject.mutable_execution()->set_start_layers_16bit(1);
  subject.mutable_execution()->set_end_layers_16bit(2);
  subject.set_gradient_precision(v1::GRADIENT_PRECISION_16BIT);
  subject.set_optimizer(v1::OPTIMIZER_MUON);
  subject.set_fused_step(true);
  EXPECT_TRUE(Has(header(),
                  ": no ZeRO, mxfp8 (the first 1 and the last 2 layers in 16 bits), 16-bit "
                  "gradients, Muon\n"))
      << header();
  EXPECT_TRUE(Has(header(), "optimizer  updates each layer during the backward pass\n"));
  subject.set_model("a+b"), subject.set_encoder("a"), subject.set_language_model("b");
  EXPECT_TRUE(Has(header(), "model      a+b, 25.5 B parameters\n")) << header();
  subject.set_model("ab");
  EXPECT_TRUE(Has(header(), "model      ab = a + b, 25.5 B parameters\n")) << header();
}

TEST(RenderPlanTest, DataThatNobodyGaveIsMarked) {
  v1::Plan plan = ReadPlan("plan.textproto");
  v1::FigureBasis* data = nullptr;
  for (v1::FigureBasis& figure : *plan.mutable_provenance()->mutable_figures())
    if (figure.figure() == "dataset") data = &figure;
  ASSERT_NE(data, nullptr);
  const auto header = [&] { return RenderHeader({.width = 1000}, plan, {}); };
  data->set_detail("1000000 samples of 4096 tokens");
  EXPECT_TRUE(
      Has(header(), "1,000,000 samples of 4,096 tokens (invented; give --dataset); 512 per"));
  data->set_detail("lengths of ai2d as OmniBal ships them: 40941 samples of 1 to 5 units");
  EXPECT_TRUE(Has(header(),
                  "40,941 samples of 1 to 5 units (lengths of ai2d as OmniBal ships them; give "
                  "--dataset); 512 per step"))
      << header();
  plan.mutable_provenance()->clear_figures();
  plan.mutable_subject()->set_sample_count(1);
  EXPECT_TRUE(Has(header(), "data      1 sample; 512 per step")) << header();
}

TEST(RenderPlanTest, RungsThatChangeNothingAreLeftOut) {
  v1::Plan plan = ReadPlan("plan.textproto");
  const auto ladder = [&] { return RenderLadder({.width = 1000}, plan); };
  EXPECT_TRUE(
      Has(ladder(), "The baseline: random micro-batches, padded to their longest sample; "));
  EXPECT_FALSE(Has(ladder(), "nothing here"));
  const std::string name = plan.ladder(2).name();
  *plan.mutable_ladder(2) = plan.ladder(1);
  plan.mutable_ladder(2)->set_name(name);
  EXPECT_TRUE(Has(ladder(), " Model balance changes nothing here.\n")) << ladder();
  EXPECT_FALSE(Has(ladder(), "+ model balance"));
  EXPECT_TRUE(Has(ladder(), "+ data balance"));
}

TEST(RenderPlanTest, SmallPartsOfAStepAreLeftOut) {
  v1::Plan plan;
  v1::StepTime& step = *plan.mutable_predictions()->mutable_step();
  step.set_total_seconds(10);
  step.set_language_compute_seconds(9.9995);
  step.set_optimizer_seconds(0.0005);
  const std::string text = RenderStepTime({}, plan);
  EXPECT_TRUE(Has(text, "language compute")) << text;
  EXPECT_FALSE(Has(text, "optimizer") || Has(text, "encoder compute")) << text;
}

TEST(RenderPlanTest, WhatTrainerLimitsCostIsNotedWhereItIsMuch) {
  v1::Plan plan = ReadPlan("plan.textproto");
  plan.set_trainer_limits_cost_ratio(0.02);
  EXPECT_FALSE(Has(RenderNotes({.width = 1000}, plan), "trainer's limits"));
  plan.set_trainer_limits_cost_ratio(0.04);
  EXPECT_TRUE(Has(RenderNotes({.width = 1000}, plan), "cost at least 4.0%; --trainer unlimited"));
  EXPECT_TRUE(Has(RenderNotes({.width = 1000}, plan), "which no trainer runs."));
}

TEST(RenderPlanTest, MisfitsAreSaidOnceAndInWordsOfTheCommandLine) {
  v1::Misfit misfit = ReadPlan("misfit.textproto").misfit();
  misfit.set_proven(true);
  EXPECT_EQ(MisfitText(misfit),
            "Stage 0 (all layers, all recomputed) needs 186.9 GiB; a GPU has 23.3 GiB.");
  misfit.mutable_parallelism()->set_pipeline(2);
  EXPECT_TRUE(Has(MisfitText(misfit), "Stage 0 (embedding + language 0-79 (80) + head, all"))
      << MisfitText(misfit);
  misfit.set_host_short_bytes(int64_t{5} << 30);
  EXPECT_TRUE(Has(MisfitText(misfit), "its nodes lack 5.0 GiB of host memory."))
      << MisfitText(misfit);
  misfit.set_micro_batches(3);
  misfit.mutable_parallelism()->set_data(8);
  EXPECT_TRUE(Has(MisfitText(misfit), "Each of 8 data-parallel ranks has 3 micro-batches"))
      << MisfitText(misfit);
}

}  // namespace
}  // namespace evenkeel::cli
