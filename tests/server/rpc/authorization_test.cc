// Tests every method of the contract against the policy, for callers whose identity the listener
// has proven.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "evenkeel/v1/planner_service.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "server/auth/roles.h"
#include "server/calibration/calibration_registry.h"
#include "server/planning/compute_plan.h"
#include "server/planning/keep_dataset.h"
#include "server/rpc/methods.h"
#include "server/rpc/planner_service.h"

namespace evenkeel::server {
namespace {

using grpc::StatusCode;

constexpr char kPolicy[] = R"({"version": 1, "rules": [
    {"principals": ["uid:1"], "tenant": "a", "roles": ["planner.read"]},
    {"principals": ["uid:2"], "tenant": "b", "roles": ["planner.plan"]},
    {"principals": ["uid:3"], "tenant": "a", "roles": ["planner.calibrate"]},
    {"principals": ["uid:4"], "tenant": "a", "roles": ["admin"]},
    {"principals": ["gid:5"], "tenant": "b", "roles": ["admin"]},
    {"principals": ["any"], "methods": ["ListModels"]}]})";

// There is one service for each connection principal, as in the listener. All share their parts.
class AuthorizationTest : public testing::Test {
 protected:
  AuthorizationTest() {
    char folder[] = "/tmp/evenkeel-auth-XXXXXX";
    folder_ = mkdtemp(folder);
    std::ofstream(folder_ + "/policy") << kPolicy;
    auto opened =
        PolicyFile::Open(folder_ + "/policy", [](const Policy&) { return absl::OkStatus(); });
    EXPECT_TRUE(opened.ok()) << opened.status();
    policy_ = *std::move(opened);
    std::string error;
    world_.policy = policy_.get();
    for (const std::string& tenant : policy_->current()->tenants()) {
      EXPECT_NE(calibrations_.Open(tenant, &error), nullptr);
    }
  }
  ~AuthorizationTest() override {
    EndHosts();
    std::filesystem::remove_all(folder_);
  }

  void EndHosts() {
    for (auto& [principal, host] : hosts_) host.server->Shutdown();
    hosts_.clear();
  }

  grpc::GenericStub& StubOf(const std::string& principal) { return *HostOf(principal).stub; }

  v1::PlannerService::Stub& PlannerOf(const std::string& principal) {
    return *HostOf(principal).planner;
  }

  // Makes a call of any kind with an empty message.
  grpc::Status Call(const std::string& principal,
                    const google::protobuf::MethodDescriptor& method) {
    const std::string path = std::string("/") + kServiceName + "/" + method.name();
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    grpc::CompletionQueue queue;
    const auto call = StubOf(principal).PrepareCall(&context, path, &queue);
    grpc::Slice empty("", 0);
    const grpc::ByteBuffer request(&empty, 1);
    grpc::ByteBuffer answer;
    grpc::Status status;
    const auto await = [&queue] {
      void* tag = nullptr;
      bool ok = false;
      queue.Next(&tag, &ok);
      return ok;
    };
    call->StartCall(nullptr);
    await();
    call->WriteLast(request, grpc::WriteOptions(), nullptr);
    await();
    do {
      call->Read(&answer, nullptr);
    } while (await());
    call->Finish(&status, nullptr);
    await();
    return status;
  }

  static v1::PlanJobRequest RequestOf(const std::string& model, int32_t gpus, int64_t samples) {
    v1::PlanJobRequest request;
    request.mutable_job()->mutable_model()->set_name(model);
    auto* pool = request.mutable_job()->mutable_cluster()->add_pools();
    pool->set_gpu_type("a100-sxm-80gb");
    pool->set_gpu_count(gpus);
    request.mutable_job()->mutable_training()->set_global_batch_samples(samples);
    return request;
  }

  static google::rpc::ErrorInfo InfoOf(const grpc::Status& status) {
    google::rpc::Status details;
    google::rpc::ErrorInfo info;
    details.ParseFromString(status.error_details());
    for (const auto& detail : details.details()) detail.UnpackTo(&info);
    return info;
  }

  static std::vector<const google::protobuf::MethodDescriptor*> Methods() {
    const auto* service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(kServiceName);
    std::vector<const google::protobuf::MethodDescriptor*> methods;
    for (int i = 0; i < service->method_count(); ++i) methods.push_back(service->method(i));
    return methods;
  }

