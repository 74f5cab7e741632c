// Tests PlanCurve over gRPC, with the fixture's plans.
#include <chrono>
#include <future>
#include <set>

#include "tests/server/rpc/server_fixture.h"

namespace evenkeel::server {
namespace {

using grpc::StatusCode;

class PlanCurveTest : public ServerFixture {
 protected:
  static v1::PlanCurveRequest Sizes(int min, int max) {
    v1::PlanCurveRequest request;
    *request.mutable_job() = Request().job();
    request.mutable_job()->mutable_cluster()->mutable_pools(0)->clear_gpu_count();
    v1::NodeRange* range = request.add_nodes();
    range->set_min(min);
    range->set_max(max);
    return request;
  }

  grpc::Status PlanCurve(const v1::PlanCurveRequest& request, v1::PlanCurveResponse* response,
                         std::chrono::milliseconds timeout = std::chrono::seconds(60)) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + timeout);
    return stub_->PlanCurve(&context, request, response);
  }
};

TEST_F(PlanCurveTest, EachSizeHasTheIdOfPlanJobAndIsKept) {
  v1::PlanCurveRequest request = Sizes(1, 3);
  request.set_label("run 7");
  v1::PlanCurveResponse response;
  const grpc::Status status = PlanCurve(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.label(), "run 7");
  ASSERT_EQ(response.curves_size(), 1);
  EXPECT_EQ(response.curves(0).gpu_type(), "a100-sxm-80gb");
  ASSERT_EQ(response.curves(0).points_size(), 3);
  EXPECT_EQ(started_, 3);
  for (const v1::CurvePoint& point : response.curves(0).points()) {
    v1::PlanJobResponse alone;
    ASSERT_TRUE(PlanJob(Request(point.gpu_count()), &alone).ok());
    EXPECT_EQ(point.plan_id(), alone.plan_id());
    EXPECT_EQ(alone.served_from(), v1::SERVED_FROM_MEMORY);
    v1::GetPlanRequest get;
    get.set_plan_id(point.plan_id());
    v1::GetPlanResponse got;
    grpc::ClientContext context;
    EXPECT_TRUE(stub_->GetPlan(&context, get, &got).ok());
  }
  EXPECT_EQ(started_, 3) << "PlanJob found them";
}

TEST_F(PlanCurveTest, KnownSizesAreNotPlannedAgain) {
  v1::PlanJobResponse alone;
  ASSERT_TRUE(PlanJob(Request(16), &alone).ok());
  v1::PlanCurveResponse first, second;
  ASSERT_TRUE(PlanCurve(Sizes(1, 4), &first).ok());
  EXPECT_EQ(started_, 4) << "one of the four was known";
  ASSERT_TRUE(PlanCurve(Sizes(1, 4), &second).ok());
  EXPECT_EQ(started_, 4);
  EXPECT_EQ(first.SerializeAsString(), second.SerializeAsString());
}

// All 256 known sizes are taken on one thread, one within the other if that were recursive.
TEST_F(PlanCurveTest, TheLargestCurve) {
  v1::PlanCurveResponse first, second;
  ASSERT_TRUE(PlanCurve(Sizes(1, 256), &first).ok());
  ASSERT_TRUE(PlanCurve(Sizes(1, 256), &second).ok());
  EXPECT_EQ(started_, 256);
  std::set<std::string> ids;
  for (const v1::CurvePoint& point : second.curves(0).points()) ids.insert(point.plan_id());
  EXPECT_EQ(ids.size(), 256u);
}

TEST_F(PlanCurveTest, AShortSearchUsesKnownPlansAndKeepsNone) {
  v1::PlanJobResponse alone;
  ASSERT_TRUE(PlanJob(Request(16), &alone).ok());
  v1::PlanCurveRequest request = Sizes(2, 3);
  request.set_search(v1::CURVE_SEARCH_SHORT);
  v1::PlanCurveResponse response;
  ASSERT_TRUE(PlanCurve(request, &response).ok());
  EXPECT_EQ(started_, 1) << "short searches do not go through the fixture";
  EXPECT_FALSE(response.curves(0).points(0).estimated());
  EXPECT_TRUE(response.curves(0).points(1).estimated());
  EXPECT_GT(response.curves(0).points(1).step_seconds(), 0);
  v1::ListPlansResponse page;
  grpc::ClientContext context;
  ASSERT_TRUE(stub_->ListPlans(&context, {}, &page).ok());
  EXPECT_EQ(page.plans_size(), 1);
}

