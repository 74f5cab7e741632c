// All metrics at one moment as plain values, for code that shows them to people. Free of the
// metrics library.
#ifndef EVENKEEL_SERVER_METRICS_METRICS_SNAPSHOT_H_
#define EVENKEEL_SERVER_METRICS_METRICS_SNAPSHOT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace evenkeel::server {

struct MetricSample {
  struct Bucket {
    double upper_bound = 0;
    uint64_t cumulative_count = 0;
  };

  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0;  // value of a counter or gauge; number of observations of a histogram
  double sum = 0;    // sum of a histogram's observations
  // Buckets of a histogram, by ascending bound. The last bound is infinite.
  std::vector<Bucket> buckets;
};

class MetricsSnapshot {
 public:
  using Labels = std::map<std::string, std::string>;

  explicit MetricsSnapshot(std::vector<MetricSample> samples) : samples_(std::move(samples)) {}

  // Returns the samples with this name whose labels include `labels`. Valid as long as the
  // snapshot.
  std::vector<const MetricSample*> Find(std::string_view name, const Labels& labels = {}) const;

  // Returns the sum of their values, or nullopt if there are none.
  std::optional<double> Sum(std::string_view name, const Labels& labels = {}) const;

 private:
  std::vector<MetricSample> samples_;
};

// Returns the `q`-quantile (0 to 1) of a histogram, interpolated linearly within its bucket. Above
// the last finite bound, the result is that bound. Returns nullopt if nothing was observed.
std::optional<double> EstimateQuantile(const MetricSample& histogram, double q);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_METRICS_METRICS_SNAPSHOT_H_
