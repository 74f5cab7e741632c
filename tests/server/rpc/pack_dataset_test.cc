// Tests PackDataset over gRPC in this process, with a packer that tests can block.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/server/rpc/server_fixture.h"

namespace evenkeel::server {
namespace {

using grpc::StatusCode;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

class PackDatasetTest : public ServerFixture {
 protected:
  using Stream = grpc::ClientReaderWriter<v1::PackDatasetRequest, v1::PackDatasetResponse>;

  struct Call {
    std::unique_ptr<grpc::ClientContext> context = std::make_unique<grpc::ClientContext>();
    std::unique_ptr<Stream> stream;
  };

  static v1::PackDatasetRequest Start() {
    v1::PackDatasetRequest request;
    request.mutable_start()->mutable_rule()->set_unit_cap(9);
    request.mutable_start()->mutable_rule()->set_token_cap(4096);
    request.mutable_start()->set_data_parallel(2);
    return request;
  }
  static v1::PackDatasetRequest Chunk(int samples) {
    v1::PackDatasetRequest request;
    for (int i = 0; i < samples; ++i) {
      request.mutable_chunk()->add_units(1 + i % 5);
      request.mutable_chunk()->add_llm_tokens(300 + i % 700);
    }
    return request;
  }

  Call Open(const std::vector<v1::PackDatasetRequest>& messages,
            std::chrono::milliseconds timeout = 30s) {
    Call call;
    call.context->set_deadline(std::chrono::system_clock::now() + timeout);
    call.stream = stub_->PackDataset(call.context.get());
    for (const auto& message : messages) call.stream->Write(message);
    return call;
  }

  // Reads the rest of the answer. The last message is the summary.
  static grpc::Status Read(Call& call, std::vector<v1::PackDatasetResponse>* answer) {
    v1::PackDatasetResponse message;
    while (call.stream->Read(&message)) answer->push_back(message);
    return call.stream->Finish();
  }
  static grpc::Status Finish(Call& call) {
    call.stream->WritesDone();
    return Drain(call);
  }
  static grpc::Status Drain(Call& call) {
    std::vector<v1::PackDatasetResponse> answer;
    return Read(call, &answer);
  }

