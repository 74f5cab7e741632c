#include "server/convert/profile/profile_from_proto.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "evenkeel/v1/plan.pb.h"
#include "evenkeel/v1/profile.pb.h"

namespace evenkeel::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAreArray;

constexpr char kPlanId[] = "plan-00000000000000000000000000000001";

constexpr char kGood[] = R"pb(
  model: "internvl-chat-v1.5"
  gpu_type: "A100-SXM-80GB"
  tensor_parallel: 2
  author: "somebody"
  framework: "PyTorch"
  software: "CUDA"
  note: "at night"
  layer_times {
    layer_kind: LAYER_KIND_ENCODER
    units: 9
    forward_seconds: 0.006
    backward_seconds: 0.012
  }
  layer_times {
    layer_kind: LAYER_KIND_DENSE
    tokens: 4096
    sample_tokens: 1024
    forward_seconds: 0.008
    backward_recomputes: true
    includes_communication: true
  }
  memory_probes { layer_kind: LAYER_KIND_DENSE layer_count: 8 tokens: 4096 allocated_bytes: 9000 }
  memory_probes {
    layer_kind: LAYER_KIND_DENSE
    layer_count: 8
    tokens: 4096
    allocated_bytes: 8000
    recomputed_count: 4
    in_flight_count: 2
    stage_index: 3
    moment: MEMORY_MOMENT_AFTER_FORWARD
  }
)pb";

v1::RecordProfileRequest ParseProfile(const std::string& text) {
  v1::RecordProfileRequest request;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &request)) << text;
  return request;
}

std::vector<std::string> Violations(const v1::RecordProfileRequest& request) {
  ProfileUpload upload;
  std::vector<std::string> all;
  for (const Violation& v : ProfileFromProto(request, {}, &upload)) {
    all.push_back(v.field + ": " + v.description);
  }
  return all;
}

std::vector<std::string> AllFields(const v1::RecordProfileRequest& request) {
  ProfileUpload upload;
  std::vector<std::string> fields;
  for (const Violation& v : ProfileFromProto(request, {}, &upload)) fields.push_back(v.field);
  return fields;
}

v1::Plan PlanThatRan() {
  v1::Plan plan;
  v1::PlanSubject* subject = plan.mutable_subject();
  subject->set_model("a label");
  subject->set_encoder("internvit-6b-448px-v1.5");
  subject->set_language_model("internlm2-20b");
  subject->set_gpu_type("a100-sxm-80gb");
  subject->set_parameter_count(25);
  auto* step = plan.mutable_predictions()->mutable_step();
  step->set_total_seconds(11);
  step->set_measured_correction_seconds(1);
  plan.mutable_predictions()->set_mfu(0.5);
  auto* memory = plan.add_stages()->mutable_memory();
  memory->set_allocated_bytes(130);
  memory->set_framework_bytes(7);
  memory->set_allocator_reserve_bytes(5);
  auto* provenance = plan.mutable_provenance();
  provenance->set_planner_version("p");
  provenance->set_catalog_version("c");
  provenance->set_layer_calibration_version("lay-1");
  provenance->set_measured_rest_bytes(10);
  return plan;
}

ProfileUpload UploadSteps(const v1::RecordProfileRequest& request, const v1::Plan& plan) {
  ProfileUpload upload;
  const auto violations = ProfileFromProto(
      request,
      [&](std::string_view id) -> std::shared_ptr<const std::string> {
        if (id != kPlanId) return nullptr;
        return std::make_shared<const std::string>(plan.SerializeAsString());
      },
      &upload);
  EXPECT_TRUE(violations.empty()) << violations[0].field << violations[0].description;
  return upload;
}

v1::RecordProfileRequest StepRequest(const std::string& more = "") {
  return ParseProfile(
      "model: 'internvit-6b-448px-v1.5+internlm2-20b' gpu_type: 'a100-sxm-80gb' "
      "step_outcomes { plan_id: '" +
      std::string(kPlanId) + "' step_seconds: 12 step_count: 50 " + more + " }");
}

