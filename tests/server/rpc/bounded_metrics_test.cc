// Tests that metrics stay few and quick to read, however many jobs there are, and that they count
// exactly what callers count. EVENKEEL_SERIES_JOBS is the number of distinct jobs (5,000; 100,000
// in the soak tests).
#include <gtest/gtest.h>
#include <httplib.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>

#include "tests/server/rpc/server_fixture.h"

namespace evenkeel::server {
namespace {

constexpr size_t kMostSeries = 500;
constexpr double kScrapeSeconds = 0.02;

class BoundedMetricsTest : public ServerFixture {
 protected:
  std::string Scrape() {
    httplib::Client client("127.0.0.1", server_->metrics_port());
    const auto answer = client.Get("/metrics");
    return answer ? answer->body : "";
  }

  // Returns the series by name and labels.
  std::map<std::string, double> Series() {
    std::map<std::string, double> series;
    std::istringstream lines(Scrape());
    for (std::string line; std::getline(lines, line);) {
      const size_t space = line.rfind(' ');
      if (!line.starts_with("#")) series[line.substr(0, space)] = std::stod(line.substr(space));
    }
    return series;
  }

  // Plans a distinct job, for a caller whose headers are all distinct.
  grpc::Status PlanJobNumber(int64_t number) {
    grpc::ClientContext context;
    context.AddMetadata("x-request-id", "job-" + std::to_string(number));
    char trace[64];
    std::snprintf(trace, sizeof(trace), "00-%032llx-00000000000000aa-01",
                  static_cast<unsigned long long>(number + 1));
    context.AddMetadata("traceparent", trace);
    v1::PlanJobRequest request = Request();
    request.set_label("job " + std::to_string(number));
    request.mutable_job()->mutable_training()->set_seed(number);
    v1::PlanJobResponse response;
    return stub_->PlanJob(&context, request, &response);
  }

  static std::string Handled(const std::string& method, const std::string& code) {
    return "grpc_server_handled_total{grpc_code=\"" + code + "\",grpc_method=\"" + method +
           "\",grpc_service=\"evenkeel.v1.PlannerService\",grpc_type=\"unary\"}";
  }
};

TEST_F(BoundedMetricsTest, ManyJobsMakeNoMoreSeries) {
  const char* wanted = std::getenv("EVENKEEL_SERIES_JOBS");
  const int64_t jobs = wanted == nullptr ? 5000 : std::atoll(wanted);
  ASSERT_TRUE(PlanJobNumber(0).ok());
  v1::PlanJobResponse none;
  ASSERT_FALSE(PlanJob(v1::PlanJobRequest(), &none).ok());
  const std::map<std::string, double> before = Series();
  for (int64_t i = 1; i < jobs; ++i) ASSERT_TRUE(PlanJobNumber(i).ok()) << i;
  const std::map<std::string, double> after = Series();
  EXPECT_EQ(after.size(), before.size());
  EXPECT_LE(after.size(), kMostSeries);
  std::printf("%zu series after %lld jobs\n", after.size(), static_cast<long long>(jobs));

  EXPECT_EQ(after.at(Handled("PlanJob", "OK")), static_cast<double>(jobs));
  EXPECT_EQ(after.at(Handled("PlanJob", "InvalidArgument")), 1);
  EXPECT_EQ(after.at("evenkeel_plan_answer_seconds_count{served_from=\"planner\"}"),
            static_cast<double>(jobs));
  EXPECT_EQ(after.at("evenkeel_plans_total{outcome=\"fits\"}"), static_cast<double>(jobs));
  EXPECT_EQ(after.at("evenkeel_bad_trace_contexts_total"), 0);
}

// Takes the quickest of several, because the machine may be busy.
TEST_F(BoundedMetricsTest, AScrapeIsQuick) {
  double quickest = 1e9;
  for (int i = 0; i < 20; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_FALSE(Scrape().empty());
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    quickest = std::min(quickest, seconds.count());
  }
  std::printf("a scrape takes %.2f ms\n", quickest * 1e3);
  EXPECT_LE(quickest, kScrapeSeconds);
}

}  // namespace
}  // namespace evenkeel::server
