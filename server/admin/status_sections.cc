#include "server/admin/status_sections.h"

#include <algorithm>
#include <cmath>

#include "server/admin/status_tables.h"
#include "server/admin/status_text.h"

namespace evenkeel::server {
namespace {

constexpr double kNearlyFull = 0.8;
constexpr double kUnconfirmedSeconds = 5;
constexpr double kCertificateWarningSeconds = 7 * 86400;

// Builds the rows of one section from metrics.
class SectionBuilder {
 public:
  SectionBuilder(std::string title, const MetricsSnapshot& metrics) : metrics_(metrics) {
    section_.title = std::move(title);
  }

  SectionBuilder& Text(std::string name, std::string value, std::string note = {},
                       StatusMark mark = StatusMark::kNone) {
    section_.rows.push_back({std::move(name), std::move(value), std::move(note), mark});
    return *this;
  }

  // Adds a count that has the mark only if it is above 0.
  SectionBuilder& Count(const char* name, const char* metric,
                        const MetricsSnapshot::Labels& labels = {}, const char* note = "",
                        StatusMark mark_if_any = StatusMark::kNone) {
    const auto value = metrics_.Sum(metric, labels);
    if (!value) return *this;
    const bool any = *value > 0 && mark_if_any != StatusMark::kNone;
    return Text(name, CountText(*value), any ? note : "", any ? mark_if_any : StatusMark::kNone);
  }

  // Adds "3 of 64", a warning when nearly full and bad when full.
  SectionBuilder& Filled(const char* name, const char* metric, const char* limit_metric,
                         const char* note) {
    const auto value = metrics_.Sum(metric);
    const auto limit = metrics_.Sum(limit_metric);
    if (!value) return *this;
    if (!limit || *limit <= 0) return Text(name, CountText(*value));
    const bool is_near = *value >= kNearlyFull * *limit;
    const StatusMark full = *value >= *limit ? StatusMark::kBad : StatusMark::kWarning;
    return Text(name, OfText(*value, *limit), is_near ? note : "",
                is_near ? full : StatusMark::kNone);
  }

  // Adds a gauge of 0 or 1 for each set of labels.
  SectionBuilder& Flag(const char* name, const char* metric, bool good, const char* good_text,
                       const char* bad_text, const char* note) {
    for (const MetricSample* sample : metrics_.Find(metric)) {
      const bool is_good = (sample->value != 0) == good;
      Text(name + LabelSuffix(*sample), is_good ? good_text : bad_text, is_good ? "" : note,
           is_good ? StatusMark::kGood : StatusMark::kBad);
    }
    return *this;
  }

  // Adds one row for each reason that occurred. They have no mark, because they may have occurred
  // long ago.
  SectionBuilder& ByReason(const char* name, const char* metric) {
    const auto samples = metrics_.Find(metric);
    double total = 0;
    for (const MetricSample* sample : samples) total += sample->value;
    if (!samples.empty() && total == 0) return Text(name, "0");
    for (const MetricSample* sample : samples) {
      if (sample->value > 0) Text(name + LabelSuffix(*sample), CountText(sample->value));
    }
    return *this;
  }

  static std::string LabelSuffix(const MetricSample& sample) {
    std::string all;
    for (const auto& [label, value] : sample.labels) all += (all.empty() ? " (" : ", ") + value;
    return all.empty() ? all : all + ")";
  }

  StatusSection Build() { return std::move(section_); }

