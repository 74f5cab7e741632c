// Tests the spans that a server exports, by an OTLP receiver in this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/server/rpc/server_fixture.h"
#include "tests/server/temporary_folder.h"
#include "tests/server/tracing/fake_collector.h"

namespace evenkeel::server {
namespace {

constexpr char kTrace[] = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr char kSpan[] = "00f067aa0ba902b7";

class TraceExportTest : public ServerFixture {
 protected:
  TraceExportTest() : collector_("unix:" + files_.File("otlp.sock")) {
    options_.traces.target = "unix:" + files_.File("otlp.sock");
    options_.traces.tracer.interval = std::chrono::milliseconds(20);
  }
  // The server ends before the collector.
  ~TraceExportTest() override { server_.reset(); }

  grpc::Status Get(const std::string& parent = "", const std::string& plan_id = "plan-x") {
    grpc::ClientContext context;
    if (!parent.empty()) context.AddMetadata("traceparent", parent);
    context.AddMetadata("x-request-id", "my-request");
    v1::GetPlanRequest request;
    request.set_plan_id(plan_id);
    v1::GetPlanResponse response;
    return stub_->GetPlan(&context, request, &response);
  }

  TemporaryFolder files_;
  FakeCollector collector_;
};

TEST_F(TraceExportTest, ACallIsASpanInTheCallersTrace) {
  Start();
  EXPECT_EQ(Get(std::string("00-") + kTrace + "-" + kSpan + "-01").error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  const auto spans = collector_.Spans(1);
  ASSERT_EQ(spans.size(), 1u);
  const otlp::Span& span = spans[0];
  EXPECT_EQ(span.trace_id()[0], '\x4b');
  EXPECT_EQ(span.parent_span_id()[1], '\xf0');
  EXPECT_EQ(span.name(), "evenkeel.v1.PlannerService/GetPlan");
  EXPECT_EQ(span.kind(), otlp::SPAN_KIND_SERVER);
  EXPECT_LE(span.start_time_unix_nano(), span.end_time_unix_nano());
  EXPECT_EQ(AttributeOf(span, "rpc.system"), "grpc");
  EXPECT_EQ(AttributeOf(span, "rpc.service"), "evenkeel.v1.PlannerService");
  EXPECT_EQ(AttributeOf(span, "rpc.method"), "GetPlan");
  EXPECT_EQ(AttributeOf(span, "rpc.grpc.status_code"), "3");
  EXPECT_EQ(AttributeOf(span, "evenkeel.request_id"), "my-request");
  EXPECT_EQ(AttributeOf(span, "evenkeel.plan_id"), "none");
  EXPECT_FALSE(span.has_status());  // the caller's mistake is no error of the server
}

TEST_F(TraceExportTest, AComputationHasSpansOfItsSteps) {
  Start();
  grpc::ClientContext context;
  v1::PlanJobResponse response;
  ASSERT_TRUE(stub_->PlanJob(&context, Request(), &response).ok());
  std::map<std::string, otlp::Span> named;
  for (const otlp::Span& span : collector_.Spans(2)) named[span.name()] = span;
  ASSERT_EQ(named.count("evenkeel.v1.PlannerService/PlanJob"), 1u);
  ASSERT_EQ(named.count("queue"), 1u);
  const otlp::Span& call = named["evenkeel.v1.PlannerService/PlanJob"];
  EXPECT_EQ(call.parent_span_id(), "");
  EXPECT_EQ(AttributeOf(call, "evenkeel.plan_id"), response.plan().plan_id());
  EXPECT_EQ(AttributeOf(call, "evenkeel.served_from"), "planner");
  const otlp::Span& queue = named["queue"];
  EXPECT_EQ(queue.parent_span_id(), call.span_id());
  EXPECT_EQ(queue.trace_id(), call.trace_id());
  EXPECT_EQ(queue.kind(), otlp::SPAN_KIND_INTERNAL);
  EXPECT_GE(queue.start_time_unix_nano(), call.start_time_unix_nano());
  EXPECT_LE(queue.end_time_unix_nano(), call.end_time_unix_nano());
}

TEST_F(TraceExportTest, WhatNobodyRecordsIsNotExported) {
  options_.traces.tracer.sampler.ratio = 0;
  Start();
  (void)Get();
  (void)Get(std::string("00-") + kTrace + "-" + kSpan + "-00");
  (void)Get(std::string("00-") + kTrace + "-" + kSpan + "-01");
  EXPECT_EQ(collector_.Spans(1).size(), 1u);
  server_.reset();
  EXPECT_EQ(collector_.Spans(1).size(), 1u);
}

TEST_F(TraceExportTest, WithoutAReceiverCallsGoOn) {
  options_.traces.target = "unix:" + files_.File("nobody.sock");
  Start();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Get().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
}

TEST_F(TraceExportTest, AFileThatIsMissingStopsTheStart) {
  options_.traces.tls = true;
  options_.traces.ca = files_.File("none");
  server_.reset();
  std::string error;
  EXPECT_EQ(Server::Start(options_, {}, &error), nullptr);
  EXPECT_THAT(error, testing::HasSubstr("/none cannot be read"));
}

}  // namespace
}  // namespace evenkeel::server