TEST(ProfileFromProtoTest, TakesEveryField) {
  ProfileUpload upload;
  ASSERT_TRUE(ProfileFromProto(ParseProfile(kGood), {}, &upload).empty());
  const planner::MeasuredProfile& profile = upload.facts.profile;
  EXPECT_EQ(profile.model->language_model.name, "internlm2-20b");
  EXPECT_EQ(profile.gpu->name, "a100-sxm-80gb");
  EXPECT_EQ(profile.tensor, 2);
  EXPECT_EQ(upload.author, "somebody");
  EXPECT_EQ(*upload.facts.framework, "PyTorch");
  EXPECT_EQ(*upload.facts.note, "at night");
  ASSERT_EQ(profile.layer_times.size(), 2u);
  EXPECT_EQ(profile.layer_times[0].shape.units, 9);
  EXPECT_EQ(profile.layer_times[0].backward_ns, 12'000'000);
  const planner::LayerTimeMeasurement& dense = profile.layer_times[1];
  EXPECT_EQ(dense.kind, planner::LayerKind::kDense);
  EXPECT_EQ(dense.shape.sample_tokens, 1024);
  EXPECT_EQ(dense.backward_ns, 0);
  EXPECT_TRUE(dense.backward_recomputes);
  EXPECT_TRUE(dense.with_communication);
  ASSERT_EQ(profile.memory.size(), 2u);
  EXPECT_TRUE(profile.memory[0].is_peak);
  EXPECT_EQ(profile.memory[0].in_flight, 1);
  EXPECT_EQ(profile.memory[0].shape.sample_tokens, 4096);
  EXPECT_EQ(profile.memory[1].recomputed, 4);
  EXPECT_EQ(profile.memory[1].stage, 3);
  EXPECT_FALSE(profile.memory[1].is_peak);
}

TEST(ProfileFromProtoTest, NamesEverythingThatIsMissing) {
  EXPECT_THAT(AllFields({}), ElementsAre("model", "gpu_type", "layer_times"));
  EXPECT_THAT(AllFields(ParseProfile("model: 'llama3-8b' gpu_type: 'h100-sxm-80gb' layer_times {} "
                                     "memory_probes {} step_outcomes {}")),
              ElementsAre("layer_times[0].layer_kind", "layer_times[0].forward_seconds",
                          "memory_probes[0].layer_kind", "memory_probes[0].layer_count",
                          "memory_probes[0].allocated_bytes", "step_outcomes[0].plan_id",
                          "step_outcomes[0].step_seconds"));
}

TEST(ProfileFromProtoTest, NamesEverythingThatIsOutOfRange) {
  v1::RecordProfileRequest request = ParseProfile(kGood);
  request.set_tensor_parallel(7);
  request.mutable_layer_times(0)->set_tokens(5);
  request.mutable_layer_times(0)->set_backward_seconds(-1);
  request.mutable_layer_times(1)->set_tokens(int64_t{1} << 28);
  request.mutable_layer_times(1)->set_sample_tokens(3000);
  request.mutable_memory_probes(0)->set_recomputed_count(9);
  request.mutable_memory_probes(0)->set_layer_kind(v1::LAYER_KIND_HEAD);
  request.mutable_memory_probes(1)->set_in_flight_count(-1);
  request.mutable_memory_probes(1)->set_stage_index(-1);
  request.mutable_memory_probes(1)->set_moment(static_cast<v1::MemoryMoment>(9));
  request.set_author("a\nb");
  request.set_note(std::string(2000, 'x'));
  request.set_max_violations(5000);
  EXPECT_THAT(AllFields(request),
              UnorderedElementsAreArray(
                  {"tensor_parallel", "layer_times[0].tokens", "layer_times[0].backward_seconds",
                   "layer_times[1].tokens", "layer_times[1].sample_tokens",
                   "memory_probes[0].layer_kind", "memory_probes[0].recomputed_count",
                   "memory_probes[1].in_flight_count", "memory_probes[1].stage_index",
                   "memory_probes[1].moment", "author", "note", "max_violations"}));
}

