#include "server/metrics/metrics.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "server/metrics/metrics_port.h"

namespace evenkeel::server {
namespace {

bool HasLine(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

class MetricsTest : public testing::Test {
 protected:
  Metrics metrics_{{"1.2.3", "7", "2026.1"}, {{"unary", "s.S", "A"}, {"bidi_stream", "s.S", "B"}}};
};

TEST_F(MetricsTest, CountsCallsByMethodAndCode) {
  metrics_.OnStarted(0);
  metrics_.OnHandled(0, 0, 0.002);
  metrics_.OnStarted(0);
  metrics_.OnHandled(0, 3, 0.002);
  const std::string text = metrics_.Scrape();
  const std::string method = R"(grpc_method="A",grpc_service="s.S",grpc_type="unary")";
  EXPECT_TRUE(HasLine(text, "grpc_server_started_total{" + method + "} 2")) << text;
  EXPECT_NE(text.find("grpc_code=\"OK\""), std::string::npos);
  EXPECT_NE(text.find("grpc_code=\"InvalidArgument\""), std::string::npos);
  EXPECT_TRUE(HasLine(text, "grpc_server_msg_sent_total{" + method + "} 1"));
  EXPECT_TRUE(HasLine(text, "grpc_server_handling_seconds_count{" + method + "} 2"));
}

// Otherwise the first error of a kind would not raise a rate.
TEST_F(MetricsTest, FaultsAreSeriesBeforeTheyHappen) {
  const std::string text = metrics_.Scrape();
  for (const char* code : {"OK", "Internal", "Unavailable"}) {
    EXPECT_TRUE(HasLine(text, std::string("grpc_server_handled_total{grpc_code=\"") + code +
                                  R"(",grpc_method="A",grpc_service="s.S",grpc_type="unary"} 0)"))
        << code << "\n"
        << text;
  }
}

TEST_F(MetricsTest, TimesAnswersByWhereTheirPlanCameFrom) {
  metrics_.OnPlanAnswered("memory", 0.0002);
  metrics_.OnPlanAnswered("planner", 0.5);
  metrics_.OnPlanAnswered("none", 3);
  metrics_.OnBadTraceContext();
  const std::string text = metrics_.Scrape();
  const std::string name = "evenkeel_plan_answer_seconds_";
  EXPECT_TRUE(HasLine(text, name + "bucket{served_from=\"memory\",le=\"0.01\"} 1")) << text;
  EXPECT_TRUE(HasLine(text, name + "bucket{served_from=\"planner\",le=\"2.5\"} 1"));
  EXPECT_TRUE(HasLine(text, name + "bucket{served_from=\"none\",le=\"2.5\"} 0"));
  EXPECT_TRUE(HasLine(text, name + "count{served_from=\"store\"} 0"));
  EXPECT_TRUE(HasLine(text, "evenkeel_bad_trace_contexts_total 1"));
}

TEST_F(MetricsTest, CountsTheMessagesOfStreamsOneByOne) {
  metrics_.OnStarted(1);
  metrics_.OnReceived(1);
  metrics_.OnReceived(1);
  metrics_.OnSent(1);
  metrics_.OnSent(1);
  metrics_.OnSent(1);
  metrics_.OnHandled(1, 0, 0.002);
  const std::string text = metrics_.Scrape();
  const std::string method = R"(grpc_method="B",grpc_service="s.S",grpc_type="bidi_stream")";
  EXPECT_TRUE(HasLine(text, "grpc_server_started_total{" + method + "} 1")) << text;
  EXPECT_TRUE(HasLine(text, "grpc_server_msg_received_total{" + method + "} 2"));
  EXPECT_TRUE(HasLine(text, "grpc_server_msg_sent_total{" + method + "} 3"));
}

TEST_F(MetricsTest, ShowsWhatThePlannerDoes) {
  metrics_.OnJoined();
  metrics_.OnComputed(PlanEnding::kMisfit);
  metrics_.OnShed(ShedReason::kQueueFull);
  metrics_.OnQueueWait(Lane::kHeavy, 0.5);
  metrics_.OnPhase(planner::Phase::kSearch, 0.5);
  metrics_.OnPacked(PackEnding::kPacked, 1000, 0.5);
  metrics_.OnPacked(PackEnding::kStopped, 500, 0.5);
  metrics_.OnShed(ShedReason::kPackMemory);
  const std::string text = metrics_.Scrape();
  EXPECT_TRUE(HasLine(text, "evenkeel_single_flight_joined_total 1"));
  EXPECT_TRUE(HasLine(text, "evenkeel_plans_total{outcome=\"misfit\"} 1"));
  EXPECT_TRUE(HasLine(text, "evenkeel_plans_total{outcome=\"fits\"} 0"));
  EXPECT_TRUE(HasLine(text, "evenkeel_shed_total{reason=\"queue_full\"} 1"));
  EXPECT_TRUE(HasLine(text, "evenkeel_packings_total{outcome=\"packed\"} 1"));
  EXPECT_TRUE(HasLine(text, "evenkeel_packed_samples_total 1000"));
  EXPECT_TRUE(HasLine(text, "evenkeel_pack_seconds_count 2"));
  EXPECT_TRUE(HasLine(text, "evenkeel_shed_total{reason=\"pack_memory\"} 1"));
  EXPECT_TRUE(HasLine(text, "evenkeel_queue_wait_seconds_count{lane=\"heavy\"} 1"));
  EXPECT_TRUE(HasLine(text, "evenkeel_plan_seconds_count{phase=\"search\"} 1"));
}

TEST_F(MetricsTest, ReadsItsSourcesWhenScraped) {
  metrics_.SetSources({[] {
                         return CacheCounters{1, 2, 3, 4, 5};
                       },
                       [] {
                         return std::vector<TierGauges>{
                             {"store", 21, 22, 23, 24, 25, 26, false},
                             {"shared", 31, 32, 33, 0, 0, 0, true, false}};
                       },
                       [] { return size_t{6}; },
                       [] { return int64_t{7}; },
                       [] {
                         return PackGauges{8, 9, {10, 11, 12}};
                       },
                       [] {
                         return ProfileGauges{13, 14};
                       },
                       [] {
                         return WorkerGauges{15, 16, 17};
                       },
                       [] { return uint64_t{18}; },
                       {},
                       {},
                       {},
                       [](Lane lane) { return lane == Lane::kHeavy ? size_t{15} : size_t{16}; }});

  const std::string text = metrics_.Scrape();
  EXPECT_TRUE(HasLine(text, "evenkeel_cache_hits_total{tier=\"memory\"} 1")) << text;
  EXPECT_TRUE(HasLine(text, "evenkeel_cache_entries{tier=\"memory\"} 5"));
  EXPECT_TRUE(HasLine(text, "evenkeel_cache_hits_total{tier=\"store\"} 21"));
  EXPECT_TRUE(HasLine(text, "evenkeel_cache_errors_total{tier=\"shared\"} 33"));
  EXPECT_TRUE(HasLine(text, "evenkeel_cache_tier_ok{tier=\"store\"} 0"));
  EXPECT_TRUE(HasLine(text, "evenkeel_cache_entries{tier=\"store\"} 26"));
  EXPECT_EQ(text.find("evenkeel_cache_bytes{tier=\"shared\"}"), std::string::npos);
  EXPECT_TRUE(HasLine(text, "evenkeel_queue_depth 6"));
  EXPECT_TRUE(HasLine(text, "evenkeel_inflight 7"));
  EXPECT_TRUE(HasLine(text, "evenkeel_lane_depth{lane=\"heavy\"} 15"));
  EXPECT_TRUE(HasLine(text, "evenkeel_lane_depth{lane=\"short\"} 16"));
  EXPECT_TRUE(HasLine(text, "evenkeel_pack_streams 8"));
  EXPECT_TRUE(HasLine(text, "evenkeel_pack_reserved_bytes 9"));
  EXPECT_TRUE(HasLine(text, "evenkeel_dataset_evictions_total 10"));
  EXPECT_TRUE(HasLine(text, "evenkeel_dataset_bytes 11"));
  EXPECT_TRUE(HasLine(text, "evenkeel_dataset_entries 12"));
  EXPECT_TRUE(HasLine(text, "evenkeel_profile_revision 13"));
  EXPECT_TRUE(HasLine(text, "evenkeel_profiles_active 14"));
  EXPECT_TRUE(HasLine(text, "evenkeel_workers 15"));
  EXPECT_TRUE(HasLine(text, "evenkeel_workers_busy 16"));
  EXPECT_TRUE(HasLine(text, "evenkeel_queue_limit 17"));
  EXPECT_TRUE(HasLine(text, "evenkeel_log_lines_dropped_total 18"));
}

TEST_F(MetricsTest, CountsDrift) {
  metrics_.OnDrift({1.12, DriftSide::kAbove, DriftSide::kUnknown, true});
  metrics_.OnDrift({1.01, DriftSide::kWithin, DriftSide::kBelow, false});
  const std::string text = metrics_.Scrape();
  const auto has = [&](const char* measured, const char* verdict, int count) {
    return HasLine(text, std::string("evenkeel_drift_reports_total{measured=\"") + measured +
                             "\",verdict=\"" + verdict + "\"} " + std::to_string(count));
  };
  EXPECT_TRUE(has("step", "above", 1));
  EXPECT_TRUE(has("step", "within", 1));
  EXPECT_TRUE(has("step", "below", 0));
  EXPECT_TRUE(has("memory", "below", 1));
  EXPECT_TRUE(has("memory", "above", 0));
  EXPECT_TRUE(HasLine(text, "evenkeel_step_drift_ratio_bucket{le=\"1.05\"} 1"));
  EXPECT_TRUE(HasLine(text, "evenkeel_step_drift_ratio_bucket{le=\"1.25\"} 2"));
  EXPECT_TRUE(HasLine(text, "evenkeel_slow_rank_reports_total 1"));
}

TEST_F(MetricsTest, CountsProfiles) {
  metrics_.OnProfile(ProfileEnding::kStoreError);
  metrics_.OnAccepted(MeasuredList::kMemory, 6);
  metrics_.OnRefused(RefusedFor::kPlanUnknown);
  metrics_.OnPredictionError(MeasuredList::kSteps, 0.25, 0.015);
  metrics_.OnStoreError();
  const std::string text = metrics_.Scrape();
  EXPECT_TRUE(HasLine(text, "evenkeel_profiles_total{outcome=\"store_error\"} 1"));
  EXPECT_TRUE(HasLine(text, "evenkeel_profiles_total{outcome=\"recorded\"} 0"));
  EXPECT_TRUE(HasLine(text, "evenkeel_profile_accepted_total{measured=\"memory\"} 6"));
  EXPECT_TRUE(HasLine(text, "evenkeel_profile_refused_total{reason=\"plan_unknown\"} 1"));
  EXPECT_TRUE(HasLine(text, "evenkeel_profile_store_errors_total 1"));
  for (const char* bucket : {"{measured=\"step\",when=\"before\",le=\"0.3\"} 1",
                             "{measured=\"step\",when=\"before\",le=\"0.2\"} 0",
                             "{measured=\"step\",when=\"after\",le=\"0.02\"} 1",
                             "{measured=\"memory\",when=\"after\",le=\"2\"} 0"}) {
    EXPECT_TRUE(HasLine(text, std::string("evenkeel_prediction_error_ratio_bucket") + bucket))
        << bucket;
  }
}

TEST_F(MetricsTest, DescribesTheProcess) {
  const std::string text = metrics_.Scrape();
  for (const char* name :
       {"process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds",
        "process_virtual_memory_bytes", "process_max_fds", "process_start_time_seconds"}) {
    EXPECT_NE(text.find("\n" + std::string(name) + " "), std::string::npos) << name;
  }
}

std::string HttpGet(int port, const std::string& path) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  const std::string request = "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n";
  EXPECT_EQ(write(fd, request.data(), request.size()), static_cast<ssize_t>(request.size()));
  std::string answer;
  char buffer[4096];
  for (ssize_t got; (got = read(fd, buffer, sizeof(buffer))) > 0;) {
    answer.append(buffer, static_cast<size_t>(got));
  }
  close(fd);
  return answer;
}

TEST(MetricsPortTest, ServesMetricsAndNothingElse) {
  std::string error;
  const auto port = MetricsPort::Open(
      "127.0.0.1:0", [] { return std::string("up 1\n"); }, &error);
  ASSERT_NE(port, nullptr) << error;
  const std::string found = HttpGet(port->port(), "/metrics");
  EXPECT_EQ(found.substr(0, 15), "HTTP/1.1 200 OK");
  EXPECT_NE(found.find("\r\n\r\nup 1\n"), std::string::npos);
  for (const char* path : {"/", "/etc/passwd", "/metrics/x", "/../metrics2"}) {
    EXPECT_EQ(HttpGet(port->port(), path).substr(0, 12), "HTTP/1.1 404") << path;
  }
}

TEST(MetricsPortTest, ReportsATakenAddress) {
  std::string error;
  const auto first = MetricsPort::Open(
      "127.0.0.1:0", [] { return std::string(); }, &error);
  ASSERT_NE(first, nullptr);
  const std::string address = "127.0.0.1:" + std::to_string(first->port());
  EXPECT_EQ(MetricsPort::Open(
                address, [] { return std::string(); }, &error),
            nullptr);
  EXPECT_NE(error.find(address), std::string::npos) << error;
}

}  // namespace
}  // namespace evenkeel::server
