// Tests the gRPC backend against a server in this process that answers as the tests specify.
#include <google/protobuf/any.pb.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "client/cli/backend/backend.h"
#include "client/cli/base/command_error.h"
#include "evenkeel/v1/planner_service.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace evenkeel::cli {
namespace {

grpc::Status WithDetail(grpc::StatusCode code, const std::string& message,
                        const google::protobuf::Message& detail) {
  google::rpc::Status rich;
  rich.set_code(code);
  rich.set_message(message);
  rich.add_details()->PackFrom(google::rpc::ErrorInfo());
  rich.add_details()->PackFrom(detail);
  return grpc::Status(code, message, rich.SerializeAsString());
}

class FakeService : public v1::PlannerService::Service {
 public:
  grpc::Status PlanJob(grpc::ServerContext*, const v1::PlanJobRequest*,
                       v1::PlanJobResponse* response) override {
    return answer(++calls, response);
  }

  std::function<grpc::Status(int call, v1::PlanJobResponse* response)> answer;
  int calls = 0;
};

class GrpcBackendTest : public testing::Test {
 protected:
  GrpcBackendTest()
      : address_("unix:" + testing::TempDir() + "evenkeel-" + std::to_string(getpid()) + ".sock") {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address_, grpc::InsecureServerCredentials());
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
  }
  ~GrpcBackendTest() override { server_->Shutdown(std::chrono::system_clock::now()); }

  // Returns the error of PlanJob.
  CommandError Error(double timeout_seconds = 10) {
    try {
      MakeGrpcBackend(address_, timeout_seconds)->PlanJob({});
    } catch (const CommandError& error) {
      return error;
    }
    return CommandError(ExitCode::kOk, "no error");
  }

  const std::string address_;
  FakeService service_;
  std::unique_ptr<grpc::Server> server_;
};

grpc::Status Answer(v1::PlanJobResponse* response) {
  response->set_plan_id("plan-1");
  return grpc::Status::OK;
}

grpc::Status Busy(int32_t delay_milliseconds) {
  google::rpc::RetryInfo info;
  info.mutable_retry_delay()->set_nanos(delay_milliseconds * 1'000'000);
  return WithDetail(grpc::StatusCode::RESOURCE_EXHAUSTED, "queue is full", info);
}

TEST_F(GrpcBackendTest, PassesAnswersOn) {
  service_.answer = [](int, auto* response) { return Answer(response); };
  EXPECT_EQ(MakeGrpcBackend(address_, 10)->PlanJob({}).plan_id(), "plan-1");
}

TEST_F(GrpcBackendTest, ShowsEveryViolation) {
  service_.answer = [](int, auto*) {
    google::rpc::BadRequest bad;
    for (const char* field : {"job.model.name", "job.cluster.pools[0].gpu_count"}) {
      auto* violation = bad.add_field_violations();
      violation->set_field(field);
      violation->set_description("is wrong");
    }
    return WithDetail(grpc::StatusCode::INVALID_ARGUMENT, "2 violations", bad);
  };
  const CommandError error = Error();
  EXPECT_EQ(error.code(), ExitCode::kBadInput);
  EXPECT_EQ(error.details(),
            (std::vector<std::string>{"job.model.name (--model): is wrong",
                                      "job.cluster.pools[0].gpu_count (--gpus): is wrong"}));
}

TEST_F(GrpcBackendTest, RetriesUnavailable) {
  service_.answer = [](int call, auto* response) {
    return call < 4 ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "draining") : Answer(response);
  };
  EXPECT_EQ(MakeGrpcBackend(address_, 10)->PlanJob({}).plan_id(), "plan-1");
  EXPECT_EQ(service_.calls, 4);
}

TEST_F(GrpcBackendTest, GivesUpOnUnavailable) {
  service_.answer = [](int, auto*) {
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "draining");
  };
  EXPECT_EQ(Error().code(), ExitCode::kUnavailable);
  EXPECT_EQ(service_.calls, 4);
}

TEST_F(GrpcBackendTest, WaitsForABusyServerAsLongAsItSays) {
  service_.answer = [](int call, auto* response) {
    return call < 3 ? Busy(100) : Answer(response);
  };
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(MakeGrpcBackend(address_, 10)->PlanJob({}).plan_id(), "plan-1");
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(200));
}

TEST_F(GrpcBackendTest, ABusyServerMayOutlastTheTimeout) {
  service_.answer = [](int, auto*) { return Busy(300); };
  EXPECT_EQ(Error(0.5).code(), ExitCode::kUnavailable);
  EXPECT_EQ(service_.calls, 2);
}

TEST_F(GrpcBackendTest, ABrokenLimitIsNotRetried) {
  service_.answer = [](int, auto*) {
    return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "message is too large");
  };
  EXPECT_EQ(Error().code(), ExitCode::kError);
  EXPECT_EQ(service_.calls, 1);
}

TEST_F(GrpcBackendTest, SlowServersRunIntoTheTimeout) {
  service_.answer = [](int, auto* response) {
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    return Answer(response);
  };
  EXPECT_EQ(Error(0.3).code(), ExitCode::kError);
}

TEST(GrpcBackendWithoutServerTest, SaysSoWithinTwoSecondsAndWhatToDo) {
  const auto start = std::chrono::steady_clock::now();
  try {
    MakeGrpcBackend("unix:/nonexistent/evenkeel.sock", 60)->PlanJob({});
    FAIL();
  } catch (const CommandError& error) {
    EXPECT_EQ(error.code(), ExitCode::kUnavailable);
    EXPECT_EQ(
        std::string(error.what()),
        "no server at unix:/nonexistent/evenkeel.sock; start one with evenkeel-server, or use "
        "--local");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(2500));
}

}  // namespace
}  // namespace evenkeel::cli
