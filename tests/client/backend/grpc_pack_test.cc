// Tests PackDataset against a server in this process that answers as the tests specify.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/cli/backend/backend.h"
#include "client/cli/base/command_error.h"
#include "evenkeel/v1/planner_service.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/client/packs.h"
#include "tests/client/test_folder.h"

namespace evenkeel::cli {
namespace {

using Stream = grpc::ServerReaderWriter<v1::PackDatasetResponse, v1::PackDatasetRequest>;

class FakePackService : public v1::PlannerService::Service {
 public:
  grpc::Status PackDataset(grpc::ServerContext*, Stream* stream) override {
    ++calls;
    v1::PackDatasetRequest request;
    requests.clear();
    while (requests.size() < read_at_most && stream->Read(&request)) requests.push_back(request);
    return answer(stream);
  }

  std::function<grpc::Status(Stream* stream)> answer;
  size_t read_at_most = 1'000'000;
  std::vector<v1::PackDatasetRequest> requests;
  int calls = 0;
};

class GrpcPackTest : public testing::Test {
 protected:
  GrpcPackTest() : address_("unix:" + folder_.Path("s.sock")) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address_, grpc::InsecureServerCredentials());
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
  }
  ~GrpcPackTest() override { server_->Shutdown(std::chrono::system_clock::now()); }

  PackedDataset Pack() const {
    return MakeGrpcBackend(address_, 10)->PackDataset(small_.start, small_.samples);
  }

  CommandError Error() const {
    try {
      Pack();
    } catch (const CommandError& error) {
      return error;
    }
    return CommandError(ExitCode::kOk, "no error");
  }

  const TestFolder folder_;
  const std::string address_;
  SmallPacking small_;
  FakePackService service_;
  std::unique_ptr<grpc::Server> server_;
};

// Answers in chunks that split a pack.
grpc::Status AnswerOf(const PackedDataset& packed, Stream* stream) {
  v1::PackDatasetResponse response;
  for (size_t p = 0; p < packed.packs(); ++p) {
    response.mutable_packs()->add_sample_count(static_cast<int64_t>(packed.pack(p).size()));
  }
  response.mutable_packs()->add_sample_index(packed.members[0]);
  stream->Write(response);
  response.mutable_packs()->Clear();
  for (size_t i = 1; i < packed.members.size(); ++i) {
    response.mutable_packs()->add_sample_index(packed.members[i]);
  }
  stream->Write(response);
  for (const int64_t pack : packed.order) response.mutable_order()->add_pack_index(pack);
  stream->Write(response);
  *response.mutable_summary() = packed.summary;
  stream->Write(response);
  return grpc::Status::OK;
}

TEST_F(GrpcPackTest, UploadsInOrderAndReadsTheAnswer) {
  small_.samples.units.assign(150'000, 1);
  small_.samples.tokens.resize(150'000);
  for (int32_t i = 0; i < 150'000; ++i) small_.samples.tokens[static_cast<size_t>(i)] = i + 1;
  service_.answer = [&](Stream* stream) { return AnswerOf(small_.packed, stream); };
  const PackedDataset packed = Pack();
  EXPECT_EQ(packed.offsets, small_.packed.offsets);
  EXPECT_EQ(packed.members, small_.packed.members);
  EXPECT_EQ(packed.order, small_.packed.order);
  EXPECT_EQ(packed.summary.DebugString(), small_.packed.summary.DebugString());
  ASSERT_GE(service_.requests.size(), 3u);
  EXPECT_EQ(service_.requests[0].start().DebugString(), small_.start.DebugString());
  int64_t next = 1;
  for (size_t i = 1; i < service_.requests.size(); ++i) {
    EXPECT_LT(service_.requests[i].ByteSizeLong(), size_t{1} << 20);
    EXPECT_EQ(service_.requests[i].chunk().units_size(),
              service_.requests[i].chunk().llm_tokens_size());
    for (const int64_t tokens : service_.requests[i].chunk().llm_tokens()) {
      ASSERT_EQ(tokens, next++);
    }
  }
  EXPECT_EQ(next, 150'001);
}

TEST_F(GrpcPackTest, UnitsOfSeveralEncodersAreUploadedAsTheyAre) {
  small_.samples.units.assign(7, 30);  // scaled
  small_.samples.encoders = 2;
  for (int32_t i = 0; i < 14; ++i) small_.samples.encoder_units.push_back(i);
  service_.answer = [&](Stream* stream) { return AnswerOf(small_.packed, stream); };
  Pack();
  ASSERT_GE(service_.requests.size(), 2u);
  EXPECT_EQ(service_.requests[1].chunk().llm_tokens_size(), 7);
  ASSERT_EQ(service_.requests[1].chunk().units_size(), 14);
  EXPECT_EQ(service_.requests[1].chunk().units(13), 13);
}

TEST_F(GrpcPackTest, TextAloneIsUploadedWithoutUnits) {
  small_.samples.units.assign(7, 0);
  service_.answer = [&](Stream* stream) { return AnswerOf(small_.packed, stream); };
  Pack();
  EXPECT_EQ(service_.requests[1].chunk().units_size(), 0);
  EXPECT_EQ(service_.requests[1].chunk().llm_tokens_size(), 7);
}

TEST_F(GrpcPackTest, ARefusalDuringTheUploadIsShown) {
  small_.samples.units.assign(1'000'000, 1);
  small_.samples.tokens.assign(1'000'000, 1'000'000);
  service_.read_at_most = 1;
  service_.answer = [](Stream*) {
    google::rpc::BadRequest bad;
    bad.add_field_violations()->set_field("start.rule.token_cap");
    bad.mutable_field_violations(0)->set_description("is wrong");
    google::rpc::Status rich;
    rich.add_details()->PackFrom(bad);
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "bad", rich.SerializeAsString());
  };
  const CommandError error = Error();
  EXPECT_EQ(error.code(), ExitCode::kBadInput);
  EXPECT_EQ(error.details(), std::vector<std::string>{"start.rule.token_cap: is wrong"});
}

TEST_F(GrpcPackTest, ABusyServerIsAskedAgain) {
  service_.answer = [&](Stream* stream) {
    if (service_.calls > 1) return AnswerOf(small_.packed, stream);
    google::rpc::RetryInfo info;
    info.mutable_retry_delay()->set_nanos(1'000'000);
    google::rpc::Status rich;
    rich.add_details()->PackFrom(info);
    return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "busy", rich.SerializeAsString());
  };
  EXPECT_EQ(Pack().members, small_.packed.members);
  EXPECT_EQ(service_.calls, 2);
}

TEST_F(GrpcPackTest, AnAnswerWithoutSummaryIsAnError) {
  service_.answer = [](Stream*) { return grpc::Status::OK; };
  EXPECT_EQ(Error().code(), ExitCode::kError);
}

}  // namespace
}  // namespace evenkeel::cli
