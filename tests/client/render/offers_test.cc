#include "client/cli/render/offers.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "tests/client/timelines.h"

namespace evenkeel::cli {
namespace {

constexpr Style kOffersStyle = {.width = 100, .unicode = true, .color = false};

TEST(RenderOffersTest, NothingForOneOffer) {
  v1::PlanJobResponse response;
  *response.mutable_plan() = GoldenPlan();
  EXPECT_EQ(RenderOffers(kOffersStyle, response), "");
}

TEST(RenderOffersTest, BestFirstAndWhyOthersHaveNoPlan) {
  v1::PlanJobResponse response;
  response.set_plan_id("plan-0123");
  *response.add_offers() = GoldenPlan();
  v1::Plan* failing = response.add_offers();
  *failing = GoldenPlan();
  failing->mutable_subject()->set_gpu_count(64);
  failing->mutable_subject()->mutable_objective()->set_deadline_seconds(7200);
  failing->mutable_predictions()->mutable_goodput()->set_finish_seconds(14400);
  failing->mutable_predictions()->mutable_goodput()->set_cost(12.5);
  v1::Plan* misfit = response.add_offers();
  misfit->mutable_subject()->set_gpu_count(8);
  misfit->mutable_misfit()->set_short_bytes(int64_t{5} << 30);
  v1::OfferLeftOut* left_out = response.add_offers_left_out();
  left_out->set_gpu_type("h100-sxm-80gb");
  left_out->set_gpu_count(128);
  left_out->set_reason(v1::LEFT_OUT_REASON_NOT_NEEDED);
  const std::string text = RenderOffers(kOffersStyle, response);
  EXPECT_EQ(text.find(": 4 offers compared\n"), 0u) << text;
  EXPECT_NE(text.find("\nFewest GPUs for 2.0 h: 32 x a100-sxm-80gb, which take 32 min 13 s. "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("comparison plan-0123, deadline 2.0 h"), std::string::npos) << text;
  EXPECT_NE(text.find("4.0 h"), std::string::npos) << text;
  EXPECT_NE(text.find("missed"), std::string::npos);
  EXPECT_NE(text.find("12.50"), std::string::npos);
  EXPECT_NE(text.find("5.0 GiB short"), std::string::npos);
  EXPECT_NE(text.find("128 x h100-sxm-80gb: not planned: fewer GPUs meet the deadline"),
            std::string::npos);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), 100) << line;
}

}  // namespace
}  // namespace evenkeel::cli