  double Metric(const std::string& name) const {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(server_->metrics_port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    const std::string request = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
    EXPECT_EQ(write(fd, request.data(), request.size()), static_cast<ssize_t>(request.size()));
    std::string text;
    char buffer[4096];
    for (ssize_t got; (got = read(fd, buffer, sizeof(buffer))) > 0;) {
      text.append(buffer, static_cast<size_t>(got));
    }
    close(fd);
    const size_t at = text.find("\n" + name + " ");
    EXPECT_NE(at, std::string::npos) << name;
    return std::stod(text.substr(at + name.size() + 2));
  }

  void ExpectNothingHeld() const {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while ((Metric("evenkeel_pack_streams") > 0 || server_->calls_in_flight() > 0) &&
           std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(5ms);
    }
    EXPECT_EQ(Metric("evenkeel_pack_streams"), 0);
    EXPECT_EQ(Metric("evenkeel_pack_reserved_bytes"), 0);
    EXPECT_EQ(server_->calls_in_flight(), 0);
  }

  void WaitForPackings(int count) const {
    while (packings_started_ < count) std::this_thread::yield();
  }
};

TEST_F(PackDatasetTest, PacksAndAnswersInOrder) {
  Call call = Open({Start(), Chunk(1000), Chunk(500)});
  call.stream->WritesDone();
  std::vector<v1::PackDatasetResponse> answer;
  ASSERT_TRUE(Read(call, &answer).ok());
  ASSERT_EQ(answer.size(), 3u);
  std::vector<int64_t> indices(answer[0].packs().sample_index().begin(),
                               answer[0].packs().sample_index().end());
  std::sort(indices.begin(), indices.end());
  ASSERT_EQ(indices.size(), 1500u);
  for (size_t i = 0; i < indices.size(); ++i) EXPECT_EQ(indices[i], static_cast<int64_t>(i));
  EXPECT_GE(answer[1].order().pack_index_size(), answer[0].packs().sample_count_size());
  EXPECT_EQ(answer[2].summary().sample_count(), 1500);
  const auto id = call.context->GetServerInitialMetadata().find("x-request-id");
  EXPECT_NE(id, call.context->GetServerInitialMetadata().end());
  ExpectNothingHeld();
}

TEST_F(PackDatasetTest, HoldsMemoryOnlyWhileItIsUsed) {
  hold_ = true;
  v1::PackDatasetRequest start = Start();
  start.mutable_start()->set_sample_count(1000);
  Call call = Open({start, Chunk(1000)});
  call.stream->WritesDone();
  WaitForPackings(1);
  EXPECT_EQ(Metric("evenkeel_pack_streams"), 1);
  EXPECT_EQ(Metric("evenkeel_pack_reserved_bytes"), static_cast<double>(PackBytes(1000, 2)));
  hold_ = false;
  std::vector<v1::PackDatasetResponse> answer;
  EXPECT_TRUE(Read(call, &answer).ok());
  ExpectNothingHeld();
}

TEST_F(PackDatasetTest, CancelAndDeadlineStopThePacking) {
  hold_ = true;
  Call cancelled = Open({Start(), Chunk(10)});
  cancelled.stream->WritesDone();
  WaitForPackings(1);
  cancelled.context->TryCancel();
  EXPECT_EQ(cancelled.stream->Finish().error_code(), StatusCode::CANCELLED);
  ExpectNothingHeld();
  EXPECT_EQ(packings_stopped_, 1);
  Call late = Open({Start(), Chunk(10)}, 200ms);
  late.stream->WritesDone();
  EXPECT_EQ(late.stream->Finish().error_code(), StatusCode::DEADLINE_EXCEEDED);
  ExpectNothingHeld();
  EXPECT_EQ(packings_stopped_, 2);
}

TEST_F(PackDatasetTest, ACallThatWaitsForAWorkerCanBeCancelled) {
  hold_ = true;
  Call first = Open({Start(), Chunk(10)});
  first.stream->WritesDone();
  WaitForPackings(1);
  Call second = Open({Start(), Chunk(10)});
  second.stream->WritesDone();
  second.context->TryCancel();
  EXPECT_EQ(second.stream->Finish().error_code(), StatusCode::CANCELLED);
  hold_ = false;
  EXPECT_TRUE(Drain(first).ok());
  ExpectNothingHeld();
  EXPECT_EQ(packings_started_, 1);
}

TEST_F(PackDatasetTest, AFailureOfThePackerIsADefectAndLeavesNothing) {
  pack_throws_ = true;
  Call call = Open({Start(), Chunk(10)});
  const grpc::Status status = Finish(call);
  EXPECT_EQ(status.error_code(), StatusCode::INTERNAL);
  EXPECT_EQ(Reason(status), "PLANNER_DEFECT");
  ExpectNothingHeld();
}

TEST_F(PackDatasetTest, RefusesBadUploads) {
  v1::PackDatasetRequest bad = Chunk(20);
  bad.mutable_chunk()->set_llm_tokens(17, 0);
  Call call = Open({Start(), Chunk(20), bad});
  const grpc::Status status = Finish(call);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  google::rpc::BadRequest detail;
  ASSERT_TRUE(Detail(status, &detail));
  EXPECT_EQ(detail.field_violations(0).field(), "chunk[1].llm_tokens[17]");
  Call nothing = Open({});
  EXPECT_EQ(Reason(Finish(nothing)), "INVALID_REQUEST");
  ExpectNothingHeld();
}

TEST_F(PackDatasetTest, LimitsStreamsAndMemory) {
  options_.pack_max_streams = 2;
  options_.pack_memory_bytes = 3 * PackBytes(20000, 2) / 2;
  ServerFixture::Start();
  hold_ = true;
  v1::PackDatasetRequest start = Start();
  start.mutable_start()->set_sample_count(20000);
  Call first = Open({start, Chunk(20000)});
  first.stream->WritesDone();
  WaitForPackings(1);
  Call poor = Open({start});
  const grpc::Status memory = Finish(poor);
  EXPECT_EQ(memory.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Reason(memory), "PACKING_BUSY");
  google::rpc::RetryInfo retry;
  EXPECT_TRUE(Detail(memory, &retry));
  start.mutable_start()->set_sample_count(200000);
  Call large = Open({start});
  const grpc::Status never = Finish(large);
  EXPECT_EQ(Reason(never), "UPLOAD_TOO_LARGE");
  EXPECT_FALSE(Detail(never, &retry));
  hold_ = false;
  EXPECT_TRUE(Drain(first).ok());
  ExpectNothingHeld();
}

TEST_F(PackDatasetTest, KeepsADatasetForPlanJob) {
  v1::PackDatasetRequest start = Start();
  start.mutable_start()->set_keep_histogram(true);
  start.mutable_start()->set_result(v1::PACK_DATASET_RESULT_SUMMARY);
  v1::PackDatasetRequest chunk;
  chunk.mutable_chunk()->add_units(2);
  chunk.mutable_chunk()->add_llm_tokens(900);
  Call call = Open({start, chunk});
  call.stream->WritesDone();
  std::vector<v1::PackDatasetResponse> answer;
  ASSERT_TRUE(Read(call, &answer).ok());
  ASSERT_EQ(answer.size(), 1u);
  v1::PlanJobRequest by_ref = Request();
  by_ref.mutable_job()->mutable_dataset()->set_dataset_ref(answer[0].summary().dataset_ref());
  v1::PlanJobRequest given = Request();
  v1::Histogram* histogram = given.mutable_job()->mutable_dataset()->mutable_histogram();
  histogram->add_units(2);
  histogram->add_llm_tokens(900);
  histogram->add_sample_count(1);
  v1::PlanJobResponse response, same;
  ASSERT_TRUE(PlanJob(by_ref, &response).ok());
  ASSERT_TRUE(PlanJob(given, &same).ok());
  EXPECT_EQ(response.plan_id(), same.plan_id());
  by_ref.mutable_job()->mutable_dataset()->set_dataset_ref("ds-" + std::string(32, '0'));
  const grpc::Status unknown = PlanJob(by_ref, &response);
  EXPECT_EQ(unknown.error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(Reason(unknown), "DATASET_NOT_FOUND");
  by_ref.mutable_job()->mutable_training()->set_epochs(-1);
  EXPECT_EQ(Reason(PlanJob(by_ref, &response)), "INVALID_REQUEST");  // reports both
}

TEST_F(PackDatasetTest, ShutdownEndsWhatRuns) {
  hold_ = true;
  Call packing = Open({Start(), Chunk(10)});
  packing.stream->WritesDone();
  WaitForPackings(1);
  Call uploading = Open({Start(), Chunk(10)});
  server_->BeginDrain();
  Call refused = Open({Start()});
  EXPECT_EQ(Reason(Finish(refused)), "SHUTTING_DOWN");
  server_->Shutdown();
  EXPECT_EQ(Reason(packing.stream->Finish()), "SHUTTING_DOWN");
  EXPECT_FALSE(uploading.stream->Finish().ok());
}

}  // namespace
}  // namespace evenkeel::server
