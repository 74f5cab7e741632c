#include "server/cache/plan_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "server/core/record_io.h"

namespace evenkeel::server {
namespace {

using testing::HasSubstr;
using std::chrono_literals::operator""s;

StoredPlan Plan() {
  StoredPlan plan;
  plan.tenant = "team-a";
  plan.plan_id = "plan-1";
  plan.plan_bytes = std::string("bytes\0of a plan", 15);
  plan.facts = {"llama3-8b", "h100", 32, true, 1.25, 0.1 + 0.2, 9, 4096};
  plan.create_time = PlanTime(1234567s);
  plan.left_out_bytes = "left out";
  StoredPlan offer = plan;
  offer.plan_id = "plan-2";
  offer.left_out_bytes.clear();
  plan.offers = {std::make_shared<const StoredPlan>(offer),
                 std::make_shared<const StoredPlan>(offer)};
  return plan;
}

void ExpectEqual(const StoredPlan& a, const StoredPlan& b) {
  EXPECT_EQ(a.key(), b.key());
  EXPECT_EQ(a.plan_bytes, b.plan_bytes);
  EXPECT_EQ(a.create_time, b.create_time);
  EXPECT_EQ(a.left_out_bytes, b.left_out_bytes);
  EXPECT_EQ(a.facts.model, b.facts.model);
  EXPECT_EQ(a.facts.gpu_type, b.facts.gpu_type);
  EXPECT_EQ(a.facts.gpu_count, b.facts.gpu_count);
  EXPECT_EQ(a.facts.fits, b.facts.fits);
  EXPECT_EQ(a.facts.step_seconds, b.facts.step_seconds);
  EXPECT_EQ(a.facts.gpu_days, b.facts.gpu_days);
  EXPECT_EQ(a.facts.unit_cap, b.facts.unit_cap);
  EXPECT_EQ(a.facts.token_cap, b.facts.token_cap);
  ASSERT_EQ(a.offers.size(), b.offers.size());
  for (size_t i = 0; i < a.offers.size(); ++i) ExpectEqual(*a.offers[i], *b.offers[i]);
}

TEST(PlanRecordTest, ReadsWhatItWrote) {
  PlanRecord read;
  const std::string bytes = EncodePlanRecord(Plan(), "planner-7");
  ASSERT_EQ(DecodePlanRecord(Plan().key(), bytes, &read), "");
  ExpectEqual(read.plan, Plan());
  EXPECT_EQ(read.planner_version, "planner-7");
}

TEST(PlanRecordTest, RefusesEveryDamagedByteAndEveryCut) {
  const std::string good = EncodePlanRecord(Plan(), "v");
  for (size_t i = 0; i < good.size(); ++i) {
    for (const char flip : {'\x01', '\x80'}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ flip);
      PlanRecord read;
      EXPECT_NE(DecodePlanRecord(Plan().key(), bad, &read), "") << i;
    }
    PlanRecord read;
    EXPECT_NE(DecodePlanRecord(Plan().key(), good.substr(0, i), &read), "") << i;
  }
  PlanRecord read;
  EXPECT_NE(DecodePlanRecord(Plan().key(), good + "x", &read), "");
}

TEST(PlanRecordTest, RefusesWhatBelongsToAnotherKey) {
  const std::string bytes = EncodePlanRecord(Plan(), "v");
  PlanRecord read;
  EXPECT_THAT(DecodePlanRecord("team-b/plan-1", bytes, &read), HasSubstr("another plan's"));
  EXPECT_THAT(DecodePlanRecord("plan-1", bytes, &read), HasSubstr("another plan's"));
}

// The checksum is valid, so only the schema is wrong.
TEST(PlanRecordTest, RefusesOtherSchemasAndForeignBytes) {
  for (const int64_t schema : {0, 2, -1}) {
    std::string bytes = EncodePlanRecord(Plan(), "v");
    std::string number;
    PutNumber(schema, &number);
    bytes.replace(4, number.size(), number);
    bytes.resize(bytes.size() - kRecordNumberBytes);
    PutNumber(RecordChecksum(RecordSeed(Plan().key()), bytes), &bytes);
    PlanRecord read;
    EXPECT_THAT(DecodePlanRecord(Plan().key(), bytes, &read), HasSubstr("of another release"));
  }
  PlanRecord read;
  EXPECT_THAT(DecodePlanRecord("k", "some other program's value, long enough", &read),
              HasSubstr("not a plan record"));
}

}  // namespace
}  // namespace evenkeel::server
