#include "server/rpc/wire.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "server/rpc/request_memo.h"

namespace evenkeel::server {
namespace {

// The reference is what protobuf itself would write.
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
  expected.set_served_from(v1::SERVED_FROM_STORE);
  StoredPlan stored;
  stored.plan_bytes = plan.SerializeAsString();
  stored.create_time = time;
  EXPECT_EQ(EncodeGetPlanResponse(stored, v1::SERVED_FROM_STORE), expected.SerializeAsString());
}

TEST(WireTest, JoinsSlices) {
  const grpc::Slice parts[] = {grpc::Slice("ab"), grpc::Slice("cd")};
  EXPECT_EQ(ViewOf(ToSlice(grpc::ByteBuffer(parts, 2))), "abcd");
  EXPECT_EQ(ViewOf(ToSlice(ToByteBuffer("xyz"))), "xyz");
  EXPECT_EQ(ViewOf(ToSlice(ToByteBuffer(""))), "");
}

TEST(RequestMemoTest, TellsRequestsTenantsAndCalibrationsApart) {
  RequestMemo<KnownPlan> memo(10000, 5);
  memo.Remember("abc", {"plan-1", "label"}, {"", 1});
  ASSERT_TRUE(memo.Find("abc", {"", 1}).has_value());
  EXPECT_EQ(memo.Find("abc", {"", 1})->plan_id, "plan-1");
  EXPECT_EQ(memo.Find("abc", {"", 1})->label, "label");
  EXPECT_FALSE(memo.Find("abd", {"", 1}).has_value());
  EXPECT_FALSE(memo.Find("abc", {"", 2}).has_value());
  EXPECT_FALSE(memo.Find("abc", {"team", 1}).has_value());
  memo.Remember("abc", {"plan-2", ""}, {"team", 1});
  EXPECT_EQ(memo.Find("abc", {"team", 1})->plan_id, "plan-2");
  EXPECT_EQ(memo.Find("abc", {"", 1})->plan_id, "plan-1");
}

TEST(RequestMemoTest, ANewerCalibrationTakesThePlace) {
  RequestMemo<KnownPlan> memo(10000, 5);
  memo.Remember("abc", {"plan-1", ""}, {"", 1});
  memo.Remember("abc", {"plan-2", ""}, {"", 2});
  EXPECT_EQ(memo.Find("abc", {"", 2})->plan_id, "plan-2");
  memo.Remember("abc", {"plan-1", ""}, {"", 1});  // from a thread that is late
  EXPECT_EQ(memo.Find("abc", {"", 2})->plan_id, "plan-2");
}

TEST(RequestMemoTest, DoesNotRememberWhatIsLargerThanItself) {
  RequestMemo<KnownPlan> memo(1000, 5);
  memo.Remember(std::string(2000, 'x'), {"plan-1", ""}, {"", 1});
  EXPECT_FALSE(memo.Find(std::string(2000, 'x'), {"", 1}).has_value());
}

}  // namespace
}  // namespace evenkeel::server
