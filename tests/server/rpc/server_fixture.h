// A server in this process on a unix socket, with a planner that tests can block.
#ifndef EVENKEEL_TESTS_SERVER_RPC_SERVER_FIXTURE_H_
#define EVENKEEL_TESTS_SERVER_RPC_SERVER_FIXTURE_H_

#include <grpc/grpc.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "evenkeel/v1/planner_service.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "server/convert/packing/pack_request.h"
#include "server/options.h"
#include "server/server.h"

namespace evenkeel::server {

class ServerFixture : public testing::Test {
 protected:
  ServerFixture() {
    // Holds gRPC for ever. Otherwise, gRPC stops its pollers whenever a test ends, and that takes
    // ten seconds after a refused large message.
    [[maybe_unused]] static const bool held = (grpc_init(), true);
    char folder[] = "/tmp/evenkeel-test-XXXXXX";
    folder_ = mkdtemp(folder);
    const char* argv[] = {"evenkeel-server"};
    options_ = ParseOptions(1, argv).options;
    options_.listen = {address()};
    options_.metrics_address = "127.0.0.1:0";
    options_.workers = 1;
    options_.queue_length = 1;
    options_.plan_store = options_.profile_store = "off";
    Start();
  }
  ~ServerFixture() override {
    hold_ = false;
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  void Start() {
    server_.reset();
    std::string error;
    const auto compute = [this](const planner::Job&, const std::string& id,
                                const planner::PlanHooks& hooks, ComputedPlan* out,
                                std::vector<std::string>*) { return Compute(id, hooks, out); };
    server_ = Server::Start(options_, compute, &error,
                            [this](const auto& lengths, const auto& job, const auto& stop) {
                              return Pack(lengths, job, stop);
                            });
    ASSERT_NE(server_, nullptr) << error;
    channel_ = grpc::CreateChannel(address(), grpc::InsecureChannelCredentials());
    stub_ = v1::PlannerService::NewStub(channel_);
  }

  std::string address() const { return "unix:" + folder_ + "/socket"; }

  // Makes a request that differs by `gpus`, which must be a multiple of 8.
  static v1::PlanJobRequest Request(int gpus = 32) {
    v1::PlanJobRequest request;
    request.mutable_job()->mutable_model()->set_name("internvl-chat-v1.5");
    auto* pool = request.mutable_job()->mutable_cluster()->add_pools();
    pool->set_gpu_type("a100-sxm-80gb");
    pool->set_gpu_count(gpus);
    return request;
  }

  grpc::Status PlanJob(const v1::PlanJobRequest& request, v1::PlanJobResponse* response) {
    grpc::ClientContext context;
    return stub_->PlanJob(&context, request, response);
  }

  void WaitForStarted(int count) const {
    while (started_ < count) std::this_thread::yield();
  }

  // A call in flight may not be in the queue yet, and the newest in the queue gives way.
  void WaitQueued(size_t calls) const {
    while (server_->queue_depth() < calls) std::this_thread::yield();
  }

  // Returns ErrorInfo's reason, or "" if there is none or its domain is not ours.
  static std::string Reason(const grpc::Status& status) {
    google::rpc::ErrorInfo info;
    if (!Detail(status, &info) || info.domain() != "evenkeel.dev") return {};
    return info.reason();
  }

  template <typename Message>
  static bool Detail(const grpc::Status& status, Message* message) {
    google::rpc::Status details;
    if (!details.ParseFromString(status.error_details())) return false;
    for (const auto& detail : details.details()) {
      if (detail.UnpackTo(message)) return true;
    }
    return false;
  }

  Options options_;
  std::atomic<bool> hold_ = false;
  std::atomic<int> started_ = 0;
  std::atomic<int> stopped_ = 0;
  std::atomic<bool> pack_throws_ = false;
  std::atomic<int> packings_started_ = 0;
  std::atomic<int> packings_stopped_ = 0;
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::PlannerService::Stub> stub_;

 private:
  planner::PackingResult Pack(const planner::Lengths& lengths, const planner::PackingJob& job,
                              const std::function<bool()>& stop) {
    ++packings_started_;
    while (hold_ && !stop()) std::this_thread::yield();
    if (pack_throws_) throw std::runtime_error("boom");
    planner::PackingResult result = planner::PackAndDeal(lengths, job, stop);
    packings_stopped_ += result.stopped ? 1 : 0;
    return result;
  }

  ComputeEnd Compute(const std::string& id, const planner::PlanHooks& hooks, ComputedPlan* out) {
    ++started_;
    while (hold_ && !hooks.stop()) std::this_thread::yield();
    if (hooks.stop()) {
      ++stopped_;
      return ComputeEnd::kStopped;
    }
    v1::Plan plan;
    plan.set_plan_id(id);
    out->plan_bytes = plan.SerializeAsString();
    out->facts.model = "internvl-chat-v1.5";
    out->facts.fits = true;
    out->facts.step_seconds = 1.5;
    return ComputeEnd::kDone;
  }

  std::string folder_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_TESTS_SERVER_RPC_SERVER_FIXTURE_H_