  std::string folder_;
  Clock clock_;
  Metrics metrics_{{"1", "2", "3"}, AllMethodLabels()};
  std::unique_ptr<PolicyFile> policy_;
  std::atomic<int64_t> in_flight_ = 0;
  RpcWorld world_{metrics_, clock_, in_flight_};
  PlanCache cache_{size_t{1} << 20, 1};
  RequestMemos memos_{size_t{1} << 20, 1};
  PlanningCore core_{{1, 8}, cache_, metrics_, clock_};
  DatasetStore dataset_store_{size_t{1} << 20};
  DatasetTiers datasets_{dataset_store_, nullptr, &IsKeptDataset};
  StreamQuota quota_{4, int64_t{1} << 30};
  Sweeper sweeper_{std::chrono::milliseconds(1000)};
  PackingCore packing_{1, 4, metrics_, clock_};
  CalibrationRegistry calibrations_{
      [](const std::string&, std::string*) { return std::make_unique<MemoryProfileStore>(); },
      clock_, metrics_};
  WorkerPool writer_{1, 8, clock_};
  WorkerPool reader_{1, 8, clock_};

 private:
  struct Host {
    std::unique_ptr<PlannerServiceImpl> service;
    std::unique_ptr<grpc::Server> server;
    std::unique_ptr<grpc::GenericStub> stub;
    std::unique_ptr<v1::PlannerService::Stub> planner;
  };

  Host& HostOf(const std::string& principal) {
    Host& host = hosts_[principal];
    if (host.server != nullptr) return host;
    const PackDatasetParts packing{packing_, quota_, sweeper_, datasets_, &planner::PackAndDeal,
                                   1000,     30};
    host.service = std::make_unique<PlannerServiceImpl>(
        ServiceParts{world_,
                     core_,
                     &ComputePlan,
                     cache_,
                     nullptr,
                     memos_,
                     packing,
                     {calibrations_, cache_, nullptr, writer_, reader_}},
        principal);
    const std::string address = "unix:" + folder_ + "/" + std::to_string(hosts_.size());
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(host.service.get());
    host.server = builder.BuildAndStart();
    const auto channel = grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
    host.stub = std::make_unique<grpc::GenericStub>(channel);
    host.planner = v1::PlannerService::NewStub(channel);
    return host;
  }

  std::map<std::string, Host> hosts_;
};

TEST_F(AuthorizationTest, RolesCoverEveryMethodOnce) {
  std::multiset<std::string> in_roles, in_contract, in_methods;
  for (const RoleOfMethod& known : RolesOfMethods()) in_roles.emplace(known.method);
  for (const auto* method : Methods()) in_contract.insert(method->name());
  for (const char* name : kMethodNames) in_methods.insert(name);
  EXPECT_EQ(in_roles, in_contract);
  EXPECT_EQ(in_methods, in_contract);
}

// A method whose handler does not ask the policy fails here.
TEST_F(AuthorizationTest, NoMethodIsOpenToWhomThePolicyDoesNotName) {
  for (const auto* method : Methods()) {
    for (const char* principal : {"", "unix", "tcp", "uid:99", "gid:99"}) {
      const bool is_proven = std::string(principal).find("id:") != std::string::npos;
      const grpc::Status status = Call(principal, *method);
      const std::string about = method->name() + " by " + principal;
      if (method->name() == "ListModels") {
        EXPECT_TRUE(status.ok()) << about;  // by the rule for "any"
        continue;
      }
      EXPECT_EQ(status.error_code(),
                is_proven ? StatusCode::PERMISSION_DENIED : StatusCode::UNAUTHENTICATED)
          << about;
      const google::rpc::ErrorInfo info = InfoOf(status);
      EXPECT_EQ(info.reason(), is_proven ? "METHOD_NOT_ALLOWED" : "UNAUTHENTICATED") << about;
      EXPECT_EQ(info.metadata().at("method"), method->name());
      EXPECT_EQ(info.metadata().count("principal"), is_proven ? 1u : 0u) << about;
    }
  }
  EXPECT_EQ(in_flight_, 0);
}

TEST_F(AuthorizationTest, EachRoleOpensItsMethodsAndNoOthers) {
  const std::map<std::string, std::string> roles = {{"uid:1", "planner.read"},
                                                    {"uid:2", "planner.plan"},
                                                    {"uid:3", "planner.calibrate"},
                                                    {"uid:4", "admin"},
                                                    {"gid:5", "admin"}};
  for (const auto& [principal, role] : roles) {
    for (const auto* method : Methods()) {
      const grpc::Status status = Call(principal, *method);
      EXPECT_EQ(status.error_code() != StatusCode::PERMISSION_DENIED, RoleHas(role, method->name()))
          << method->name() << " by " << role;
      EXPECT_NE(status.error_code(), StatusCode::UNAUTHENTICATED);
    }
  }
}