// Estimates of a curve may be replaced by plans, so that the same bytes get another answer.
TEST_F(PlanCurveTest, AnEstimateIsNotRemembered) {
  v1::PlanCurveRequest request = Sizes(2, 3);
  request.set_search(v1::CURVE_SEARCH_SHORT);
  v1::PlanCurveResponse response;
  ASSERT_TRUE(PlanCurve(request, &response).ok());
  EXPECT_TRUE(response.curves(0).points(0).estimated());
  v1::PlanJobResponse alone;
  ASSERT_TRUE(PlanJob(Request(16), &alone).ok());
  ASSERT_TRUE(PlanCurve(request, &response).ok());
  EXPECT_FALSE(response.curves(0).points(0).estimated());
}

TEST_F(PlanCurveTest, ARememberedCurveIsAnsweredByLabelAndCalibration) {
  v1::PlanCurveRequest request = Sizes(1, 3);
  v1::PlanCurveResponse first, again, labelled, measured;
  ASSERT_TRUE(PlanCurve(request, &first).ok());
  ASSERT_TRUE(PlanCurve(request, &again).ok());
  EXPECT_EQ(first.SerializeAsString(), again.SerializeAsString());
  request.set_label("run 8");
  ASSERT_TRUE(PlanCurve(request, &labelled).ok());
  EXPECT_EQ(labelled.label(), "run 8");
  v1::RecordProfileRequest profile;
  profile.set_model("internvl-chat-v1.5");
  profile.set_gpu_type("a100-sxm-80gb");
  v1::LayerTime* time = profile.add_layer_times();
  time->set_layer_kind(v1::LAYER_KIND_ENCODER);
  time->set_units(9);
  time->set_forward_seconds(0.01);
  v1::RecordProfileResponse recorded;
  grpc::ClientContext context;
  const grpc::Status status = stub_->RecordProfile(&context, profile, &recorded);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_TRUE(PlanCurve(request, &measured).ok());
  EXPECT_EQ(measured.calibration_revision(), recorded.revision());
  EXPECT_EQ(labelled.calibration_revision(), 0);
}

TEST_F(PlanCurveTest, CancellingStopsTheSizeBeingPlannedAndBeginsNoOther) {
  hold_ = true;
  grpc::ClientContext context;
  v1::PlanCurveResponse response;
  auto call = std::async(std::launch::async,
                         [&] { return stub_->PlanCurve(&context, Sizes(1, 8), &response); });
  WaitForStarted(1);
  context.TryCancel();
  EXPECT_EQ(call.get().error_code(), StatusCode::CANCELLED);
  while (stopped_ == 0) std::this_thread::yield();
  while (server_->calls_in_flight() > 0) std::this_thread::yield();
  EXPECT_EQ(started_, 1);
}

TEST_F(PlanCurveTest, ADeadlineStopsTheSizeBeingPlannedAndPlannedOnesStay) {
  v1::PlanCurveResponse response;
  ASSERT_TRUE(PlanCurve(Sizes(1, 2), &response).ok());
  hold_ = true;
  const grpc::Status status = PlanCurve(Sizes(1, 8), &response, std::chrono::milliseconds(200));
  EXPECT_EQ(status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  while (stopped_ == 0) std::this_thread::yield();
  while (server_->calls_in_flight() > 0) std::this_thread::yield();
  EXPECT_EQ(started_, 3) << "two before, and the third size";
  hold_ = false;
  ASSERT_TRUE(PlanCurve(Sizes(1, 3), &response).ok());
  EXPECT_EQ(started_, 4);
}

TEST_F(PlanCurveTest, AFullQueueRefusesTheCurve) {
  hold_ = true;
  std::vector<std::future<grpc::Status>> busy;
  for (const int gpus : {64, 128}) {
    busy.push_back(std::async(std::launch::async, [this, gpus] {
      v1::PlanJobResponse unused;
      return PlanJob(Request(gpus), &unused);
    }));
    WaitForStarted(1);
  }
  WaitQueued(1);
  v1::PlanCurveResponse response;
  EXPECT_EQ(PlanCurve(Sizes(1, 2), &response).error_code(), StatusCode::RESOURCE_EXHAUSTED);
  hold_ = false;
  for (auto& plan : busy) (void)plan.get();
}

TEST_F(PlanCurveTest, BadSizesNameTheField) {
  v1::PlanCurveResponse response;
  const grpc::Status status = PlanCurve(Sizes(3, 2), &response);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Reason(status), "INVALID_REQUEST");
  google::rpc::BadRequest detail;
  ASSERT_TRUE(Detail(status, &detail));
  ASSERT_EQ(detail.field_violations_size(), 1);
  EXPECT_EQ(detail.field_violations(0).field(), "nodes[0].max");
  EXPECT_EQ(started_, 0);
}

TEST_F(PlanCurveTest, ARevisionThatIsNotKnownIsRefused) {
  v1::PlanCurveRequest request = Sizes(1, 1);
  request.set_min_calibration_revision(7);
  v1::PlanCurveResponse response;
  EXPECT_EQ(PlanCurve(request, &response).error_code(), StatusCode::FAILED_PRECONDITION);
}

}  // namespace
}  // namespace evenkeel::server