TEST(ProfileFromProtoTest, SaysWhatWouldBeAccepted) {
  v1::RecordProfileRequest request = ParseProfile(kGood);
  request.mutable_layer_times(0)->set_layer_kind(v1::LAYER_KIND_MOE);
  request.mutable_memory_probes(0)->set_layer_kind(v1::LAYER_KIND_HEAD);
  EXPECT_THAT(Violations(request),
              ElementsAre(HasSubstr("accepted: LAYER_KIND_PATCH_EMBEDDING, LAYER_KIND_ENCODER, "
                                    "LAYER_KIND_PROJECTOR, LAYER_KIND_TOKEN_EMBEDDING, "
                                    "LAYER_KIND_DENSE, LAYER_KIND_HEAD"),
                          HasSubstr("accepted: LAYER_KIND_ENCODER, LAYER_KIND_DENSE")));
  request = ParseProfile(kGood);
  request.set_model("internlm3-20b");
  request.set_gpu_type("a100-pcie");
  EXPECT_THAT(Violations(request),
              ElementsAre(HasSubstr("nearest: internlm2-20b"), HasSubstr("nearest: a100-")));
}

TEST(ProfileFromProtoTest, RefusesFieldsOfANewerContract) {
  v1::RecordProfileRequest request = ParseProfile(kGood);
  request.GetReflection()->MutableUnknownFields(&request)->AddVarint(99, 1);
  EXPECT_THAT(AllFields(request), ElementsAre("99"));
}

TEST(ProfileFromProtoTest, AnEncoderAloneHasItsOwnKinds) {
  v1::RecordProfileRequest request = ParseProfile(
      "model: 'internvit-6b-448px-v1.5' gpu_type: 'a100-sxm-80gb' tensor_parallel: 2 "
      "layer_times { layer_kind: LAYER_KIND_ENCODER units: 9 forward_seconds: 0.006 }");
  ProfileUpload upload;
  ASSERT_TRUE(ProfileFromProto(request, {}, &upload).empty());
  EXPECT_TRUE(upload.facts.profile.encoder_only);
  request.mutable_layer_times(0)->set_layer_kind(v1::LAYER_KIND_DENSE);
  request.add_step_outcomes();
  EXPECT_THAT(AllFields(request), testing::Contains("layer_times[0].layer_kind"));
  EXPECT_THAT(AllFields(request), testing::Contains("step_outcomes"));
}

TEST(ProfileFromProtoTest, ADigestOfWhatWasMeasuredAlone) {
  ProfileUpload first, dry, other;
  v1::RecordProfileRequest request = ParseProfile(kGood);
  ProfileFromProto(request, {}, &first);
  request.set_dry_run(true);
  request.set_max_violations(7);
  ProfileFromProto(request, {}, &dry);
  EXPECT_EQ(first.facts.digest, dry.facts.digest);
  EXPECT_TRUE(dry.dry_run);
  request.mutable_layer_times(0)->set_units(10);
  ProfileFromProto(request, {}, &other);
  EXPECT_NE(first.facts.digest, other.facts.digest);
}

