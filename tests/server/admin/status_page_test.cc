// Compares the page with golden files, and tests its parts. EVENKEEL_WRITE_GOLDEN=1 rewrites the
// files.
#include "server/admin/status_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "server/admin/render_html.h"
#include "server/admin/render_json.h"
#include "server/admin/status_sections.h"
#include "server/admin/status_text.h"
#include "tests/hidden_texts.h"

namespace evenkeel::server {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kNow = 1'790'000'000;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

MetricSample Histogram(const std::string& name, const MetricsSnapshot::Labels& labels) {
  return {name, labels, 100, 1, {{0.001, 50}, {0.01, 98}, {0.1, 100}, {kInfinity, 100}}};
}

// Returns the metrics of a healthy server.
std::vector<MetricSample> Healthy() {
  return {
      {"evenkeel_build_info", {{"version", "1.2.3"}, {"planner", "17"}, {"catalog", "9"}}, 1},
      {"evenkeel_inflight", {}, 3},
      {"evenkeel_workers", {}, 4},
      {"evenkeel_workers_busy", {}, 2},
      {"evenkeel_queue_depth", {}, 1},
      {"evenkeel_queue_limit", {}, 64},
      Histogram("evenkeel_queue_wait_seconds", {{"lane", "short"}}),
      {"evenkeel_plans_total", {{"outcome", "fits"}}, 1234567},
      {"evenkeel_plans_total", {{"outcome", "defect"}}, 0},
      {"evenkeel_shed_total", {{"reason", "queue_full"}}, 7},
      {"evenkeel_shed_total", {{"reason", "shutting_down"}}, 0},
      {"evenkeel_connections", {}, 12},
      {"evenkeel_connections_limit", {}, 100},
      {"evenkeel_cert_expiry_timestamp_seconds", {{"certificate", "server"}}, kNow + 30 * 86400},
      {"evenkeel_tls_files_ok", {}, 1},
      {"evenkeel_profile_revision", {}, 5},
      {"evenkeel_redis_breaker_state", {}, 0},
      {"process_resident_memory_bytes", {}, 22020096},
      {"process_open_fds", {}, 20},
      {"process_max_fds", {}, 65536},
      {"evenkeel_cache_hits_total", {{"tier", "memory"}}, 300},
      {"evenkeel_cache_misses_total", {{"tier", "memory"}}, 100},
      {"evenkeel_cache_evictions_total", {{"tier", "memory"}}, 2},
      {"evenkeel_cache_bytes", {{"tier", "memory"}}, 64000},
      {"evenkeel_cache_entries", {{"tier", "memory"}}, 20},
      {"grpc_server_started_total", {{"grpc_method", "PlanJob"}}, 101},
      {"grpc_server_started_total", {{"grpc_method", "ListGpuTypes"}}, 0},
      {"grpc_server_handled_total", {{"grpc_method", "PlanJob"}, {"grpc_code", "OK"}}, 97},
      {"grpc_server_handled_total",
       {{"grpc_method", "PlanJob"}, {"grpc_code", "InvalidArgument"}},
       3},
      Histogram("grpc_server_handling_seconds", {{"grpc_method", "PlanJob"}})};
}

StatusInputs Inputs(std::vector<MetricSample> samples) {
  return {
      .metrics = MetricsSnapshot(std::move(samples)),
      .now = kNow,
      .uptime_seconds = 93784,
      .serving = true,
      .listen = "127.0.0.1:50051, unix:/run/evenkeel.sock",
      .log_level = "info",
      .changed_settings = {{"--workers", "4"}, {"--redis", "redis://u:p@cache.local:6379/0"}},
      .recent_plans = {{"", "plan-1", "internvl-chat-v1.5", "a100-sxm-80gb", 32, true, 1.234, 12},
                       {"", "plan-2", "<script>alert(1)</script>", "h100", 8, false, 0, 7200}},
      .more = {{"Other part", {{"Row", "value", "note"}}}}};
}

void ExpectGolden(const std::string& name, const std::string& text) {
  const std::string path = EVENKEEL_SOURCE_DIR "/tests/server/admin/golden/" + name;
  if (std::getenv("EVENKEEL_WRITE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ifstream file(path);
  ASSERT_TRUE(file.is_open()) << path;
  std::ostringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(text, golden.str());
}

TEST(StatusPageTest, AHealthyServerAsHtmlAndJson) {
  const StatusPage page = MakeStatusPage(Inputs(Healthy()));
  EXPECT_TRUE(NeedsAttention(page).empty());
  ExpectGolden("statusz.html", RenderHtml(page));
  ExpectGolden("statusz.json", RenderJson(page));
}

TEST(StatusPageTest, AnEmptyServerHasAPage) {
  StatusInputs inputs{.metrics = MetricsSnapshot({})};
  const std::string html = RenderHtml(MakeStatusPage(inputs));
  EXPECT_THAT(html, HasSubstr("NOT SERVING"));
  EXPECT_THAT(html, HasSubstr("No call yet."));
  EXPECT_THAT(html, HasSubstr("All have their defaults."));
}

// Each entry is a single fault, and the words that must be at the top of the page.
TEST(StatusPageTest, FaultsComeFirst) {
  const struct {
    MetricSample sample;
    const char* name;
    StatusMark mark;
  } kFaults[] = {
      {{"evenkeel_plans_total", {{"outcome", "defect"}}, 1}, "Planner defects", StatusMark::kBad},
      {{"evenkeel_queue_depth", {}, 63}, "Queue", StatusMark::kBad},
      {{"process_open_fds", {}, 60000}, "File descriptors", StatusMark::kWarning},
      {{"evenkeel_cert_expiry_timestamp_seconds", {}, kNow + 3600},
       "Certificate",
       StatusMark::kWarning},
      {{"evenkeel_cert_expiry_timestamp_seconds", {}, kNow - 1}, "Certificate", StatusMark::kBad},
      {{"evenkeel_tls_files_ok", {{"what", "x"}}, 0}, "Certificate files", StatusMark::kBad},
      {{"evenkeel_redis_breaker_state", {}, 2}, "Redis", StatusMark::kBad},
      {{"evenkeel_profile_unconfirmed_seconds", {}, 6}, "Behind", StatusMark::kBad},
      {{"evenkeel_self_probe_failures_total", {}, 1}, "Self-probe failures", StatusMark::kBad},
      {{"evenkeel_log_lines_dropped_total", {}, 9}, "Log lines dropped", StatusMark::kWarning},
      {{"evenkeel_cache_tier_ok", {{"tier", "memory"}}, 0}, "memory", StatusMark::kBad}};
  for (const auto& fault : kFaults) {
    std::vector<MetricSample> samples = Healthy();
    samples.push_back(fault.sample);
    const auto found = NeedsAttention(MakeStatusPage(Inputs(samples)));
    ASSERT_EQ(found.size(), 1u) << fault.name;
    EXPECT_THAT(found[0].name, HasSubstr(fault.name));
    EXPECT_EQ(found[0].mark, fault.mark) << fault.name;
  }
}

TEST(StatusPageTest, HostileTextStaysText) {
  EXPECT_EQ(EscapeHtml("<a href=\"x\" b='c'>&amp;\n\x01"),
            "&lt;a href=&quot;x&quot; b=&#39;c&#39;&gt;&amp;amp;\\u000a\\u0001");
  const std::string html = RenderHtml(MakeStatusPage(Inputs(Healthy())));
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("http")));  // nothing is loaded from elsewhere
  StatusPage page;
  page.title = "\xff";
  EXPECT_EQ(nlohmann::json::parse(RenderJson(page))["title"], "\xef\xbf\xbd");
  page.title = page.summary = page.health.value = AllHiddenTexts();
  page.tables.push_back({.title = AllHiddenTexts(), .rows = {{AllHiddenTexts()}}});
  EXPECT_EQ(FirstHidden(RenderHtml(page).substr(RenderHtml(page).find("<body>"))), "");
  EXPECT_EQ(FirstHidden(RenderJson(page)), "");
  EXPECT_EQ(nlohmann::json::parse(RenderJson(page))["title"], page.title);
}

TEST(StatusPageTest, TenantsAreAColumnWhereThereAreAny) {
  StatusInputs inputs = Inputs(Healthy());
  EXPECT_THAT(RenderHtml(MakeStatusPage(inputs)), Not(HasSubstr("<th>tenant</th>")));
  inputs.recent_plans[1].tenant = "vision";
  const std::string html = RenderHtml(MakeStatusPage(inputs));
  EXPECT_THAT(html, HasSubstr("<th>tenant</th>"));
  EXPECT_THAT(html, HasSubstr("<td>vision</td></tr>"));
}

TEST(StatusPageTest, SecretsAreHidden) {
  EXPECT_EQ(HideSecrets("--redis", "redis://u:p@h:1/0"), "redis://(hidden)@h:1/0");
  EXPECT_EQ(HideSecrets("--redis", "redis://:p@ss@h:1"), "redis://(hidden)@h:1");
  EXPECT_EQ(HideSecrets("--redis", "redis://a:b@h,redis://c:d@i"),
            "redis://(hidden)@h,redis://(hidden)@i");
  EXPECT_EQ(HideSecrets("--redis", "redis://h:1/u@v"), "redis://h:1/u@v");
  EXPECT_EQ(HideSecrets("--redis-password", "hunter2"), "(hidden)");
  EXPECT_EQ(HideSecrets("--redis-password-file", "/run/p"), "/run/p");
  EXPECT_EQ(HideSecrets("--workers", "4"), "4");
}

TEST(StatusTextTest, FiguresReadWell) {
  EXPECT_EQ(CountText(0), "0");
  EXPECT_EQ(CountText(-1234567), "-1,234,567");
  EXPECT_EQ(BytesText(512), "512 B");
  EXPECT_EQ(BytesText(22020096), "21.0 MiB");
  EXPECT_EQ(SecondsText(0.000084), "84 us");
  EXPECT_EQ(SecondsText(0.0123), "12.3 ms");
  EXPECT_EQ(SecondsText(4.567), "4.57 s");
  EXPECT_EQ(SecondsText(192), "3 min 12 s");
  EXPECT_EQ(SecondsText(93784), "1 d 2 h");
  EXPECT_EQ(PercentText(0.481), "48.1%");
  EXPECT_EQ(UtcText(0), "1970-01-01 00:00:00");
}

TEST(MetricsSnapshotTest, QuantilesAreLinearWithinTheirBucket) {
  const MetricSample times = Histogram("x", {});
  EXPECT_DOUBLE_EQ(*EstimateQuantile(times, 0.25), 0.0005);
  EXPECT_DOUBLE_EQ(*EstimateQuantile(times, 0.5), 0.001);
  EXPECT_DOUBLE_EQ(*EstimateQuantile(times, 0.99), 0.01 + 0.09 * 0.5);
  EXPECT_FALSE(EstimateQuantile({"x", {}, 0, 0, {{kInfinity, 0}}}, 0.5));
  EXPECT_DOUBLE_EQ(*EstimateQuantile({"x", {}, 1, 9, {{0.1, 0}, {kInfinity, 1}}}, 0.5), 0.1);
}

}  // namespace
}  // namespace evenkeel::server
