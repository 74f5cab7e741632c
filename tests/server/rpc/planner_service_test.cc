#include <sys/stat.h>

#include <chrono>
#include <future>

#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/generic/generic_stub.h"
#include "tests/server/rpc/server_fixture.h"

namespace evenkeel::server {
namespace {

using grpc::StatusCode;
using PlannerServiceTest = ServerFixture;

// Calls a unary method with arbitrary bytes.
grpc::Status CallRaw(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                     const std::string& bytes, std::string* answer) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  const grpc::Slice slice(bytes);
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer response;
  std::promise<grpc::Status> done;
  stub.UnaryCall(&context, "/evenkeel.v1.PlannerService/" + method, {}, &request, &response,
                 [&done](grpc::Status status) { done.set_value(std::move(status)); });
  grpc::Status status = done.get_future().get();
  grpc::Slice whole;
  if (status.ok() && response.DumpToSingleSlice(&whole).ok()) {
    answer->assign(reinterpret_cast<const char*>(whole.begin()), whole.size());
  }
  return status;
}

TEST_F(PlannerServiceTest, PlansAJobAndThenServesItFromMemory) {
  v1::PlanJobRequest request = Request();
  request.set_label("night run");
  v1::PlanJobResponse first, second;
  ASSERT_TRUE(PlanJob(request, &first).ok());
  EXPECT_EQ(first.served_from(), v1::SERVED_FROM_PLANNER);
  EXPECT_EQ(first.plan().plan_id(), first.plan_id());
  EXPECT_EQ(first.label(), "night run");
  ASSERT_TRUE(PlanJob(request, &second).ok());
  EXPECT_EQ(second.served_from(), v1::SERVED_FROM_MEMORY);
  EXPECT_EQ(second.label(), "night run");
  EXPECT_EQ(second.plan().SerializeAsString(), first.plan().SerializeAsString());
  EXPECT_EQ(started_, 1);
}

// The offers are really planned. The fixture's planner is for plans of one offer.
TEST_F(PlannerServiceTest, OffersAreAnsweredTheSameFromMemory) {
  v1::PlanJobRequest request = Request();
  request.mutable_job()->mutable_model()->set_name("llama3-8b");
  v1::GpuPool* pool = request.mutable_job()->mutable_cluster()->mutable_pools(0);
  pool->clear_gpu_count();
  pool->add_gpu_counts(8);
  pool->add_gpu_counts(16);
  v1::PlanJobResponse first, second, validated;
  grpc::Status status = PlanJob(request, &first);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(first.offers_size(), 2);
  EXPECT_EQ(first.plan().SerializeAsString(), first.offers(0).SerializeAsString());
  EXPECT_EQ(first.plan().subject().gpu_count(), 16);
  EXPECT_NE(first.plan().plan_id(), first.plan_id());
  for (const char* label : {"", "x"}) {  // by the memo of requests, and by the id
    request.set_label(label);
    ASSERT_TRUE(PlanJob(request, &second).ok());
    EXPECT_EQ(second.served_from(), v1::SERVED_FROM_MEMORY);
    ASSERT_EQ(second.offers_size(), 2);
    EXPECT_EQ(second.offers(1).SerializeAsString(), first.offers(1).SerializeAsString());
  }
  request.set_validate_only(true);
  ASSERT_TRUE(PlanJob(request, &validated).ok());
  EXPECT_EQ(validated.plan_id(), first.plan_id());
  grpc::ClientContext context;
  v1::GetPlanRequest get;
  v1::GetPlanResponse got;
  get.set_plan_id(first.offers(1).plan_id());
  ASSERT_TRUE(stub_->GetPlan(&context, get, &got).ok());
  EXPECT_EQ(got.plan().subject().gpu_count(), 8);
}

// Other bytes for the same job are found by plan id, not by the memo of requests.
TEST_F(PlannerServiceTest, ALabelDoesNotChangeThePlan) {
  v1::PlanJobResponse first, second;
  ASSERT_TRUE(PlanJob(Request(), &first).ok());
  v1::PlanJobRequest labelled = Request();
  labelled.set_label("x");
  ASSERT_TRUE(PlanJob(labelled, &second).ok());
  EXPECT_EQ(second.served_from(), v1::SERVED_FROM_MEMORY);
  EXPECT_EQ(second.plan_id(), first.plan_id());
  EXPECT_EQ(second.label(), "x");
}

TEST_F(PlannerServiceTest, RepeatedRequestsGetEqualBytes) {
  std::string first, second, third;
  const std::string bytes = Request().SerializeAsString();
  ASSERT_TRUE(CallRaw(channel_, "PlanJob", bytes, &first).ok());
  ASSERT_TRUE(CallRaw(channel_, "PlanJob", bytes, &second).ok());
  ASSERT_TRUE(CallRaw(channel_, "PlanJob", bytes, &third).ok());
  EXPECT_EQ(second, third);
  EXPECT_EQ(first.size(), second.size());  // they differ in served_from only
}

TEST_F(PlannerServiceTest, ValidateOnlyGivesTheIdAndPlansNothing) {
  v1::PlanJobRequest request = Request();
  request.set_validate_only(true);
  v1::PlanJobResponse checked, planned;
  ASSERT_TRUE(PlanJob(request, &checked).ok());
  EXPECT_FALSE(checked.has_plan());
  EXPECT_EQ(checked.served_from(), v1::SERVED_FROM_UNSPECIFIED);
  EXPECT_EQ(started_, 0);
  ASSERT_TRUE(PlanJob(Request(), &planned).ok());
  EXPECT_EQ(checked.plan_id(), planned.plan_id());
}

TEST_F(PlannerServiceTest, BadJobsGetTheirViolations) {
  v1::PlanJobResponse response;
  v1::PlanJobRequest request = Request();
  request.mutable_job()->mutable_cluster()->mutable_pools(0)->set_gpu_count(0);
  const grpc::Status status = PlanJob(request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Reason(status), "INVALID_REQUEST");
  google::rpc::BadRequest detail;
  ASSERT_TRUE(Detail(status, &detail));
  EXPECT_EQ(detail.field_violations(0).field(), "job.cluster.pools[0].gpu_count");
}

TEST_F(PlannerServiceTest, MalformedBytesAreInvalid) {
  std::string answer;
  for (const char* method : {"PlanJob", "EvaluatePlan", "GetPlan", "ListPlans", "ListModels",
                             "ListGpuTypes", "ListTrainers"}) {
    const grpc::Status status = CallRaw(channel_, method, "\xff\xff\xff", &answer);
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT) << method;
    EXPECT_EQ(Reason(status), "MALFORMED_REQUEST") << method;
  }
}