 private:
  const MetricsSnapshot& metrics_;
  StatusSection section_;
};

std::string BuildLabel(const MetricsSnapshot& metrics, const char* label) {
  const auto found = metrics.Find("evenkeel_build_info");
  if (found.empty()) return "unknown";
  const auto value = found.front()->labels.find(label);
  return value == found.front()->labels.end() ? "unknown" : value->second;
}

StatusSection ServerSection(const StatusInputs& inputs) {
  SectionBuilder section("Server", inputs.metrics);
  section.Text("Planner", BuildLabel(inputs.metrics, "planner"))
      .Text("Catalogue", BuildLabel(inputs.metrics, "catalog"))
      .Text("Listens on", inputs.listen)
      .Count("Calls in flight", "evenkeel_inflight")
      .Text("Log level", inputs.log_level)
      .Count("Log lines dropped", "evenkeel_log_lines_dropped_total", {},
             "the reader of standard error is too slow", StatusMark::kWarning)
      .Count("Traces not continued", "evenkeel_bad_trace_contexts_total", {});
  return section.Build();
}

StatusSection PlanningSection(const MetricsSnapshot& metrics) {
  SectionBuilder section("Planning", metrics);
  const auto workers = metrics.Sum("evenkeel_workers");
  const auto busy = metrics.Sum("evenkeel_workers_busy");
  if (workers && busy) section.Text("Workers busy", OfText(*busy, *workers));
  section.Filled("Queue", "evenkeel_queue_depth", "evenkeel_queue_limit",
                 "new plans are refused when it is full: more workers or replicas");
  for (const MetricSample* lane : metrics.Find("evenkeel_queue_wait_seconds")) {
    if (const auto wait = EstimateQuantile(*lane, 0.99)) {
      section.Text("Wait, 99% within" + SectionBuilder::LabelSuffix(*lane), SecondsText(*wait));
    }
  }
  section.Count("Plans that fit", "evenkeel_plans_total", {{"outcome", "fits"}})
      .Count("Jobs that do not fit", "evenkeel_plans_total", {{"outcome", "misfit"}})
      .Count("Stopped, nobody waited", "evenkeel_plans_total", {{"outcome", "stopped"}})
      .Count("Stopped, took too long", "evenkeel_plans_total", {{"outcome", "time_limit"}})
      .Count("Planner defects", "evenkeel_plans_total", {{"outcome", "defect"}},
             "report each with its request id, from the log", StatusMark::kBad)
      .Count("Shared a computation", "evenkeel_single_flight_joined_total")
      .Count("Datasets packed", "evenkeel_packings_total", {{"outcome", "packed"}})
      .Count("Packing defects", "evenkeel_packings_total", {{"outcome", "defect"}},
             "report each with its request id, from the log", StatusMark::kBad)
      .Count("Uploads now", "evenkeel_pack_streams")
      .ByReason("Refused", "evenkeel_shed_total")
      .ByReason("Denied", "evenkeel_denied_total");
  return section.Build();
}

StatusSection ConnectionSection(const StatusInputs& inputs) {
  const MetricsSnapshot& metrics = inputs.metrics;
  SectionBuilder section("Connections and certificates", metrics);
  section
      .Filled("Connections", "evenkeel_connections", "evenkeel_connections_limit",
              "more are turned away at the limit")
      .ByReason("Connections turned away", "evenkeel_connections_shed_total")
      .Count("Connections cut off", "evenkeel_connections_cut_total")
      .Count("Self-probe failures", "evenkeel_self_probe_failures_total", {},
             "the server did not answer itself through its own port", StatusMark::kBad);
  for (const MetricSample* sample : metrics.Find("evenkeel_cert_expiry_timestamp_seconds")) {
    const double left = sample->value - inputs.now;
    const StatusMark mark = left <= 0                           ? StatusMark::kBad
                            : left < kCertificateWarningSeconds ? StatusMark::kWarning
                                                                : StatusMark::kGood;
    section.Text("Certificate" + SectionBuilder::LabelSuffix(*sample), UtcText(sample->value),
                 left > 0 ? "expires in " + SecondsText(left) : "has expired", mark);
  }
  section
      .Flag("Certificate files", "evenkeel_tls_files_ok", true, "good", "not usable",
            "the last good ones are in use; see the log")
      .Count("Failed certificate reloads", "evenkeel_tls_reload_failures_total")
      .Count("Failed policy reloads", "evenkeel_policy_reload_failures_total");
  return section.Build();
}

StatusSection CalibrationSection(const MetricsSnapshot& metrics) {
  SectionBuilder section("Calibration", metrics);
  section.Count("Revision", "evenkeel_profile_revision")
      .Count("Profiles in force", "evenkeel_profiles_active")
      .Count("Failed writes", "evenkeel_profile_store_errors_total", {},
             "profiles were refused, plans were not", StatusMark::kWarning);
  if (const auto seconds = metrics.Sum("evenkeel_profile_unconfirmed_seconds")) {
    const bool is_late = *seconds > kUnconfirmedSeconds;
    section.Text("Behind the shared store for at most", SecondsText(*seconds),
                 is_late ? "this replica may be behind; plans say so" : "",
                 is_late ? StatusMark::kBad : StatusMark::kGood);
  }
  if (const auto state = metrics.Sum("evenkeel_redis_breaker_state")) {
    const bool is_open = *state >= 2;
    section.Text("Redis",
                 is_open       ? "left alone"
                 : *state >= 1 ? "tried again"
                               : "in use",
                 is_open ? "it failed or was too slow; the log says why" : "",
                 is_open ? StatusMark::kBad : StatusMark::kGood);
  }
  return section.Build();
}

StatusSection ProcessSection(const MetricsSnapshot& metrics) {
  SectionBuilder section("Process", metrics);
  const auto resident = metrics.Sum("process_resident_memory_bytes");
  const auto cpu = metrics.Sum("process_cpu_seconds_total");
  if (resident) section.Text("Resident memory", BytesText(*resident));
  if (cpu) section.Text("CPU time", SecondsText(*cpu));
  section.Filled("File descriptors", "process_open_fds", "process_max_fds",
                 "connections are refused at the limit: raise LimitNOFILE");
  return section.Build();
}

}  // namespace

StatusPage MakeStatusPage(const StatusInputs& inputs) {
  StatusPage page;
  page.title = "evenkeel-server " + BuildLabel(inputs.metrics, "version");
  page.summary = UtcText(inputs.now) + " UTC, up for " + SecondsText(inputs.uptime_seconds);
  page.health = inputs.serving ? StatusRow{"Health", "SERVING", "", StatusMark::kGood}
                               : StatusRow{"Health", "NOT SERVING",
                                           "draining, or failing its own probe", StatusMark::kBad};
  page.sections = {ServerSection(inputs), PlanningSection(inputs.metrics),
                   ConnectionSection(inputs), CalibrationSection(inputs.metrics),
                   ProcessSection(inputs.metrics)};
  page.sections.insert(page.sections.end(), inputs.more.begin(), inputs.more.end());
  std::erase_if(page.sections, [](const StatusSection& section) { return section.rows.empty(); });
  page.tables = {CallsTable(inputs.metrics), TiersTable(inputs.metrics),
                 PlansTable(inputs.recent_plans), SettingsTable(inputs.changed_settings)};
  return page;
}

}  // namespace evenkeel::server
