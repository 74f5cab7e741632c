#include "server/admin/status_tables.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "server/admin/status_text.h"

namespace evenkeel::server {
namespace {

using Labels = MetricsSnapshot::Labels;

std::string LabelOf(const MetricSample& sample, const char* name) {
  const auto found = sample.labels.find(name);
  return found == sample.labels.end() ? "" : found->second;
}

// Returns a text such as "NotFound 3, InvalidArgument 1".
std::string FailuresText(const MetricsSnapshot& metrics, const Labels& method) {
  std::string all;
  for (const MetricSample* sample : metrics.Find("grpc_server_handled_total", method)) {
    const std::string code = LabelOf(*sample, "grpc_code");
    if (code == "OK" || sample->value == 0) continue;
    all += (all.empty() ? "" : ", ") + code + " " + CountText(sample->value);
  }
  return all.empty() ? "none" : all;
}

// Returns true for faults of the server itself, as the availability objective counts them.
bool HasFaults(const MetricsSnapshot& metrics, Labels method) {
  for (const char* code : {"Unavailable", "Internal", "Unknown", "DataLoss"}) {
    method["grpc_code"] = code;
    if (metrics.Sum("grpc_server_handled_total", method).value_or(0) > 0) return true;
  }
  return false;
}

std::string FigureText(const MetricsSnapshot& metrics, const char* name, const Labels& labels,
                       std::string (*text)(double)) {
  const auto value = metrics.Sum(name, labels);
  return value ? text(*value) : "-";
}

}  // namespace

StatusTable CallsTable(const MetricsSnapshot& metrics) {
  StatusTable table;
  table.title = "Calls since the start";
  table.columns = {{"method"},           {"begun", true}, {"OK", true}, {"half within", true},
                   {"99% within", true}, {"other ends"}};
  for (const MetricSample* started : metrics.Find("grpc_server_started_total")) {
    if (started->value == 0) continue;
    const Labels method = {{"grpc_method", LabelOf(*started, "grpc_method")}};
    Labels ok = method;
    ok["grpc_code"] = "OK";
    const auto times = metrics.Find("grpc_server_handling_seconds", method);
    const auto quantile = [&times](double q) {
      const auto seconds = times.empty() ? std::nullopt : EstimateQuantile(*times.front(), q);
      return seconds ? SecondsText(*seconds) : std::string("-");
    };
    table.rows.push_back({method.at("grpc_method"), CountText(started->value),
                          FigureText(metrics, "grpc_server_handled_total", ok, &CountText),
                          quantile(0.5), quantile(0.99), FailuresText(metrics, method)});
    table.marks.push_back(HasFaults(metrics, method) ? StatusMark::kWarning : StatusMark::kNone);
  }
  table.note = table.rows.empty() ? "No call yet."
                                  : "Times are estimates from histograms. Calls that gRPC refuses "
                                    "by itself are not here.";
  return table;
}

StatusTable TiersTable(const MetricsSnapshot& metrics) {
  StatusTable table;
  table.title = "Plan cache";
  table.columns = {{"tier"},         {"state"},          {"hits", true},
                   {"misses", true}, {"hit rate", true}, {"evictions", true},
                   {"errors", true}, {"plans", true},    {"size", true}};
  for (const MetricSample* hits : metrics.Find("evenkeel_cache_hits_total")) {
    const Labels tier = {{"tier", LabelOf(*hits, "tier")}};
    const double misses = metrics.Sum("evenkeel_cache_misses_total", tier).value_or(0);
    const double looked_up = hits->value + misses;
    const bool is_ok = metrics.Sum("evenkeel_cache_tier_ok", tier).value_or(1) != 0;
    const auto count = [&](const char* name) {
      return FigureText(metrics, name, tier, &CountText);
    };
    table.rows.push_back({tier.at("tier"), is_ok ? "good" : "degraded", CountText(hits->value),
                          CountText(misses),
                          looked_up > 0 ? PercentText(hits->value / looked_up) : "-",
                          count("evenkeel_cache_evictions_total"),
                          count("evenkeel_cache_errors_total"), count("evenkeel_cache_entries"),
                          FigureText(metrics, "evenkeel_cache_bytes", tier, &BytesText)});
    table.marks.push_back(is_ok ? StatusMark::kNone : StatusMark::kBad);
  }
  return table;
}

StatusTable PlansTable(const std::vector<RecentPlan>& plans) {
  StatusTable table;
  table.title = "Recent plans";
  table.note = plans.empty() ? "None is kept." : "Newest first.";
  table.columns = {{"plan"},    {"model"},           {"GPU"},      {"GPUs", true},
                   {"outcome"}, {"step time", true}, {"age", true}};
  const bool has_tenants = std::any_of(plans.begin(), plans.end(),
                                       [](const RecentPlan& plan) { return !plan.tenant.empty(); });
  if (has_tenants) table.columns.push_back({"tenant"});
  for (const RecentPlan& plan : plans) {
    table.rows.push_back(
        {plan.plan_id, plan.model, plan.gpu_type, CountText(static_cast<double>(plan.gpu_count)),
         plan.fits ? "fits" : "does not fit", plan.fits ? SecondsText(plan.step_seconds) : "-",
         plan.age_seconds < 1 ? "now" : SecondsText(std::floor(plan.age_seconds))});
    if (has_tenants) table.rows.back().push_back(plan.tenant);
  }
  return table;
}

StatusTable SettingsTable(const std::vector<std::pair<std::string, std::string>>& changed) {
  StatusTable table;
  table.title = "Settings";
  table.note = changed.empty() ? "All have their defaults." : "All others have their defaults.";
  table.columns = {{"setting"}, {"value"}};
  for (const auto& [name, value] : changed) {
    table.rows.push_back({name, HideSecrets(name, value)});
  }
  return table;
}

}  // namespace evenkeel::server