// The plan's own correction and rest are removed, because they are earlier measurements.
TEST(ProfileFromProtoTest, ComparesStepsWithTheirPlan) {
  const ProfileUpload upload =
      UploadSteps(StepRequest("stage_allocated_bytes: 150"), PlanThatRan());
  ASSERT_EQ(upload.facts.profile.steps.size(), 1u);
  const planner::StepMeasurement& step = upload.facts.profile.steps[0];
  EXPECT_EQ(step.measured_ns, 12'000'000'000);
  EXPECT_EQ(step.predicted_ns, 10'000'000'000);
  EXPECT_EQ(step.steps, 50);
  EXPECT_DOUBLE_EQ(step.mfu, 0.55);
  EXPECT_EQ(step.parameters, 25);
  EXPECT_EQ(*step.layer_version, "lay-1");
  EXPECT_EQ(*step.model_version, "p c");
  EXPECT_THAT(step.rest_bytes, ElementsAre(150 - (130 - 10)));
  EXPECT_THAT(upload.step_indices, ElementsAre(0));
}

TEST(ProfileFromProtoTest, RefusesStepsThatCanNotBeCompared) {
  v1::RecordProfileRequest request = StepRequest();
  request.mutable_step_outcomes(0)->set_plan_id("plan-00000000000000000000000000000002");
  ProfileUpload upload = UploadSteps(request, PlanThatRan());
  ASSERT_EQ(upload.unplanned.size(), 1u);
  EXPECT_TRUE(upload.unplanned[0].plan_unknown);

  const auto refusal = [](const v1::Plan& plan, const std::string& more = "") {
    const ProfileUpload refused = UploadSteps(StepRequest(more), plan);
    EXPECT_TRUE(refused.facts.profile.steps.empty());
    return refused.unplanned.empty() ? "" : refused.unplanned[0].text;
  };
  v1::Plan plan = PlanThatRan();
  plan.mutable_misfit();
  EXPECT_THAT(refusal(plan), HasSubstr("does not fit"));
  plan = PlanThatRan();
  plan.mutable_subject()->clear_encoder();
  EXPECT_THAT(refusal(plan), HasSubstr("the plan is of \"a label\""));
  plan = PlanThatRan();
  plan.mutable_subject()->set_gpu_type("h100-sxm-80gb");
  EXPECT_THAT(refusal(plan), HasSubstr("for \"h100-sxm-80gb\", not for a100-sxm-80gb"));
  EXPECT_THAT(refusal(PlanThatRan(), "stage_allocated_bytes: [1, 2]"), HasSubstr("1 stages"));
}

TEST(ProfileBytesTest, ReadBackWhatTheyWrote) {
  ProfileUpload upload = UploadSteps(StepRequest("stage_allocated_bytes: 150"), PlanThatRan());
  ProfileUpload layers;
  ProfileFromProto(ParseProfile(kGood), {}, &layers);
  upload.facts.profile.layer_times = layers.facts.profile.layer_times;
  upload.facts.profile.memory = layers.facts.profile.memory;
  upload.facts.note = std::string("n");
  const std::string bytes = SerializeProfile(upload.facts);
  ProfileFacts read;
  ASSERT_TRUE(ParseProfile(bytes, &read));
  EXPECT_TRUE(read.known);
  EXPECT_EQ(SerializeProfile(read), bytes);
  EXPECT_EQ(read.profile.steps[0].rest_bytes, upload.facts.profile.steps[0].rest_bytes);
  EXPECT_EQ(read.profile.memory[1].is_peak, false);
  EXPECT_EQ(read.digest, upload.facts.digest);
  EXPECT_FALSE(ParseProfile("\xff", &read));
  EXPECT_FALSE(ParseProfile("", &read));  // without a tensor degree, it was not written by us
}

constexpr char kMeasuredCollectives[] = R"pb(
  gpu_type: "NVIDIA H100 80GB HBM3"
  framework: "nccl-tests"
  collectives {
    kind: COLLECTIVE_KIND_ALL_REDUCE
    rank_count: 16
    node_count: 2
    inter_node_bytes_per_second: 5e10
    times { bytes: 1048576 mean_seconds: 5.021e-05 }
    times { bytes: 67108864 mean_seconds: 9.3e-04 }
  }
  collectives {
    kind: COLLECTIVE_KIND_SEND_RECV
    rank_count: 8
    times { bytes: 1048576 mean_seconds: 2e-05 }
  }
)pb";

TEST(ProfileFromProtoTest, TakesCollectivesOfAGpuType) {
  ProfileUpload upload;
  ASSERT_THAT(Violations(ParseProfile(kMeasuredCollectives)), ElementsAre());
  ASSERT_TRUE(ProfileFromProto(ParseProfile(kMeasuredCollectives), {}, &upload).empty());
  const planner::MeasuredProfile& profile = upload.facts.profile;
  EXPECT_EQ(profile.gpu->name, "h100-sxm-80gb");
  ASSERT_EQ(profile.collectives.size(), 2u);
  const planner::CollectiveCurve& reduce = profile.collectives[0];
  EXPECT_EQ(reduce.op, planner::Collective::kAllReduce);
  EXPECT_EQ(reduce.ranks, 16);
  EXPECT_EQ(reduce.ranks_per_node, 8);
  EXPECT_EQ(reduce.inter_node_bytes_per_second, 5e10);
  EXPECT_EQ(reduce.points[0].bytes, 1048576);
  EXPECT_EQ(reduce.points[0].ns, 50210);
  EXPECT_TRUE(profile.collectives[1].inside());
  const std::string bytes = SerializeProfile(upload.facts);
  ProfileFacts read;
  ASSERT_TRUE(ParseProfile(bytes, &read));
  EXPECT_TRUE(read.known);
  EXPECT_EQ(read.profile.collectives, profile.collectives);
  EXPECT_EQ(SerializeProfile(read), bytes);
}

TEST(ProfileFromProtoTest, NodesOfARackAreOneUnit) {
  v1::RecordProfileRequest request = ParseProfile(kMeasuredCollectives);
  request.set_gpu_type("gb200");
  request.mutable_collectives()->DeleteSubrange(1, 1);
  v1::CollectiveTimes* times = request.mutable_collectives(0);
  times->clear_inter_node_bytes_per_second();
  times->set_rank_count(144);
  ProfileUpload upload;
  times->set_node_count(36);
  ASSERT_TRUE(ProfileFromProto(request, {}, &upload).empty());
  EXPECT_EQ(upload.facts.profile.collectives[0].ranks_per_node, 72);
  times->set_rank_count(72);
  times->set_node_count(18);
  ASSERT_TRUE(ProfileFromProto(request, {}, &upload).empty());
  EXPECT_TRUE(upload.facts.profile.collectives[0].inside());
  times->set_inter_node_bytes_per_second(5e10);
  EXPECT_THAT(Violations(request),
              ElementsAre(HasSubstr("the ranks share a node or a scale-up domain")));
}

TEST(ProfileFromProtoTest, CollectivesStandAlone) {
  v1::RecordProfileRequest request = ParseProfile(kGood);
  request.mutable_collectives()->CopyFrom(ParseProfile(kMeasuredCollectives).collectives());
  request.mutable_described_gpu();
  request.mutable_described_model();
  request.add_step_outcomes();
  EXPECT_THAT(AllFields(request),
              testing::IsSupersetOf({"model", "described_model", "described_gpu", "tensor_parallel",
                                     "layer_times", "memory_probes", "step_outcomes"}));
}

TEST(ProfileFromProtoTest, NamesWhatIsWrongWithCollectives) {
  v1::RecordProfileRequest request = ParseProfile(kMeasuredCollectives);
  v1::CollectiveTimes* times = request.mutable_collectives(0);
  times->set_node_count(3);
  times->mutable_times(1)->set_bytes(1000);
  times->mutable_times(0)->set_mean_seconds(0);
  times = request.mutable_collectives(1);
  times->clear_kind();
  times->set_rank_count(1);
  times->mutable_times(0)->set_bytes(-1);
  request.add_collectives();
  EXPECT_THAT(AllFields(request),
              UnorderedElementsAreArray(
                  {"collectives[0].node_count", "collectives[0].times[1].bytes",
                   "collectives[0].times[0].mean_seconds", "collectives[1].kind",
                   "collectives[1].rank_count", "collectives[1].times[0].bytes",
                   "collectives[2].kind", "collectives[2].rank_count", "collectives[2].times"}));
  request = ParseProfile(kMeasuredCollectives);
  *request.add_collectives() = request.collectives(0);
  EXPECT_THAT(Violations(request),
              ElementsAre(HasSubstr("another kind, group or network than the entries before")));
  request.clear_gpu_type();
  EXPECT_THAT(AllFields(request), testing::Contains("gpu_type"));
}

constexpr char kDescribed[] = R"pb(
  described_model {
    name: "mine"
    language_model {
      layers: 4
      hidden_size: 256
      attention_heads: 4
      ffn_size: 1024
      vocabulary_size: 1024
    }
  }
  described_gpu {
    name: "cpu"
    dense_16bit_flops_per_second: 1e11
    memory_bytes: 8589934592
    memory_bytes_per_second: 1e10
  }
)pb";

