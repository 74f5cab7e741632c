#include "client/cli/render/curve.h"

#include <gtest/gtest.h>

#include <string>

namespace evenkeel::cli {
namespace {

v1::CurvePoint* AddPoint(v1::Curve* curve, int nodes, v1::CurvePointState state) {
  v1::CurvePoint* point = curve->add_points();
  point->set_nodes(nodes);
  point->set_state(state);
  return point;
}

std::string Text(const v1::PlanCurveResponse& response) {
  return RenderCurve({.width = 1000}, response, "Computed here");
}

TEST(RenderCurveTest, ExplainsOnlyTheMarksThatOccur) {
  v1::PlanCurveResponse response;
  v1::Curve* curve = response.add_curves();
  curve->set_gpus_per_node(1);
  v1::CurvePoint* point = AddPoint(curve, 1, v1::CURVE_POINT_STATE_FITS);
  point->set_llm_tokens_per_second(1000);
  point->set_estimated(true);
  std::string text = Text(response);
  EXPECT_NE(text.find("nodes of 1 GPU\n"), std::string::npos) << text;
  EXPECT_NE(text.find("mark e  estimated by a short search"), std::string::npos) << text;
  EXPECT_EQ(text.find("mark ="), std::string::npos) << text;
  EXPECT_EQ(text.find("Figures behind a change"), std::string::npos) << text;
}

TEST(RenderCurveTest, SaysWhoseReasonItGivesWhereNothingFits) {
  v1::PlanCurveResponse response;
  v1::Curve* curve = response.add_curves();
  AddPoint(curve, 1, v1::CURVE_POINT_STATE_MISFIT)->set_reason("Lacks 9 GiB.");
  AddPoint(curve, 2, v1::CURVE_POINT_STATE_MISFIT)->set_reason("Lacks 5 GiB.");
  AddPoint(curve, 3, v1::CURVE_POINT_STATE_NO_DEGREES)->set_reason("No degrees.");
  const std::string text = Text(response);
  EXPECT_NE(text.find("Does not fit on 1, 2 nodes. On 2: Lacks 5 GiB.\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("No plan on 3 nodes: No degrees.\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("How to read it"), std::string::npos) << text;
}

}  // namespace
}  // namespace evenkeel::cli
