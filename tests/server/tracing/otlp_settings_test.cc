#include "server/tracing/otlp_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace evenkeel::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using Variables = std::map<std::string, std::string>;

class OtlpSettingsTest : public testing::Test {
 protected:
  std::string Read(const Variables& variables, const std::string& endpoint = "environment") {
    return ReadOtlpSettings(
        endpoint,
        [&](const char* name) {
          const auto found = variables.find(name);
          return found == variables.end() ? nullptr : found->second.c_str();
        },
        &settings_);
  }

  OtlpSettings settings_;
};

TEST_F(OtlpSettingsTest, NothingIsExportedUnlessToldTo) {
  for (const Variables& variables :
       {Variables{}, Variables{{"OTEL_SERVICE_NAME", "a"}},
        Variables{{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://a"}, {"OTEL_SDK_DISABLED", "true"}},
        Variables{{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://a"}, {"OTEL_TRACES_EXPORTER", "none"}}}) {
    EXPECT_EQ(Read(variables), "");
    EXPECT_EQ(settings_.target, "");
  }
  EXPECT_EQ(Read({{"OTEL_EXPORTER_OTLP_ENDPOINT", "nonsense"}}, "off"), "");
  EXPECT_EQ(settings_.target, "");
}

TEST_F(OtlpSettingsTest, TakesAddresses) {
  struct Case {
    const char* address;
    const char* target;
    bool tls;
  };
  for (const Case& one : {Case{"http://collector:4317", "collector:4317", false},
                          {"http://collector/", "collector:4317", false},
                          {"https://a.b", "a.b:4317", true},
                          {"https://[::1]:55", "[::1]:55", true},
                          {"http://[::1]", "[::1]:4317", false},
                          {"collector:4317", "collector:4317", true},
                          {"unix:/run/otlp.sock", "unix:/run/otlp.sock", false}}) {
    EXPECT_EQ(Read({}, one.address), "") << one.address;
    EXPECT_EQ(settings_.target, one.target);
    EXPECT_EQ(settings_.tls, one.tls) << one.address;
  }
  EXPECT_EQ(Read({{"OTEL_EXPORTER_OTLP_INSECURE", "TRUE"}}, "collector:4317"), "");
  EXPECT_FALSE(settings_.tls);
  for (const char* wrong : {"", "collector", "http://", "http://a:0", "http://a:b", "ftp://a:1",
                            "http://a/v1/traces", "http://me:secret@a:1", "::1:4317", "unix:rel"}) {
    EXPECT_THAT(Read({}, wrong), HasSubstr("--otlp-endpoint must be")) << wrong;
  }
}

TEST_F(OtlpSettingsTest, TheVariablesOfTracesComeFirst) {
  ASSERT_EQ(Read({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://all:1"},
                  {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://traces:2"},
                  {"OTEL_EXPORTER_OTLP_TIMEOUT", "5"},
                  {"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "1500"},
                  {"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc"},
                  {"OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"}}),
            "");
  EXPECT_EQ(settings_.target, "traces:2");
  EXPECT_EQ(settings_.tracer.timeout, std::chrono::milliseconds(1500));
}

TEST_F(OtlpSettingsTest, ReadsTheRest) {
  ASSERT_EQ(Read({{"OTEL_EXPORTER_OTLP_ENDPOINT", "https://a"},
                  {"OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20x%3D, x-team = blue ,"},
                  {"OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"},
                  {"OTEL_EXPORTER_OTLP_CERTIFICATE", "/ca"},
                  {"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "/cert"},
                  {"OTEL_EXPORTER_OTLP_CLIENT_KEY", "/key"},
                  {"OTEL_RESOURCE_ATTRIBUTES", "service.name=other,k8s.pod.name=p%2C1"},
                  {"OTEL_SERVICE_NAME", "planner"},
                  {"OTEL_TRACES_SAMPLER", "parentbased_traceidratio"},
                  {"OTEL_TRACES_SAMPLER_ARG", "0.5"},
                  {"OTEL_BSP_MAX_QUEUE_SIZE", "9"},
                  {"OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "3"},
                  {"OTEL_BSP_SCHEDULE_DELAY", "70"}}),
            "");
  EXPECT_THAT(settings_.headers,
              ElementsAre(Pair("authorization", "Bearer x="), Pair("x-team", "blue")));
  EXPECT_THAT(settings_.attributes,
              ElementsAre(Pair("k8s.pod.name", "p,1"), Pair("service.name", "planner")));
  EXPECT_TRUE(settings_.gzip);
  EXPECT_EQ(settings_.ca + settings_.certificate + settings_.key, "/ca/cert/key");
  EXPECT_EQ(settings_.tracer.sampler.ratio, 0.5);
  EXPECT_EQ(settings_.tracer.queue_length, 9u);
  EXPECT_EQ(settings_.tracer.batch_length, 3u);
  EXPECT_EQ(settings_.tracer.interval, std::chrono::milliseconds(70));
  ASSERT_EQ(Read({{"OTEL_RESOURCE_ATTRIBUTES", "service.name=other"}}, "http://a"), "");
  EXPECT_THAT(settings_.attributes, ElementsAre(Pair("service.name", "other")));
  ASSERT_EQ(Read({}, "http://a"), "");
  EXPECT_THAT(settings_.attributes, ElementsAre(Pair("service.name", "evenkeel-server")));
}

TEST_F(OtlpSettingsTest, NamesTheVariableThatIsWrong) {
  for (const auto& [name, value] : Variables{{"OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"},
                                             {"OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"},
                                             {"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "authorization"},
                                             {"OTEL_EXPORTER_OTLP_HEADERS", "a=b%0ac"},
                                             {"OTEL_EXPORTER_OTLP_CLIENT_KEY", "/key"},
                                             {"OTEL_EXPORTER_OTLP_TIMEOUT", "0"},
                                             {"OTEL_EXPORTER_OTLP_INSECURE", "yes"},
                                             {"OTEL_TRACES_EXPORTER", "zipkin"},
                                             {"OTEL_SDK_DISABLED", "1"},
                                             {"OTEL_RESOURCE_ATTRIBUTES", "=b"},
                                             {"OTEL_TRACES_SAMPLER", "xray"},
                                             {"OTEL_BSP_MAX_QUEUE_SIZE", "-1"},
                                             {"OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4096"},
                                             {"OTEL_BSP_SCHEDULE_DELAY", "1.5"}}) {
    const std::string problem = Read({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://a"}, {name, value}});
    EXPECT_THAT(problem, HasSubstr(name));
  }
  // Headers are often secrets.
  EXPECT_EQ(
      Read({{"OTEL_EXPORTER_OTLP_HEADERS", "authorization=s%ecret"}}, "http://a").find("ecret"),
      std::string::npos);
}

}  // namespace
}  // namespace evenkeel::server