v1::Plan DescribedPlan() {
  v1::Plan plan = PlanThatRan();
  plan.mutable_subject()->clear_encoder();
  ProfileUpload upload;
  ProfileFromProto(ParseProfile(kDescribed), {}, &upload);
  plan.mutable_subject()->set_language_model(upload.facts.profile.model->language_model.name);
  plan.mutable_subject()->set_gpu_type("cpu");
  return plan;
}

TEST(ProfileFromProtoTest, TakesStepsOfWhatTheCatalogueLacks) {
  const std::string step = std::string("step_outcomes { plan_id: '") + kPlanId +
                           "' step_seconds: 12 ranks { forward_seconds: 1 } ranks { rank: 1 } }";
  const ProfileUpload upload = UploadSteps(ParseProfile(kDescribed + step), DescribedPlan());
  ASSERT_EQ(upload.facts.profile.steps.size(), 1u)
      << (upload.unplanned.empty() ? "" : upload.unplanned[0].text);
  ASSERT_EQ(upload.compared.size(), 1u);
  EXPECT_TRUE(upload.facts.profile.described);
  EXPECT_EQ(upload.facts.profile.model->language_model.layers, 4);
  const std::string bytes = SerializeProfile(upload.facts);
  ProfileFacts read;
  ASSERT_TRUE(ParseProfile(bytes, &read));
  EXPECT_TRUE(read.known);
  EXPECT_TRUE(read.profile.described);
  EXPECT_EQ(read.profile.gpu->dense_16bit_flops, 1e11);
  EXPECT_EQ(read.profile.model->language_model.ffn, 1024);
  EXPECT_EQ(SerializeProfile(read), bytes);
}

