#include "server/rpc/trace_context.h"

#include <gtest/gtest.h>

#include <string>

#include "server/rpc/random_id.h"
#include "server/rpc/rpc_scope.h"
#include "tests/server/rpc/server_fixture.h"

namespace evenkeel::server {
namespace {

const std::string kOtherTrace = "0af7651916cd43dd8448eb211c80319c";
const std::string kOtherSpan = "b7ad6b7169203331";

TEST(TraceContextTest, ReadsWhatItWrites) {
  for (const std::string flags : {"00", "01"}) {
    const auto context = ParseTraceParent("00-" + kOtherTrace + "-" + kOtherSpan + "-" + flags);
    ASSERT_TRUE(context);
    EXPECT_EQ(context->trace_id, kOtherTrace);
    EXPECT_EQ(context->span_id, kOtherSpan);
    EXPECT_EQ(context->sampled, flags == "01");
    EXPECT_EQ(FormatTraceParent(*context), "00-" + kOtherTrace + "-" + kOtherSpan + "-" + flags);
  }
}

TEST(TraceContextTest, TakesLaterVersionsAndFlagsAsTheStandardAsks) {
  EXPECT_TRUE(ParseTraceParent("cc-" + kOtherTrace + "-" + kOtherSpan + "-01-what-comes-later"));
  EXPECT_TRUE(ParseTraceParent("01-" + kOtherTrace + "-" + kOtherSpan + "-09")->sampled);
  EXPECT_FALSE(ParseTraceParent("00-" + kOtherTrace + "-" + kOtherSpan + "-fe")->sampled);
  EXPECT_TRUE(ParseTraceParent("00-" + kOtherTrace + "-" + kOtherSpan + "-ff")->sampled);
}

TEST(TraceContextTest, RefusesWhateverElse) {
  const std::string upper_case = "0AF7651916CD43DD8448EB211C80319C";
  for (const std::string& text :
       {std::string(), std::string("00"), "ff-" + kOtherTrace + "-" + kOtherSpan + "-01",
        "0x-" + kOtherTrace + "-" + kOtherSpan + "-01",
        "00-" + kOtherTrace + "-" + kOtherSpan + "-0",
        "00-" + kOtherTrace + "-" + kOtherSpan + "-0g",
        "00-" + kOtherTrace + "-" + kOtherSpan + "-01-",
        "00-" + kOtherTrace + "-" + kOtherSpan + "-01 ",
        "cc-" + kOtherTrace + "-" + kOtherSpan + "-01x",
        "00-" + kOtherTrace + "x" + kOtherSpan + "-01",
        "00-" + upper_case + "-" + kOtherSpan + "-01",
        "00-" + std::string(32, '0') + "-" + kOtherSpan + "-01",
        "00-" + kOtherTrace + "-" + std::string(16, '0') + "-01",
        "00_" + kOtherTrace + "-" + kOtherSpan + "-01",
        "00-" + kOtherTrace + "-" + kOtherSpan + "_01"}) {
    EXPECT_FALSE(ParseTraceParent(text)) << text;
  }
}

TEST(TraceContextTest, SpansAreNewAndTracesAreKept) {
  const TraceContext parent{kOtherTrace, kOtherSpan, true};
  const TraceContext child = NewSpan(&parent);
  EXPECT_EQ(child.trace_id, kOtherTrace);
  EXPECT_NE(child.span_id, kOtherSpan);
  EXPECT_TRUE(child.sampled);
  const TraceContext root = NewSpan(nullptr);
  EXPECT_TRUE(ParseTraceParent(FormatTraceParent(root)));
  EXPECT_FALSE(root.sampled);
  EXPECT_NE(NewSpan(nullptr).trace_id, root.trace_id);
  EXPECT_EQ(RandomHexId(16).size(), 16u);
}

class TraceTest : public ServerFixture {
 protected:
  // Makes a call with these headers. Returns the answer's traceparent and x-trace-id.
  std::pair<std::string, std::string> Call(const std::vector<std::string>& parents,
                                           const std::string& plan_id = "plan-x") {
    grpc::ClientContext context;
    for (const std::string& parent : parents) context.AddMetadata(kTraceParentHeader, parent);
    v1::GetPlanRequest request;
    request.set_plan_id(plan_id);
    v1::GetPlanResponse response;
    EXPECT_FALSE(stub_->GetPlan(&context, request, &response).ok());
    return {Header(context, kTraceParentHeader), Header(context, kTraceIdHeader)};
  }

  static std::string Header(const grpc::ClientContext& context, const std::string& name) {
    const auto& headers = context.GetServerInitialMetadata();
    EXPECT_LE(headers.count(name), 1u) << name;
    const auto found = headers.find(name);
    return found == headers.end() ? "" : std::string(found->second.data(), found->second.size());
  }
};

TEST_F(TraceTest, AFailedCallAnswersItsSpan) {
  const auto [parent, trace] = Call({"00-" + kOtherTrace + "-" + kOtherSpan + "-01"});
  const auto span = ParseTraceParent(parent);
  ASSERT_TRUE(span) << parent;
  EXPECT_EQ(span->trace_id, kOtherTrace);
  EXPECT_EQ(trace, kOtherTrace);
  EXPECT_NE(span->span_id, kOtherSpan);
  EXPECT_TRUE(span->sampled);
}

TEST_F(TraceTest, WithoutAUsableParentThereIsANewTrace) {
  const std::string good = "00-" + kOtherTrace + "-" + kOtherSpan + "-01";
  for (const auto& parents : {std::vector<std::string>{"nonsense"}, {good, good}}) {
    const auto [parent, trace] = Call(parents);
    const auto span = ParseTraceParent(parent);
    ASSERT_TRUE(span) << parent;
    EXPECT_EQ(span->trace_id, trace);
    EXPECT_NE(trace, kOtherTrace);
    EXPECT_FALSE(span->sampled);
  }
  const auto [parent, trace] = Call({});
  EXPECT_EQ(parent, "");
  EXPECT_EQ(trace.size(), 32u);
}

}  // namespace
}  // namespace evenkeel::server
