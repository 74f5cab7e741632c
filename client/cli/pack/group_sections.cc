#include "client/cli/pack/group_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "client/cli/base/text.h"
#include "client/cli/pack/group_charts.h"
#include "client/cli/pack/report_charts.h"
#include "client/cli/render/group_tables.h"
#include "client/cli/report/page.h"
#include "client/cli/report/svg.h"

namespace evenkeel::cli {

namespace {

std::string GroupName(const v1::PackingGroup& group) {
  return "packs of " + Integer(group.length_tokens());
}

// Returns a row of all packs before grouping, and a row of each group's packs. `value` takes a pack
// and the length of its group in tokens.
template <typename Value>
std::vector<PackRow> PackRows(const ReportData& data, const v1::PackDatasetSummary& summary,
                              Value value) {
  const auto row = [&](const std::string& name, const std::string& style,
                       std::span<const planner::PackSums> packs, int64_t length) {
    PackRow made = {name, style, {}};
    for (const planner::PackSums& sums : packs) made.values.push_back(value(sums, length));
    return made;
  };
  const ReportCase& before = data.cases.front();
  std::vector<PackRow> rows = {row(before.name, before.style, before.packs, data.token_cap)};
  std::span<const planner::PackSums> left = data.cases.back().packs;
  for (int g = 0; g < summary.groups_size(); ++g) {
    const v1::PackingGroup& group = summary.groups(g);
    const auto count = std::min(left.size(), static_cast<size_t>(group.pack_count()));
    rows.push_back(row(GroupName(group), GroupStyle(static_cast<size_t>(g)), left.first(count),
                       group.length_tokens()));
    left = left.subspan(count);
  }
  return rows;
}

}  // namespace

std::string GroupTableSection(const v1::PackDatasetSummary& summary) {
  if (summary.groups().empty()) return "";
  std::vector<std::string> keys;
  for (size_t g = 0; g < static_cast<size_t>(summary.groups_size()); ++g)
    keys.push_back(GroupStyle(g));
  return PageSection(
      "Packing groups",
      "Length: most tokens in a pack. SP: GPUs that share its tokens. Ranks: data-parallel, at "
      "that SP. Share: of the packs that GPUs work on. Filled: mean tokens over the length. ABR: "
      "imbalance of attention over ranks. " +
          PackedGroupsText(summary),
      HtmlTable(PackedGroups(summary), keys));
}

std::string GroupPackSection(const ReportData& data, const v1::PackDatasetSummary& summary) {
  std::string charts;
  if (data.has_units) {
    const auto units = [](const planner::PackSums& sums, int64_t) { return sums.units; };
    charts += Card("Units: work of the vision part",
                   PackChart("units", PackRows(data, summary, units), 0));
  }
  const auto tokens = [](const planner::PackSums& sums, int64_t) { return sums.tokens; };
  charts += Card("Tokens: work of the language part",
                 PackChart("tokens", PackRows(data, summary, tokens), 0));
  const auto attention = [](const planner::PackSums& sums, int64_t length) {
    const double most = static_cast<double>(length) * static_cast<double>(length);
    return std::llround(1000 * static_cast<double>(sums.squared) / most);
  };
  charts +=
      Card("Attention: sum of squared sample lengths",
           PackChart("‰ of the square of the length,", PackRows(data, summary, attention), 0));
  return PageSection("What a micro-batch holds",
                     "A step runs packs of one group, and of like attention among them, so that "
                     "there is little to wait for. One group: all samples packed to the longest, "
                     "as without groups. Mean ± standard deviation; each row has its own height.",
                     "<div class=\"charts\">\n" + charts + "</div>\n");
}

std::string GroupStepSection(const ReportData& data, const v1::PackDatasetSummary& summary) {
  if (summary.groups().empty()) return "";
  const ReportCase& ours = data.cases.back();
  const GroupedSteps steps = {static_cast<size_t>(summary.groups_size()), &data.step_group,
                              &ours.attention_steps, summary.curriculum_step_count()};
  std::string legend;
  for (size_t g = 0; g < steps.groups; ++g) {
    legend += fmt::format("<span class=\"key {}\">{}</span>\n", GroupStyle(g),
                          GroupName(summary.groups(static_cast<int>(g))));
  }
  std::string lead =
      "This packing alone: a dot for each step (logarithmic), and below it how many of the steps "
      "run "
      "which group.";
  if (summary.curriculum_step_count() > 0) {
    lead += fmt::format(" The curriculum keeps the first {} of {} steps to the shortest group.",
                        Integer(summary.curriculum_step_count()), Integer(summary.step_count()));
  }
  return PageSection("Steps by group", lead,
                     "<p class=\"legend\">\n" + legend + "</p>\n" +
                         Card("Attention, by group", GroupStepChart(steps)));
}

}  // namespace evenkeel::cli