TEST(ProfileFromProtoTest, WhatIsDescribedIsForStepsAlone) {
  v1::RecordProfileRequest request = ParseProfile(kDescribed);
  request.set_model("llama3-8b");
  request.set_gpu_type("a100-sxm-80gb");
  request.add_layer_times();
  EXPECT_THAT(Violations(request),
              testing::IsSupersetOf(
                  {"described_model: must be unset where model is set: give one of them",
                   "described_gpu: must be unset where gpu_type is set: give one of them",
                   "described_model: is for step_outcomes alone: layer_times and memory_probes "
                   "need model"}));
  request = ParseProfile(kDescribed);
  request.mutable_described_model()->mutable_language_model()->clear_layers();
  request.mutable_described_gpu()->clear_name();
  EXPECT_THAT(AllFields(request), testing::IsSupersetOf({"described_model.language_model.layers",
                                                         "described_gpu.name"}));
}

TEST(ProfileFromProtoTest, ChecksPercentilesAndRanks) {
  const v1::RecordProfileRequest request = StepRequest(
      "p50_seconds: 9 p90_seconds: 8 p99_seconds: -1 ranks { rank: -1 stage_index: 1024 "
      "p50_seconds: -1 p99_seconds: 1e7 forward_seconds: 1e-9 peak_allocated_bytes: -1 "
      "peak_reserved_bytes: -1 } ranks { rank: 3 } ranks { rank: 3 }");
  EXPECT_THAT(
      AllFields(request),
      UnorderedElementsAreArray(
          {"step_outcomes[0].p90_seconds", "step_outcomes[0].p99_seconds",
           "step_outcomes[0].p99_seconds", "step_outcomes[0].ranks[0].rank",
           "step_outcomes[0].ranks[0].stage_index", "step_outcomes[0].ranks[0].p50_seconds",
           "step_outcomes[0].ranks[0].p99_seconds", "step_outcomes[0].ranks[0].forward_seconds",
           "step_outcomes[0].ranks[0].peak_allocated_bytes",
           "step_outcomes[0].ranks[0].peak_reserved_bytes", "step_outcomes[0].ranks[2].rank"}));
  v1::RecordProfileRequest many = StepRequest();
  for (int i = 0; i < 16385; ++i) many.mutable_step_outcomes(0)->add_ranks()->set_rank(i);
  EXPECT_THAT(Violations(many), ElementsAre("step_outcomes[0].ranks: must have at most 16384 "
                                            "entries, but has 16385"));
  const ProfileUpload far =
      UploadSteps(StepRequest("ranks { rank: 2 stage_index: 1 }"), PlanThatRan());
  ASSERT_EQ(far.unplanned.size(), 1u);
  EXPECT_THAT(far.unplanned[0].text, HasSubstr("rank 2 is on stage_index 1"));
}

TEST(RollBackFromProtoTest, NeedsExactlyOneTarget) {
  const auto fields = [](const std::string& text) {
    v1::RollBackProfileRequest request;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &request));
    RollBack roll_back;
    std::vector<std::string> all;
    for (const Violation& v : RollBackFromProto(request, &roll_back)) all.push_back(v.field);
    return all;
  };
  EXPECT_THAT(fields(""), ElementsAre("to_revision"));
  EXPECT_THAT(fields("to_revision: 1 remove_revision: 1"), ElementsAre("to_revision"));
  EXPECT_THAT(fields("to_revision: -1"), ElementsAre("to_revision"));
  EXPECT_THAT(fields("remove_revision: 0 author: '\\n'"), ElementsAre("remove_revision", "author"));
  EXPECT_THAT(fields("to_revision: 0"), ElementsAre());
}

}  // namespace
}  // namespace evenkeel::server
