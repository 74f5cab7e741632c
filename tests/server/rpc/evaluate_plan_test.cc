// Tests EvaluatePlan over gRPC. Our own plan is the fixture's; the caller's is really predicted.
#include <chrono>
#include <future>

#include "tests/server/rpc/server_fixture.h"

namespace evenkeel::server {
namespace {

using grpc::StatusCode;

class EvaluatePlanTest : public ServerFixture {
 protected:
  static v1::EvaluatePlanRequest Evaluation(int gpus = 32) {
    v1::EvaluatePlanRequest request;
    *request.mutable_job() = Request(gpus).job();
    request.mutable_job()->mutable_training()->set_unit_cap(20);
    request.mutable_job()->mutable_training()->set_token_cap(6656);
    v1::Parallelism* degrees = request.mutable_plan()->mutable_parallelism();
    degrees->set_tensor(8);
    degrees->set_data(gpus / 8);
    return request;
  }

  grpc::Status Evaluate(const v1::EvaluatePlanRequest& request,
                        v1::EvaluatePlanResponse* response) {
    grpc::ClientContext context;
    return stub_->EvaluatePlan(&context, request, response);
  }
};

TEST_F(EvaluatePlanTest, AnswersTheCallersPlanBesideOurs) {
  v1::PlanJobRequest plan;
  *plan.mutable_job() = Evaluation().job();
  v1::PlanJobResponse planned;
  ASSERT_TRUE(PlanJob(plan, &planned).ok());
  v1::EvaluatePlanResponse response;
  const grpc::Status status = Evaluate(Evaluation(), &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.best().SerializeAsString(), planned.plan().SerializeAsString());
  EXPECT_EQ(started_, 1) << "our own plan was known";
  EXPECT_EQ(response.evaluated().stages_size(), 1);
  EXPECT_EQ(response.evaluated().batch_rule().unit_cap(), 20);
  EXPECT_GT(response.evaluated().predictions().step().total_seconds(), 0);
  EXPECT_FALSE(response.has_slower_by_ratio()) << "the fixture's plan has no GPU-days";
}

TEST_F(EvaluatePlanTest, SaysHowMicroBatchesArePadded) {
  v1::EvaluatePlanRequest request = Evaluation();
  request.set_evaluate_only(true);
  v1::Training* training = request.mutable_job()->mutable_training();
  training->clear_unit_cap();
  training->clear_token_cap();
  training->set_micro_batch_samples(2);
  v1::EvaluatePlanResponse response;
  const grpc::Status status = Evaluate(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.evaluated().padded_batches().micro_batch_samples(), 2);
  EXPECT_GT(response.evaluated().padded_batches().mean_row_tokens(), 0);
  EXPECT_FALSE(response.evaluated().padded_batches().has_packed());
}

TEST_F(EvaluatePlanTest, OursIsNotPlannedIfItIsNotWanted) {
  v1::EvaluatePlanRequest request = Evaluation();
  v1::EvaluatePlanResponse both, only;
  ASSERT_TRUE(Evaluate(request, &both).ok());
  EXPECT_TRUE(both.has_best());
  EXPECT_EQ(started_, 1);
  request.mutable_job()->mutable_training()->set_seed(7);
  request.set_evaluate_only(true);
  const grpc::Status status = Evaluate(request, &only);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(started_, 1) << "the second job was planned";
  EXPECT_FALSE(only.has_best());
  EXPECT_FALSE(only.has_slower_by_ratio());
  EXPECT_EQ(only.evaluated().stages(0).memory().SerializeAsString(),
            both.evaluated().stages(0).memory().SerializeAsString());
  EXPECT_GT(only.evaluated().predictions().step().total_seconds(), 0);

  request.mutable_job()->mutable_training()->clear_unit_cap();
  request.mutable_job()->mutable_training()->clear_token_cap();
  ASSERT_TRUE(Evaluate(request, &only).ok());
  EXPECT_GT(only.evaluated().batch_rule().unit_cap(), 0) << "derived from the data";
  EXPECT_GT(only.evaluated().batch_rule().token_cap(), 0);
}

TEST_F(EvaluatePlanTest, ATimelineComesOnRequestOnly) {
  v1::EvaluatePlanRequest request = Evaluation();
  v1::EvaluatePlanResponse response;
  ASSERT_TRUE(Evaluate(request, &response).ok());
  EXPECT_FALSE(response.has_timeline());
  request.set_include_timeline(true);
  const grpc::Status status = Evaluate(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(response.timeline().stages_size(), 1);
  EXPECT_EQ(response.timeline().ranks_size(), 4);
  EXPECT_EQ(response.timeline().micro_batches(),
            response.evaluated().predictions().micro_batches());
  EXPECT_EQ(response.timeline().stages(0).memory().peak_bytes(),
            response.evaluated().stages(0).memory().total_bytes());
}

TEST_F(EvaluatePlanTest, ATimelineThatDoesNotFitIntoAMessageIsRefused) {
  v1::EvaluatePlanRequest request = Evaluation();
  request.mutable_job()->mutable_training()->set_global_batch_samples(1'000'000);
  request.set_include_timeline(true);
  v1::EvaluatePlanResponse response;
  const grpc::Status status = Evaluate(request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  google::rpc::BadRequest detail;
  ASSERT_TRUE(Detail(status, &detail));
  ASSERT_EQ(detail.field_violations_size(), 1);
  EXPECT_EQ(detail.field_violations(0).field(), "include_timeline");
  EXPECT_NE(detail.field_violations(0).description().find("accepted: at most 16384"),
            std::string::npos);
}

TEST_F(EvaluatePlanTest, APlanIsForOneOffer) {
  v1::EvaluatePlanRequest request = Evaluation();
  *request.mutable_job()->mutable_cluster()->add_pools() = request.job().cluster().pools(0);
  v1::EvaluatePlanResponse response;
  const grpc::Status status = Evaluate(request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  google::rpc::BadRequest detail;
  ASSERT_TRUE(Detail(status, &detail));
  ASSERT_EQ(detail.field_violations_size(), 1);
  EXPECT_EQ(detail.field_violations(0).field(), "job.cluster.pools");
}

TEST_F(EvaluatePlanTest, EvaluationsAreNotListedAsPlans) {
  v1::EvaluatePlanResponse response;
  ASSERT_TRUE(Evaluate(Evaluation(), &response).ok());
  v1::ListPlansResponse page;
  grpc::ClientContext context;
  ASSERT_TRUE(stub_->ListPlans(&context, {}, &page).ok());
  EXPECT_EQ(page.plans_size(), 1);
}

TEST_F(EvaluatePlanTest, BadPlansGetAllTheirViolations) {
  v1::EvaluatePlanRequest request = Evaluation();
  request.mutable_plan()->mutable_parallelism()->set_data(3);
  request.set_max_violations(-1);
  v1::EvaluatePlanResponse response;
  const grpc::Status status = Evaluate(request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Reason(status), "INVALID_REQUEST");
  google::rpc::BadRequest detail;
  ASSERT_TRUE(Detail(status, &detail));
  ASSERT_EQ(detail.field_violations_size(), 2);
  EXPECT_EQ(detail.field_violations(0).field(), "plan.parallelism");
  EXPECT_EQ(detail.field_violations(1).field(), "max_violations");
  EXPECT_EQ(started_, 0);
}

TEST_F(EvaluatePlanTest, CancellingStopsThePlanThatItWaitsFor) {
  hold_ = true;
  grpc::ClientContext context;
  v1::EvaluatePlanResponse response;
  auto call = std::async(std::launch::async,
                         [&] { return stub_->EvaluatePlan(&context, Evaluation(), &response); });
  WaitForStarted(1);
  context.TryCancel();
  EXPECT_EQ(call.get().error_code(), StatusCode::CANCELLED);
  while (stopped_ == 0) std::this_thread::yield();
  while (server_->calls_in_flight() > 0) std::this_thread::yield();
}

// Our own plan is known; the evaluation waits behind another plan when the deadline passes.
TEST_F(EvaluatePlanTest, ADeadlineTakesTheEvaluationOutOfTheQueue) {
  v1::EvaluatePlanResponse response;
  ASSERT_TRUE(Evaluate(Evaluation(), &response).ok());
  hold_ = true;
  auto busy = std::async(std::launch::async, [this] {
    v1::PlanJobResponse unused;
    return PlanJob(Request(16), &unused);
  });
  WaitForStarted(2);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
  v1::EvaluatePlanRequest other = Evaluation();  // not the one that is known by now
  other.mutable_plan()->mutable_parallelism()->set_tensor(4);
  other.mutable_plan()->mutable_parallelism()->set_data(8);
  EXPECT_EQ(stub_->EvaluatePlan(&context, other, &response).error_code(),
            StatusCode::DEADLINE_EXCEEDED);
  while (server_->calls_in_flight() > 1) std::this_thread::yield();
  hold_ = false;
  EXPECT_TRUE(busy.get().ok());
}

TEST_F(EvaluatePlanTest, AFullQueueIsRefusedWithARetryDelay) {
  v1::EvaluatePlanResponse response;
  ASSERT_TRUE(Evaluate(Evaluation(), &response).ok());
  hold_ = true;
  std::vector<std::future<grpc::Status>> busy;
  for (const int gpus : {16, 24}) {  // one runs, one waits
    busy.push_back(std::async(std::launch::async, [this, gpus] {
      v1::PlanJobResponse unused;
      return PlanJob(Request(gpus), &unused);
    }));
    while (server_->calls_in_flight() < static_cast<int64_t>(busy.size()))
      std::this_thread::yield();
    WaitForStarted(2);
  }
  WaitQueued(1);
  const grpc::Status status = Evaluate(Evaluation(), &response);
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Reason(status), "QUEUE_FULL");
  google::rpc::RetryInfo retry;
  EXPECT_TRUE(Detail(status, &retry));
  hold_ = false;
  for (auto& call : busy) EXPECT_TRUE(call.get().ok());
}

TEST_F(EvaluatePlanTest, ADatasetThatIsNotHereIsNotFound) {
  v1::EvaluatePlanRequest request = Evaluation();
  request.mutable_job()->mutable_dataset()->set_dataset_ref("ds-" + std::string(32, '0'));
  v1::EvaluatePlanResponse response;
  const grpc::Status status = Evaluate(request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(Reason(status), "DATASET_NOT_FOUND");
}

}  // namespace
}  // namespace evenkeel::server