TEST_F(AuthorizationTest, DenialsAreCountedByReason) {
  Call("uid:99", *Methods()[0]);
  Call("uid:99", *Methods()[1]);
  Call("unix", *Methods()[2]);
  const std::string text = metrics_.Scrape();
  EXPECT_NE(text.find("evenkeel_denied_total{reason=\"method_not_allowed\"} 2"), text.npos);
  EXPECT_NE(text.find("evenkeel_denied_total{reason=\"unauthenticated\"} 1"), text.npos);
  EXPECT_NE(text.find("grpc_code=\"PermissionDenied\""), text.npos);
}

TEST_F(AuthorizationTest, ProfilesAreThoseOfTheTenant) {
  v1::RecordProfileRequest profile;
  profile.set_model("internvl-chat-v1.5");
  profile.set_gpu_type("a100-sxm-80gb");
  profile.set_tensor_parallel(2);
  v1::LayerTime* time = profile.add_layer_times();
  time->set_layer_kind(v1::LAYER_KIND_ENCODER);
  time->set_units(9);
  time->set_forward_seconds(0.009);
  const auto record = [&](const char* principal) {
    grpc::ClientContext context;
    v1::RecordProfileResponse response;
    const grpc::Status status = PlannerOf(principal).RecordProfile(&context, profile, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  };
  const auto list = [&](const char* principal) {
    grpc::ClientContext context;
    v1::ListProfilesResponse response;
    EXPECT_TRUE(PlannerOf(principal).ListProfiles(&context, {}, &response).ok());
    return response.revisions_size();
  };
  const auto plan_id = [&](const char* principal) {
    v1::PlanJobRequest request;
    request.mutable_job()->mutable_model()->set_name("internvl-chat-v1.5");
    auto* pool = request.mutable_job()->mutable_cluster()->add_pools();
    pool->set_gpu_type("a100-sxm-80gb");
    pool->set_gpu_count(32);
    request.set_validate_only(true);
    grpc::ClientContext context;
    v1::PlanJobResponse response;
    EXPECT_TRUE(PlannerOf(principal).PlanJob(&context, request, &response).ok());
    return response.plan_id();
  };
  const std::string before = plan_id("gid:5");
  EXPECT_EQ(plan_id("uid:4"), before);  // the same job with the same calibration
  EXPECT_EQ(record("uid:3").revision(), 1);
  EXPECT_EQ(list("uid:1"), 1);  // of the same tenant
  EXPECT_EQ(list("gid:5"), 0);
  EXPECT_NE(plan_id("uid:4"), before);
  EXPECT_EQ(plan_id("gid:5"), before);
  EXPECT_EQ(plan_id("uid:2"), before);
  EXPECT_FALSE(record("gid:5").already_recorded());
  v1::RollBackProfileRequest back;
  back.set_to_revision(0);
  grpc::ClientContext context;
  v1::RollBackProfileResponse rolled;
  EXPECT_TRUE(PlannerOf("gid:5").RollBackProfile(&context, back, &rolled).ok());
  EXPECT_EQ(plan_id("gid:5"), before);
  EXPECT_NE(plan_id("uid:4"), before);
}

TEST_F(AuthorizationTest, PlansAndDatasetsAreThoseOfTheTenant) {
  v1::PlanJobRequest request = RequestOf("internvl-chat-v1.5", 32, 64);
  const auto plan = [&](const char* principal, v1::PlanJobResponse* response) {
    grpc::ClientContext context;
    return PlannerOf(principal).PlanJob(&context, request, response);
  };
  const auto get = [&](const char* principal, const std::string& plan_id) {
    grpc::ClientContext context;
    v1::GetPlanRequest wanted;
    wanted.set_plan_id(plan_id);
    v1::GetPlanResponse response;
    return PlannerOf(principal).GetPlan(&context, wanted, &response).error_code();
  };
  const auto list = [&](const char* principal) {
    grpc::ClientContext context;
    v1::ListPlansResponse response;
    EXPECT_TRUE(PlannerOf(principal).ListPlans(&context, {}, &response).ok());
    return response.plans_size();
  };
  v1::PlanJobResponse of_a, of_b;
  ASSERT_TRUE(plan("uid:4", &of_a).ok());
  EXPECT_EQ(get("uid:1", of_a.plan_id()), StatusCode::OK);  // of the same tenant
  EXPECT_EQ(get("gid:5", of_a.plan_id()), StatusCode::NOT_FOUND);
  EXPECT_EQ(list("uid:4"), 1);
  EXPECT_EQ(list("gid:5"), 0);
  ASSERT_TRUE(plan("gid:5", &of_b).ok());  // exactly the same bytes
  EXPECT_EQ(of_b.served_from(), v1::SERVED_FROM_PLANNER);
  EXPECT_EQ(of_b.plan_id(), of_a.plan_id());
  EXPECT_EQ(of_b.plan().SerializeAsString(), of_a.plan().SerializeAsString());
  EXPECT_EQ(get("gid:5", of_b.plan_id()), StatusCode::OK);

  v1::PackDatasetRequest upload, chunk;
  upload.mutable_start()->mutable_rule()->set_token_cap(4096);
  upload.mutable_start()->set_data_parallel(1);
  upload.mutable_start()->set_keep_histogram(true);
  for (int i = 0; i < 64; ++i) chunk.mutable_chunk()->add_llm_tokens(1000 + i);
  grpc::ClientContext context;
  const auto stream = PlannerOf("uid:4").PackDataset(&context);
  stream->Write(upload);
  stream->Write(chunk);
  stream->WritesDone();
  v1::PackDatasetResponse answer;
  std::string ref;
  while (stream->Read(&answer)) {
    if (answer.has_summary()) ref = answer.summary().dataset_ref();
  }
  const grpc::Status packed = stream->Finish();
  ASSERT_TRUE(packed.ok()) << packed.error_message();
  ASSERT_FALSE(ref.empty());
  request.mutable_job()->mutable_model()->set_name("llama3-8b");
  request.mutable_job()->mutable_dataset()->set_dataset_ref(ref);
  EXPECT_TRUE(plan("uid:4", &of_a).ok());
  const grpc::Status status = plan("gid:5", &of_b);
  EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(InfoOf(status).reason(), "DATASET_NOT_FOUND");
}

// The thread that answers a call may be busy with the next waiter while the service ends.
TEST_F(AuthorizationTest, AnAnsweredCallHoldsNothingOfTheService) {
  v1::PlanJobRequest request = RequestOf("llama3-8b", 8, 8);
  v1::PlanJobResponse response;
  grpc::ClientContext first;
  ASSERT_TRUE(PlannerOf("uid:4").PlanJob(&first, request, &response).ok());

  std::promise<void> work_began, work_may_end, waiter_may_end;
  const std::shared_future<void> end_of_work(work_may_end.get_future());
  const std::shared_future<void> end_of_waiter(waiter_may_end.get_future());
  core_.Compute(
      "work before it",
      [&work_began, end_of_work](const planner::PlanHooks&) {
        work_began.set_value();
        end_of_work.wait();
        return WorkResult{};
      },
      [](const PlanOutcome&) {});
  work_began.get_future().wait();
  request.set_max_age_seconds(0);
  std::thread client([&] {
    grpc::ClientContext context;
    EXPECT_TRUE(PlannerOf("uid:4").PlanJob(&context, request, &response).ok());
  });
  while (core_.queue_depth() == 0) std::this_thread::yield();
  core_.Plan({"a", response.plan_id(), 0.0}, nullptr,
             [end_of_waiter](const PlanOutcome&) { end_of_waiter.wait(); });
  work_may_end.set_value();
  client.join();
  EndHosts();
  EXPECT_EQ(in_flight_, 0);
  waiter_may_end.set_value();
}

TEST_F(AuthorizationTest, ATenantWithoutItsProfilesIsUnavailableAndNobodyElse) {
  CalibrationRegistry& registry = calibrations_;
  std::string error;
  EXPECT_EQ(registry.Find("c", &error), nullptr);
  std::ofstream(folder_ + "/policy")
      << R"({"version": 1, "rules": [{"principals": ["uid:1"], "tenant": "c", "roles": ["admin"]},
                                     {"principals": ["uid:2"], "tenant": "b", "roles": ["admin"]}]})";
  ASSERT_EQ(policy_->Refresh().value(), PolicyFile::Reload::kTaken);
  std::set<std::string> unavailable;
  for (const auto* method : Methods()) {
    const grpc::Status status = Call("uid:1", *method);
    if (status.error_code() == StatusCode::UNAVAILABLE) {
      unavailable.insert(method->name());
      EXPECT_EQ(InfoOf(status).reason(), "STORE_UNAVAILABLE");
    }
    EXPECT_NE(Call("uid:2", *method).error_code(), StatusCode::UNAVAILABLE);
  }
  // RecordProfile and RollBackProfile have an empty message here, which is refused first.
  EXPECT_EQ(unavailable,
            (std::set<std::string>{"PlanJob", "PlanCurve", "EvaluatePlan", "ListProfiles"}));
}

}  // namespace
}  // namespace evenkeel::server
