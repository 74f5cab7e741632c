#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/server/rpc/server_fixture.h"

namespace evenkeel::server {
namespace {

using namespace std::chrono_literals;

// Has two clients that the server can tell apart: one by the unix socket, one by an address.
class OverloadTest : public ServerFixture {
 protected:
  OverloadTest() {
    options_.listen = {address(), "127.0.0.1:0"};
    options_.queue_length = 4;
    Start();
    other_ = v1::PlannerService::NewStub(grpc::CreateChannel(
        "127.0.0.1:" + std::to_string(server_->ports()[1]), grpc::InsecureChannelCredentials()));
  }
  ~OverloadTest() override {
    hold_ = false;
    for (auto& call : calls_) call->thread.join();
  }

  struct Call {
    std::thread thread;
    std::atomic<bool> done = false;
    grpc::Status status;
  };

  Call& Begin(v1::PlannerService::Stub& stub, int gpus, std::chrono::milliseconds timeout = 20s) {
    calls_.push_back(std::make_unique<Call>());
    Call& call = *calls_.back();
    call.thread = std::thread([&stub, &call, gpus, timeout] {
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + timeout);
      v1::PlanJobResponse response;
      call.status = stub.PlanJob(&context, Request(gpus), &response);
      call.done = true;
    });
    return call;
  }
  static void WaitFor(const Call& call) {
    while (!call.done) std::this_thread::yield();
  }

  std::unique_ptr<v1::PlannerService::Stub> other_;
  std::vector<std::unique_ptr<Call>> calls_;
};

TEST_F(OverloadTest, AFloodGivesWayToAnotherClient) {
  hold_ = true;
  Begin(*stub_, 8);
  WaitForStarted(1);
  std::vector<Call*> flood;
  for (int i = 0; i < 4; ++i) {
    flood.push_back(&Begin(*stub_, 16 + 8 * i));
    WaitQueued(1 + i);
  }
  Call& newcomer = Begin(*other_, 96);
  WaitFor(*flood.back());
  EXPECT_EQ(flood.back()->status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Reason(flood.back()->status), "QUEUE_FULL");
  google::rpc::RetryInfo retry;
  EXPECT_TRUE(Detail(flood.back()->status, &retry));
  EXPECT_FALSE(newcomer.done);
  hold_ = false;
  WaitFor(newcomer);
  EXPECT_TRUE(newcomer.status.ok());
  for (int i = 0; i < 3; ++i) {
    WaitFor(*flood[i]);
    EXPECT_TRUE(flood[i]->status.ok());
  }
}

TEST_F(OverloadTest, NoPlanMayTakeLongerThanTheServerAllows) {
  options_.max_plan_seconds = 0.05;
  Start();
  hold_ = true;
  v1::PlanJobResponse response;
  const grpc::Status status = PlanJob(Request(), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(Reason(status), "PLAN_TIME_LIMIT");
  google::rpc::ErrorInfo info;
  ASSERT_TRUE(Detail(status, &info));
  EXPECT_EQ(info.metadata().at("limit_seconds"), "0.05");
  EXPECT_EQ(stopped_, 1);
}

TEST_F(OverloadTest, CallsThatExpireInTheQueueNeverStart) {
  hold_ = true;
  Begin(*stub_, 8);
  WaitForStarted(1);
  for (int i = 0; i < 4; ++i) Begin(*stub_, 16 + 8 * i, 30ms);
  for (size_t i = 1; i < calls_.size(); ++i) {
    WaitFor(*calls_[i]);
    EXPECT_EQ(calls_[i]->status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  while (server_->calls_in_flight() > 1) std::this_thread::yield();
  hold_ = false;
  WaitFor(*calls_[0]);
  v1::PlanJobResponse response;
  EXPECT_TRUE(PlanJob(Request(96), &response).ok());
  EXPECT_EQ(started_, 2);
}

}  // namespace
}  // namespace evenkeel::server
