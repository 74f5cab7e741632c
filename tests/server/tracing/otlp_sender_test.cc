#include "server/tracing/otlp_sender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/server/temporary_folder.h"
#include "tests/server/tracing/fake_collector.h"

namespace evenkeel::server {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class OtlpSenderTest : public testing::Test {
 protected:
  OtlpSenderTest() { settings_.target = "unix:" + folder_.File("otlp.sock"); }

  Tracer::Sent Send(std::chrono::milliseconds timeout = 10s) {
    SpanRecord span;
    span.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
    span.span_id = "00f067aa0ba902b7";
    span.parent_id = "00f067aa0ba902b8";
    span.name = "a name";
    span.is_server = true;
    span.start_unix_ns = 1'700'000'000'123'456'789;
    span.end_unix_ns = span.start_unix_ns + 5;
    span.attributes = {{"text", "x"}, {"number", int64_t{-7}}};
    span.is_error = true;
    span.error = "why";
    std::string error;
    const Tracer::Send send = MakeOtlpSender(settings_, "1.2.3", &error);
    EXPECT_EQ(error, "");
    return send({span, span}, timeout);
  }

  TemporaryFolder folder_;
  OtlpSettings settings_;
};

TEST_F(OtlpSenderTest, SaysWhatOtlpSays) {
  FakeCollector collector(settings_.target);
  settings_.headers = {{"authorization", "Bearer x"}};
  settings_.attributes = {{"service.name", "planner"}};
  settings_.gzip = true;
  EXPECT_TRUE(Send().ok);
  ASSERT_EQ(collector.requests().size(), 1u);
  EXPECT_EQ(collector.headers().at("authorization"), "Bearer x");
  EXPECT_THAT(collector.headers().at("user-agent"), HasSubstr("evenkeel-server/1.2.3"));
  const auto request = collector.requests()[0];
  ASSERT_EQ(request.resource_spans_size(), 1);
  const auto& resource = request.resource_spans(0).resource();
  EXPECT_EQ(AttributeOf(resource, "service.name"), "planner");
  EXPECT_EQ(AttributeOf(resource, "service.version"), "1.2.3");
  const std::vector<otlp::Span> spans = collector.Spans(2);
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].trace_id(),
            "\x4b\xf9\x2f\x35\x77\xb3\x4d\xa6\xa3\xce\x92\x9d\x0e\x0e\x47\x36");
  EXPECT_EQ(spans[0].span_id().size(), 8u);
  EXPECT_EQ(spans[0].parent_span_id().back(), '\xb8');
  EXPECT_EQ(spans[0].kind(), otlp::SPAN_KIND_SERVER);
  EXPECT_EQ(spans[0].end_time_unix_nano() - spans[0].start_time_unix_nano(), 5u);
  EXPECT_EQ(AttributeOf(spans[0], "text"), "x");
  EXPECT_EQ(AttributeOf(spans[0], "number"), "-7");
  EXPECT_EQ(spans[0].status().code(), otlp::STATUS_CODE_ERROR);
  EXPECT_EQ(spans[0].status().message(), "why");
}

TEST_F(OtlpSenderTest, TellsWhatMayHelp) {
  {
    FakeCollector collector(settings_.target);
    collector.Answer({}, 1);
    Tracer::Sent sent = Send();
    EXPECT_TRUE(sent.ok);
    EXPECT_EQ(sent.refused, 1u);
    EXPECT_THAT(sent.why, HasSubstr("too old"));
    collector.Answer({grpc::StatusCode::UNAUTHENTICATED, "who are you?"});
    sent = Send();
    EXPECT_FALSE(sent.ok);
    EXPECT_FALSE(sent.again);
    EXPECT_THAT(sent.why, HasSubstr("who are you?"));
    collector.Answer({grpc::StatusCode::UNAVAILABLE, "later"});
    EXPECT_TRUE(Send().again);
  }
  const Tracer::Sent sent = Send(2s);
  EXPECT_FALSE(sent.ok);
  EXPECT_TRUE(sent.again);
}

TEST_F(OtlpSenderTest, NamesAFileThatCannotBeRead) {
  settings_.tls = true;
  settings_.ca = folder_.File("none");
  std::string error;
  EXPECT_FALSE(MakeOtlpSender(settings_, "1", &error));
  EXPECT_THAT(error, HasSubstr(settings_.ca + " cannot be read"));
}

}  // namespace
}  // namespace evenkeel::server
