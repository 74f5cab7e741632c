// Tests profiles through a server that really plans, with stores on disk.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>

#include <filesystem>
#include <string>

#include "server/planning/compute_plan.h"
#include "tests/server/rpc/server_fixture.h"

namespace evenkeel::server {
namespace {

using grpc::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;

class ProfilesTest : public ServerFixture {
 protected:
  ProfilesTest() { Restart(folder() + "/profiles"); }

  std::string folder() const { return address().substr(5, address().rfind('/') - 5); }

  void Restart(const std::string& store) {
    server_.reset();
    options_.profile_store = store;
    std::string error;
    server_ = Server::Start(options_, &ComputePlan, &error);
    ASSERT_NE(server_, nullptr) << error;
  }

  template <typename Request, typename Response>
  grpc::Status Call(grpc::Status (v1::PlannerService::Stub::*method)(grpc::ClientContext*,
                                                                     const Request&, Response*),
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    return (stub_.get()->*method)(&context, request, response);
  }

  v1::PlanJobResponse Plan() {
    v1::PlanJobResponse response;
    v1::PlanJobRequest request = Request();
    request.mutable_job()->mutable_training()->set_global_batch_samples(64);
    const grpc::Status status = Call(&v1::PlannerService::Stub::PlanJob, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  // Makes a profile of encoder layers at tensor parallel 2, for which the model predicts 5.9 ms.
  static v1::RecordProfileRequest Profile(double seconds) {
    v1::RecordProfileRequest request;
    request.set_model("internvl-chat-v1.5");
    request.set_gpu_type("a100-sxm-80gb");
    request.set_tensor_parallel(2);
    request.set_author("tester");
    v1::LayerTime* time = request.add_layer_times();
    time->set_layer_kind(v1::LAYER_KIND_ENCODER);
    time->set_units(9);
    time->set_forward_seconds(seconds);
    return request;
  }

  v1::RecordProfileResponse Record(const v1::RecordProfileRequest& request) {
    v1::RecordProfileResponse response;
    const grpc::Status status = Call(&v1::PlannerService::Stub::RecordProfile, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  v1::RollBackProfileResponse BackTo(int64_t revision) {
    v1::RollBackProfileRequest request;
    request.set_to_revision(revision);
    v1::RollBackProfileResponse response;
    EXPECT_TRUE(Call(&v1::PlannerService::Stub::RollBackProfile, request, &response).ok());
    return response;
  }

  v1::ListProfilesResponse List(const v1::ListProfilesRequest& request = {}) {
    v1::ListProfilesResponse response;
    EXPECT_TRUE(Call(&v1::PlannerService::Stub::ListProfiles, request, &response).ok());
    return response;
  }

  static bool SaysMeasured(const v1::Plan& plan, const std::string& figure) {
    for (const v1::FigureBasis& f : plan.provenance().figures()) {
      if (f.figure() == figure) return f.basis() == v1::BASIS_MEASURED;
    }
    return false;
  }
};

TEST_F(ProfilesTest, PlansFollowWhatIsRecordedAndRolledBack) {
  const v1::PlanJobResponse before = Plan();
  EXPECT_EQ(before.plan().provenance().calibration_version(), "none");
  const v1::RecordProfileResponse recorded = Record(Profile(0.009));
  EXPECT_EQ(recorded.revision(), 1);
  EXPECT_TRUE(recorded.durable());
  EXPECT_GT(recorded.layer_time_error().before_ratio(), 0.2);
  EXPECT_LT(recorded.layer_time_error().after_ratio(), 1e-6);

  const v1::PlanJobResponse after = Plan();  // exactly the same bytes as before
  EXPECT_NE(after.plan_id(), before.plan_id());
  EXPECT_EQ(after.plan().provenance().calibration_version(), recorded.calibration_version());
  EXPECT_THAT(after.plan().provenance().profile_revisions(), ElementsAre(1));
  EXPECT_TRUE(SaysMeasured(after.plan(), "layer_times.encoder"));
  EXPECT_FALSE(SaysMeasured(after.plan(), "layer_times.dense"));
  EXPECT_GT(after.plan().predictions().step().encoder_compute_seconds(),
            before.plan().predictions().step().encoder_compute_seconds());
  EXPECT_EQ(Plan().served_from(), v1::SERVED_FROM_MEMORY);

  EXPECT_THAT(BackTo(0).deactivated_revisions(), ElementsAre(1));
  const v1::PlanJobResponse restored = Plan();
  EXPECT_EQ(restored.plan_id(), before.plan_id());
  EXPECT_EQ(restored.plan().SerializeAsString(), before.plan().SerializeAsString());
}

TEST_F(ProfilesTest, OtherModelsKeepTheirPlans) {
  const std::string before = Plan().plan_id();
  v1::RecordProfileRequest other = Profile(0.003);
  other.set_gpu_type("h100-sxm-80gb");
  EXPECT_EQ(Record(other).revision(), 1);
  EXPECT_EQ(Plan().plan_id(), before);
}

TEST_F(ProfilesTest, StepsCorrectLaterPlans) {
  const v1::PlanJobResponse before = Plan();
  const double predicted = before.plan().predictions().step().total_seconds();
  v1::RecordProfileRequest request;
  request.set_model("internvl-chat-v1.5");
  request.set_gpu_type("a100-sxm-80gb");
  request.add_step_outcomes()->set_plan_id(before.plan_id());
  request.mutable_step_outcomes(0)->set_step_seconds(1.2 * predicted);
  request.add_step_outcomes()->set_plan_id("plan-00000000000000000000000000000000");
  request.mutable_step_outcomes(1)->set_step_seconds(1);
  const v1::RecordProfileResponse recorded = Record(request);
  EXPECT_EQ(recorded.outcome_count(), 1);
  ASSERT_EQ(recorded.refused_size(), 1);
  EXPECT_EQ(recorded.refused(0).field(), "step_outcomes[1]");
  EXPECT_EQ(recorded.refused(0).reason(), v1::REFUSAL_REASON_PLAN_UNKNOWN);
  EXPECT_NEAR(recorded.step().ratio(), 1.2, 1e-6);
  EXPECT_NEAR(recorded.step_error().before_ratio(), 1 - 1 / 1.2, 1e-6);
  const v1::StepTime after = Plan().plan().predictions().step();
  EXPECT_NEAR(after.total_seconds(), 1.2 * predicted, 1e-6 * predicted);
  EXPECT_NEAR(after.measured_correction_seconds(), 0.2 * predicted, 1e-6 * predicted);
}

TEST_F(ProfilesTest, TheHistorySurvivesTheServer) {
  Record(Profile(0.007));
  Record(Profile(0.0071));
  const std::string id = Plan().plan_id();
  Restart(options_.profile_store);
  EXPECT_EQ(Plan().plan_id(), id);
  BackTo(1);
  const v1::ListProfilesResponse all = List();
  ASSERT_EQ(all.revisions_size(), 3);
  EXPECT_TRUE(all.durable());
  EXPECT_EQ(all.revisions(0).action(), v1::PROFILE_ACTION_ROLL_BACK_TO);
  EXPECT_EQ(all.revisions(1).author(), "tester");
  EXPECT_FALSE(all.revisions(1).active());
  EXPECT_EQ(all.revisions(2).timed_layer_count(), 1);
  EXPECT_FALSE(all.revisions(2).has_profile());
}

TEST_F(ProfilesTest, ListsInPages) {
  for (int i = 0; i < 5; ++i) Record(Profile(0.007 + 0.0001 * i));
  v1::ListProfilesRequest request;
  request.set_page_size(2);
  std::vector<int64_t> revisions;
  do {
    const v1::ListProfilesResponse page = List(request);
    EXPECT_LE(page.revisions_size(), 2);
    for (const auto& r : page.revisions()) revisions.push_back(r.revision());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  EXPECT_THAT(revisions, ElementsAre(5, 4, 3, 2, 1));
  request.set_model_filter("llama");
  EXPECT_EQ(List(request).revisions_size(), 0);
  request.set_model_filter("internvl");
  request.set_include_measurements(true);
  EXPECT_NEAR(List(request).revisions(1).profile().layer_times(0).forward_seconds(), 0.0073, 1e-9);
  request.set_page_token("x");
  request.set_page_size(-1);
  v1::ListProfilesResponse response;
  EXPECT_EQ(Reason(Call(&v1::PlannerService::Stub::ListProfiles, request, &response)),
            "INVALID_REQUEST");
}

TEST_F(ProfilesTest, ErrorsNameTheirReason) {
  v1::RecordProfileResponse recorded;
  grpc::Status status =
      Call(&v1::PlannerService::Stub::RecordProfile, v1::RecordProfileRequest(), &recorded);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  google::rpc::BadRequest bad;
  ASSERT_TRUE(Detail(status, &bad));
  EXPECT_EQ(bad.field_violations_size(), 3);
  v1::RollBackProfileRequest request;
  v1::RollBackProfileResponse rolled;
  request.set_remove_revision(4);
  status = Call(&v1::PlannerService::Stub::RollBackProfile, request, &rolled);
  EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(Reason(status), "PROFILE_NOT_FOUND");
  google::rpc::ResourceInfo resource;
  ASSERT_TRUE(Detail(status, &resource));
  EXPECT_EQ(resource.resource_name(), "4");
}

TEST_F(ProfilesTest, AnswersNameTheirRevision) {
  EXPECT_EQ(Plan().calibration_revision(), 0);
  Record(Profile(0.007));
  EXPECT_EQ(Plan().calibration_revision(), 1);  // planned
  EXPECT_EQ(Plan().calibration_revision(), 1);  // remembered
  v1::RecordProfileRequest other = Profile(0.003);
  other.set_gpu_type("h100-sxm-80gb");
  Record(other);
  const v1::PlanJobResponse after = Plan();
  EXPECT_EQ(after.calibration_revision(), 2);  // the same plan, still valid
  EXPECT_EQ(after.served_from(), v1::SERVED_FROM_MEMORY);
  EXPECT_FALSE(after.has_calibration_unconfirmed_seconds());
  v1::EvaluatePlanRequest evaluate;
  *evaluate.mutable_job() = Request().job();
  evaluate.mutable_job()->mutable_training()->set_global_batch_samples(64);
  *evaluate.mutable_plan() = after.plan();
  v1::EvaluatePlanResponse evaluated;
  const grpc::Status status = Call(&v1::PlannerService::Stub::EvaluatePlan, evaluate, &evaluated);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(evaluated.calibration_revision(), 2);
}

TEST_F(ProfilesTest, ARevisionMayBeAskedFor) {
  v1::PlanJobRequest request = Request();
  request.mutable_job()->mutable_training()->set_global_batch_samples(64);
  request.set_min_calibration_revision(1);
  v1::PlanJobResponse response;
  grpc::Status status = Call(&v1::PlannerService::Stub::PlanJob, request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(Reason(status), "CALIBRATION_BEHIND");
  const std::string without = Plan().plan_id();
  v1::RecordProfileRequest other = Profile(0.003);
  other.set_gpu_type("h100-sxm-80gb");
  Record(other);
  status = Call(&v1::PlannerService::Stub::PlanJob, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.plan_id(), without);  // not part of the identity
  request.set_min_calibration_revision(-1);
  EXPECT_EQ(Reason(Call(&v1::PlannerService::Stub::PlanJob, request, &response)),
            "INVALID_REQUEST");
}

TEST_F(ProfilesTest, WithoutAStoreItSaysSo) {
  Restart("off");
  EXPECT_FALSE(Record(Profile(0.007)).durable());
  EXPECT_FALSE(List().durable());
  Restart("off");
  EXPECT_EQ(List().revisions_size(), 0);
}

TEST_F(ProfilesTest, ABadStoreKeepsTheServerFromStarting) {
  server_.reset();
  options_.profile_store = folder() + "/none/profiles";
  std::string error;
  EXPECT_EQ(Server::Start(options_, &ComputePlan, &error), nullptr);
  EXPECT_THAT(error, HasSubstr("profile store " + options_.profile_store));
}

}  // namespace
}  // namespace evenkeel::server
