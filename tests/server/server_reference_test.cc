// Compares docs/SERVER_REFERENCE.md with the settings and metrics that it lists.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "server/metrics/metrics.h"
#include "server/options.h"

namespace evenkeel::server {
namespace {

// Returns the rows of the tables whose first cell begins with a backtick and one of `prefixes`,
// without their last cell.
std::set<std::string> Rows(const std::vector<std::string>& prefixes) {
  std::ifstream file(EVENKEEL_SOURCE_DIR "/docs/SERVER_REFERENCE.md");
  EXPECT_TRUE(file.is_open());
  std::set<std::string> rows;
  for (std::string line; std::getline(file, line);) {
    for (const std::string& prefix : prefixes) {
      if (line.starts_with("| `" + prefix)) rows.insert(line.substr(0, line.rfind(" | ")));
    }
  }
  return rows;
}

TEST(ServerReferenceTest, ListsEverySettingAndNoOther) {
  std::set<std::string> expected;
  for (const Setting& setting : Settings()) {
    expected.insert(std::string("| `--") + setting.name + "` | `" + EnvironmentName(setting) +
                    "` | `" + setting.default_text + "`");
  }
  EXPECT_EQ(Rows({"--"}), expected);
}

// Returns the row that the table must have for every family in a scrape, without its last cell:
// name, type and labels, from the family's TYPE line and its first sample.
std::set<std::string> ScrapedFamilies(const std::string& text) {
  std::set<std::string> families;
  std::istringstream lines(text);
  std::string name, type;
  bool is_first = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# TYPE ")) {
      std::istringstream(line.substr(7)) >> name >> type;
      is_first = true;
    } else if (!line.starts_with("#") && is_first) {
      is_first = false;
      std::string labels;
      const size_t open = line.find('{');
      size_t at = open == std::string::npos ? open : open + 1;
      while (at < line.find('}')) {
        const size_t equals = line.find("=\"", at);
        const std::string label = line.substr(at, equals - at);
        if (label != "le") labels += (labels.empty() ? "`" : ", `") + label + "`";
        at = line.find('"', equals + 2) + 1;
        at += at < line.size() && line[at] == ',' ? 1 : 0;
      }
      families.insert("| `" + name + "` | " + type + " | " + labels);
    }
  }
  return families;
}

TEST(ServerReferenceTest, ListsEveryMetricAndNoOther) {
  Metrics metrics({"1", "2", "3"}, {{"unary", "s.S", "A"}});
  metrics.SetSources({.cache = [] { return CacheCounters{}; },
                      .tiers = {},
                      .queue_depth = [] { return size_t{0}; },
                      .inflight = [] { return int64_t{0}; },
                      .packing = [] { return PackGauges{}; },
                      .profiles = [] { return ProfileGauges{}; },
                      .workers = [] { return WorkerGauges{}; },
                      .log_lines_dropped = [] { return uint64_t{0}; },
                      .listener =
                          [] {
                            ListenerGauges gauges;
                            gauges.tls.is_on = true;
                            return gauges;
                          },
                      .redis = [] { return RedisTierCounters{}; },
                      .traces = [] { return TraceCounters{}; },
                      .lane_depth = [](Lane) { return size_t{0}; }});
  metrics.OnHandled(0, 0, 0.1);
  EXPECT_EQ(Rows({"grpc_server_", "evenkeel_", "process_"}), ScrapedFamilies(metrics.Scrape()));
}

}  // namespace
}  // namespace evenkeel::server
