#include "client/cli/render/evaluation.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "client/cli/render/plan.h"
#include "tests/client/timelines.h"

namespace evenkeel::cli {
namespace {

constexpr Style kStyle = {.width = 100, .unicode = true, .color = false};

// Makes an answer with the golden plan as ours, and a plan of yours that takes `factor` times as
// long.
v1::EvaluatePlanResponse Response(double factor) {
  v1::EvaluatePlanResponse response;
  *response.mutable_best() = GoldenPlan();
  *response.mutable_evaluated() = GoldenPlan();
  v1::Predictions* predictions = response.mutable_evaluated()->mutable_predictions();
  v1::StepTime* step = predictions->mutable_step();
  step->set_total_seconds(factor * step->total_seconds());
  predictions->set_gpu_days(factor * predictions->gpu_days());
  response.set_slower_by_ratio(factor - 1);
  return response;
}

std::string Text(const v1::EvaluatePlanResponse& response) {
  return RenderEvaluation(kStyle, response, "computed by this process");
}

TEST(RenderEvaluationTest, SaysHowMuchSlowerOrQuickerItIs) {
  EXPECT_NE(Text(Response(1.5)).find("takes 50.0% more GPU-days than ours"), std::string::npos);
  EXPECT_NE(Text(Response(1.5)).find("+50.0%"), std::string::npos);
  EXPECT_NE(Text(Response(0.5)).find("takes 50.0% fewer GPU-days than ours"), std::string::npos);
  EXPECT_NE(Text(Response(1)).find("as many GPU-days as ours"), std::string::npos);
}

TEST(RenderEvaluationTest, MisfitsOfEitherAreNamed) {
  v1::EvaluatePlanResponse response = Response(1);
  response.clear_slower_by_ratio();
  v1::Misfit* misfit = response.mutable_evaluated()->mutable_misfit();
  misfit->set_short_bytes(int64_t{3} << 30);
  misfit->set_stage_index(2);
  misfit->set_text("Stage 2 lacks much.");
  EXPECT_NE(Text(response).find("does not fit: 3.0 GiB short on stage 2"), std::string::npos);
  EXPECT_NE(Text(response).find("Stage 2 lacks much."), std::string::npos);

  response = Response(1);
  response.clear_slower_by_ratio();
  response.mutable_best()->mutable_misfit();
  response.mutable_best()->clear_predictions();
  EXPECT_NE(Text(response).find("found no plan that fits"), std::string::npos);
  EXPECT_NE(Text(response).find("no fit"), std::string::npos);
}

TEST(RenderEvaluationTest, LinesAreNoWiderThanTheTerminal) {
  std::istringstream lines(Text(Response(1.2)));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), 100) << line;
}

TEST(UnconfirmedText, SaysHowOldTheProfilesMayBe) {
  v1::EvaluatePlanResponse response;
  EXPECT_EQ(UnconfirmedText(response), "");
  response.set_calibration_unconfirmed_seconds(192);
  EXPECT_EQ(UnconfirmedText(response),
            ", with the profiles of 3 min 12 s ago: newer ones could not be looked for");
}

}  // namespace
}  // namespace evenkeel::cli
