#include "server/rpc/parse_request.h"

#include <gtest/gtest.h>

#include <string>

#include "evenkeel/v1/planner_service.pb.h"

namespace evenkeel::server {
namespace {

std::string WithPools(int64_t count, const std::string& pool = std::string("\x0a\x00", 2)) {
  std::string pools;
  for (int64_t i = 0; i < count; ++i) pools += pool;
  v1::PlanJobRequest request;
  // Empty pools that are unknown bytes of the cluster become pools when they are read.
  request.mutable_job()->mutable_cluster();
  const auto wrap = [](const std::string& inside, char tag) {
    std::string length;
    for (size_t n = inside.size(); length.empty() || n > 0; n >>= 7)
      length += static_cast<char>((n & 127) | (n > 127 ? 128 : 0));
    return tag + length + inside;
  };
  return wrap(wrap(pools, 0x1a), 0x0a);
}

TEST(ParseRequest, TakesWhatIsWithinTheLimit) {
  v1::PlanJobRequest request;
  EXPECT_TRUE(
      ParseRequest(WithPools(kMaxRequestParts - 2), &request).ok());  // job and cluster count too
  EXPECT_EQ(request.job().cluster().pools_size(), kMaxRequestParts - 2);
}

TEST(ParseRequest, RefusesMoreByTheFieldThatPassesIt) {
  v1::PlanJobRequest request;
  const grpc::Status status = ParseRequest(WithPools(kMaxRequestParts), &request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message().substr(0, 18), "job.cluster.pools:") << status.error_message();
  EXPECT_FALSE(request.has_job());  // it was never built
}

TEST(ParseRequest, CountsWhatItDoesNotKnow) {
  v1::PlanJobRequest request;
  const std::string unknown = "\xf8\x7f\x01";  // field 2047, a number
  EXPECT_FALSE(ParseRequest(WithPools(kMaxRequestParts, unknown), &request).ok());
}

TEST(ParseRequest, NumbersDoNotCount) {
  v1::PlanJobRequest request, read;
  auto* histogram = request.mutable_job()->mutable_dataset()->mutable_histogram();
  for (int i = 0; i < 300'000; ++i) histogram->add_llm_tokens(i % 100 + 1);
  EXPECT_TRUE(ParseRequest(request.SerializeAsString(), &read).ok());
  EXPECT_EQ(read.job().dataset().histogram().llm_tokens_size(), 300'000);
}

TEST(ParseRequest, BytesThatAreNoMessageAreMalformed) {
  v1::PlanJobRequest request;
  for (const size_t size : {size_t{3}, kSmallRequestBytes + 1}) {
    const grpc::Status status = ParseRequest(std::string(size, '\x0a'), &request);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_NE(status.error_message().find("PlanJobRequest"), std::string::npos);
  }
}

}  // namespace
}  // namespace evenkeel::server