TEST_F(PlannerServiceTest, GetPlanReturnsTheStoredBytes) {
  v1::PlanJobResponse planned;
  ASSERT_TRUE(PlanJob(Request(), &planned).ok());
  v1::GetPlanRequest request;
  request.set_plan_id(planned.plan_id());
  v1::GetPlanResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(stub_->GetPlan(&context, request, &response).ok());
  EXPECT_EQ(response.plan().SerializeAsString(), planned.plan().SerializeAsString());
  EXPECT_GT(response.create_time().seconds(), 1'600'000'000);
}

TEST_F(PlannerServiceTest, GetPlanTellsUnknownFromWrong) {
  v1::GetPlanRequest request;
  v1::GetPlanResponse response;
  request.set_plan_id("plan-" + std::string(32, '0'));
  grpc::ClientContext unknown_context;
  const grpc::Status unknown = stub_->GetPlan(&unknown_context, request, &response);
  EXPECT_EQ(unknown.error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(Reason(unknown), "PLAN_NOT_FOUND");
  google::rpc::ResourceInfo resource;
  ASSERT_TRUE(Detail(unknown, &resource));
  EXPECT_EQ(resource.resource_name(), request.plan_id());
  for (const char* wrong : {"", "plan-", "plan-XYZ", "../../etc/passwd"}) {
    request.set_plan_id(wrong);
    grpc::ClientContext context;
    const grpc::Status status = stub_->GetPlan(&context, request, &response);
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT) << wrong;
    EXPECT_EQ(Reason(status), "INVALID_REQUEST") << wrong;
  }
}

TEST_F(PlannerServiceTest, ListsPlansInPages) {
  v1::PlanJobResponse planned;
  for (const int gpus : {8, 16, 32}) ASSERT_TRUE(PlanJob(Request(gpus), &planned).ok());
  v1::ListPlansRequest request;
  request.set_page_size(2);
  v1::ListPlansResponse page;
  grpc::ClientContext first;
  ASSERT_TRUE(stub_->ListPlans(&first, request, &page).ok());
  ASSERT_EQ(page.plans_size(), 2);
  EXPECT_EQ(page.plans(0).plan_id(), planned.plan_id());
  EXPECT_EQ(page.plans(0).step_seconds(), 1.5);
  EXPECT_GT(page.plans(0).size_bytes(), 0);
  request.set_page_token(page.next_page_token());
  grpc::ClientContext second;
  ASSERT_TRUE(stub_->ListPlans(&second, request, &page).ok());
  EXPECT_EQ(page.plans_size(), 1);
  EXPECT_EQ(page.next_page_token(), "");
}

TEST_F(PlannerServiceTest, ListPlansReportsAllViolations) {
  v1::ListPlansRequest request;
  request.set_page_size(-1);
  request.set_page_token("nonsense");
  v1::ListPlansResponse page;
  grpc::ClientContext context;
  const grpc::Status status = stub_->ListPlans(&context, request, &page);
  google::rpc::BadRequest detail;
  ASSERT_TRUE(Detail(status, &detail));
  EXPECT_EQ(detail.field_violations_size(), 2);
}

TEST_F(PlannerServiceTest, ListsTheCatalogue) {
  v1::ListModelsResponse models;
  grpc::ClientContext models_context;
  EXPECT_TRUE(stub_->ListModels(&models_context, {}, &models).ok());
  EXPECT_GT(models.models_size(), 0);
  v1::ListGpuTypesResponse gpus;
  grpc::ClientContext gpus_context;
  EXPECT_TRUE(stub_->ListGpuTypes(&gpus_context, {}, &gpus).ok());
  EXPECT_GT(gpus.gpus_size(), 0);
  v1::ListModelsRequest wrong;
  wrong.set_page_size(-1);
  grpc::ClientContext wrong_context;
  EXPECT_EQ(Reason(stub_->ListModels(&wrong_context, wrong, &models)), "INVALID_REQUEST");
}

TEST_F(PlannerServiceTest, EchoesGoodRequestIdsAndReplacesOthers) {
  v1::ListGpuTypesResponse response;
  const auto id_for = [&](const std::string& given) {
    grpc::ClientContext context;
    context.AddMetadata("x-request-id", given);
    EXPECT_TRUE(stub_->ListGpuTypes(&context, {}, &response).ok());
    const auto header = context.GetServerInitialMetadata().find("x-request-id");
    return std::string(header->second.data(), header->second.size());
  };
  EXPECT_EQ(id_for("job-7.A_b"), "job-7.A_b");
  EXPECT_EQ(id_for("has space").size(), 16u);
  EXPECT_EQ(id_for(std::string(65, 'a')).size(), 16u);
}

TEST_F(PlannerServiceTest, RefusesCompressedRequests) {
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  v1::PlanJobRequest request = Request();
  request.set_label(std::string(200, 'a'));
  v1::PlanJobResponse response;
  EXPECT_EQ(stub_->PlanJob(&context, request, &response).error_code(), StatusCode::UNIMPLEMENTED);
}

TEST_F(PlannerServiceTest, RefusesLargeRequests) {
  v1::PlanJobRequest request = Request();
  request.set_label(std::string(2 << 20, 'a'));
  v1::PlanJobResponse response;
  EXPECT_EQ(PlanJob(request, &response).error_code(), StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(PlannerServiceTest, CancellingStopsTheComputation) {
  hold_ = true;
  grpc::ClientContext context;
  v1::PlanJobResponse response;
  auto call = std::async(std::launch::async,
                         [&] { return stub_->PlanJob(&context, Request(), &response); });
  WaitForStarted(1);
  context.TryCancel();
  EXPECT_EQ(call.get().error_code(), StatusCode::CANCELLED);
  while (stopped_ == 0) std::this_thread::yield();
  while (server_->calls_in_flight() > 0) std::this_thread::yield();
}

TEST_F(PlannerServiceTest, ADeadlineStopsTheComputation) {
  hold_ = true;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
  v1::PlanJobResponse response;
  EXPECT_EQ(stub_->PlanJob(&context, Request(), &response).error_code(),
            StatusCode::DEADLINE_EXCEEDED);
  while (stopped_ == 0) std::this_thread::yield();
}

TEST_F(PlannerServiceTest, AFullQueueIsRefusedWithARetryDelayAndHitsStillWork) {
  v1::PlanJobResponse response;
  ASSERT_TRUE(PlanJob(Request(8), &response).ok());
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
  const grpc::Status status = PlanJob(Request(40), &response);
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Reason(status), "QUEUE_FULL");
  google::rpc::RetryInfo retry;
  ASSERT_TRUE(Detail(status, &retry));
  EXPECT_GE(retry.retry_delay().seconds() + retry.retry_delay().nanos() * 1e-9, 0.099);
  EXPECT_TRUE(PlanJob(Request(8), &response).ok());
  hold_ = false;
  for (auto& call : busy) EXPECT_TRUE(call.get().ok());
}

TEST_F(PlannerServiceTest, TheDrainAnswersWhatIsInFlightAndRefusesTheRest) {
  auto health = grpc::health::v1::Health::NewStub(channel_);
  const auto serving = [&] {
    grpc::ClientContext context;
    grpc::health::v1::HealthCheckRequest request;
    request.set_service("evenkeel.v1.PlannerService");
    grpc::health::v1::HealthCheckResponse response;
    EXPECT_TRUE(health->Check(&context, request, &response).ok());
    return response.status() == grpc::health::v1::HealthCheckResponse::SERVING;
  };
  EXPECT_TRUE(serving());
  grpc::ClientContext watch_context;
  auto watch = health->Watch(&watch_context, {});
  grpc::health::v1::HealthCheckResponse seen;
  ASSERT_TRUE(watch->Read(&seen));
  EXPECT_EQ(seen.status(), grpc::health::v1::HealthCheckResponse::SERVING);
  hold_ = true;
  v1::PlanJobResponse response;
  auto call = std::async(std::launch::async, [&] { return PlanJob(Request(8), &response); });
  WaitForStarted(1);
  server_->BeginDrain();
  EXPECT_FALSE(serving());
  ASSERT_TRUE(watch->Read(&seen));
  EXPECT_EQ(seen.status(), grpc::health::v1::HealthCheckResponse::NOT_SERVING);
  v1::PlanJobResponse refused;
  const grpc::Status status = PlanJob(Request(16), &refused);
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(Reason(status), "SHUTTING_DOWN");
  // The refused call ends when gRPC is done with it, a moment after its caller has the answer.
  while (server_->calls_in_flight() > 1) std::this_thread::yield();
  hold_ = false;
  EXPECT_TRUE(call.get().ok());
  const auto since = std::chrono::steady_clock::now();
  server_->Shutdown();  // in spite of the open Watch
  EXPECT_LT(std::chrono::steady_clock::now() - since, std::chrono::seconds(2));
}

TEST_F(PlannerServiceTest, TheSocketIsForUserAndGroup) {
  struct stat info {};
  ASSERT_EQ(stat(address().substr(5).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0660u);
}

TEST_F(PlannerServiceTest, ASecondServerOnTheSameAddressIsRefused) {
  std::string error;
  EXPECT_EQ(Server::Start(options_, {}, &error), nullptr);
  EXPECT_NE(error.find("another server listens"), std::string::npos) << error;
  Options tcp = options_;
  tcp.listen = {"127.0.0.1:0"};
  const auto first = Server::Start(tcp, {}, &error);
  ASSERT_NE(first, nullptr) << error;
  tcp.listen = {"127.0.0.1:" + std::to_string(first->ports()[0])};
  EXPECT_EQ(Server::Start(tcp, {}, &error), nullptr);
  EXPECT_NE(error.find(tcp.listen[0]), std::string::npos) << error;
}

}  // namespace
}  // namespace evenkeel::server
