#include "server/rpc/wire.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "server/rpc/request_memo.h"

namespace evenkeel::server {
namespace {

// What protobuf itself would write is the reference.
TEST(WireTest, EncodesAsProtobufDoes) {
  for (const size_t length : {0, 1, 127, 128, 16383, 16384, 300000}) {
    v1::Plan plan;
    plan.set_plan_id(std::string(length, 'p'));
    v1::PlanJobResponse expected;
    *expected.mutable_plan() = plan;
    expected.set_plan_id("plan-1");
    expected.set_served_from(v1::SERVED_FROM_MEMORY);
    expected.set_label("l");
    if (length == 0) expected.clear_plan();  // an empty plan counts as none
    EXPECT_EQ(
        EncodePlanJobResponse(plan.SerializeAsString(), "plan-1", v1::SERVED_FROM_MEMORY, "l", {}),
        expected.SerializeAsString());
  }
}

TEST(WireTest, EncodesTheCalibration) {
  for (const int64_t revision : {int64_t{0}, int64_t{1}, int64_t{300}, INT64_MAX}) {
    for (const double seconds : {-1.0, 0.0, 0.25, 86400.5}) {
      v1::PlanJobResponse expected;
      expected.set_plan_id("plan-1");
      CalibrationFacts facts{.revision = revision};
      expected.set_calibration_revision(revision);
      if (seconds >= 0) {
        facts.unconfirmed_seconds = seconds;
        expected.set_calibration_unconfirmed_seconds(seconds);
      }
      EXPECT_EQ(EncodePlanJobResponse("", "plan-1", v1::SERVED_FROM_UNSPECIFIED, "", facts),
                expected.SerializeAsString());
    }
  }
}

TEST(WireTest, EncodesGetPlan) {
  v1::Plan plan;
  plan.set_plan_id("p");
  v1::GetPlanResponse expected;
  *expected.mutable_plan() = plan;
  expected.mutable_create_time()->set_seconds(1'700'000'000);
  expected.mutable_create_time()->set_nanos(5000);
  const std::chrono::system_clock::time_point time(std::chrono::seconds(1'700'000'000) +
                                                   std::chrono::microseconds(5));
  EXPECT_EQ(EncodeGetPlanResponse(plan.SerializeAsString(), time), expected.SerializeAsString());
}

TEST(WireTest, JoinsSlices) {
  const grpc::Slice parts[] = {grpc::Slice("ab"), grpc::Slice("cd")};
  EXPECT_EQ(ViewOf(ToSlice(grpc::ByteBuffer(parts, 2))), "abcd");
  EXPECT_EQ(ViewOf(ToSlice(ToByteBuffer("xyz"))), "xyz");
  EXPECT_EQ(ViewOf(ToSlice(ToByteBuffer(""))), "");
}

TEST(RequestMemoTest, FindsExactlyTheSameBytes) {
  RequestMemo memo(1 << 20, 42);
  memo.Remember("request", {"plan-1", "label"}, 1);
  ASSERT_TRUE(memo.Find("request", 1));
  EXPECT_EQ(memo.Find("request", 1)->plan_id, "plan-1");
  EXPECT_EQ(memo.Find("request", 1)->label, "label");
  EXPECT_FALSE(memo.Find("request ", 1));
}

TEST(RequestMemoTest, IsBounded) {
  RequestMemo memo(1000, 42);
  memo.Remember(std::string(2000, 'x'), {"plan-1", ""}, 1);
  EXPECT_FALSE(memo.Find(std::string(2000, 'x'), 1));
  for (int i = 0; i < 100; ++i) memo.Remember(std::to_string(i), {"plan-1", ""}, 1);
  EXPECT_FALSE(memo.Find("0", 1));
  EXPECT_TRUE(memo.Find("99", 1));
}

// The same bytes lead to another plan once the calibration has changed.
TEST(RequestMemoTest, ForgetsWhatAnOlderCalibrationPlanned) {
  RequestMemo memo(1 << 20, 42);
  memo.Remember("request", {"plan-1", ""}, 1);
  EXPECT_FALSE(memo.Find("request", 2));
  EXPECT_FALSE(memo.Find("request", 1));        // a call that began before
  memo.Remember("request", {"plan-1", ""}, 1);  // likewise
  EXPECT_FALSE(memo.Find("request", 2));
  memo.Remember("request", {"plan-2", ""}, 2);
  EXPECT_EQ(memo.Find("request", 2)->plan_id, "plan-2");
}

}  // namespace
}  // namespace evenkeel::server
