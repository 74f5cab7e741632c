#include "client/cli/pack/report_table.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "client/cli/base/text.h"
#include "client/cli/report/svg.h"

namespace evenkeel::cli {
namespace {

constexpr int kListedRows = 40;

std::string Ratio(double value) { return fmt::format("{:.4f}", value); }

// Columns that belong together: their heading, and names with the values of `made`.
struct ColumnGroup {
  std::string heading;
  std::vector<std::pair<std::string, std::string>> cells;
};

bool Grouped(const ReportData& data) { return !data.step_group.empty(); }

ColumnGroup MicroBatches(const ReportData& data, const v1::BatchRule& rule,
                         const ReportCase& made) {
  const int64_t bound = rule.pack_count_lower_bound();
  const auto packs = static_cast<double>(made.packs.size());
  ColumnGroup group = {"micro-batches",
                       {{"number", Integer(static_cast<int64_t>(made.packs.size()))}}};
  if (Grouped(data)) {
    group.cells.emplace_back("samples", Significant(made.samples_per_pack));
    group.cells.emplace_back("shared (CR)", Percent(made.communication_ratio));
    return group;
  }
  const bool bounded = bound > 0 && made.style != "random";
  group.cells.emplace_back("over bound",
                           bounded ? Percent(packs / static_cast<double>(bound) - 1) : "-");
  group.cells.emplace_back("samples", Significant(made.samples_per_pack));
  group.cells.emplace_back("padding", Percent(made.pad_ratio));
  group.cells.emplace_back("over a cap",
                           Percent(packs == 0 ? 0 : static_cast<double>(made.over_caps) / packs));
  return group;
}

std::vector<ColumnGroup> Columns(const ReportData& data, const v1::BatchRule& rule,
                                 const ReportCase& made) {
  const planner::Balance& balance = made.balance;
  ColumnGroup filled = {"filled", {}}, ratios = {"DistRatio", {}};
  // Groups need not have unit caps.
  if (data.has_units && (!Grouped(data) || data.cases.back().unit_fill > 0))
    filled.cells.emplace_back("units", Percent(made.unit_fill));
  if (data.has_units) {
    ratios.cells.emplace_back("units", Ratio(balance.dist_ratio_units));
  }
  filled.cells.emplace_back("tokens", Percent(made.token_fill));
  ratios.cells.emplace_back("tokens", Ratio(balance.dist_ratio_tokens));
  ratios.cells.emplace_back("attention", Ratio(balance.dist_ratio_attention));
  if (data.has_times && data.has_units)
    ratios.cells.emplace_back("vision time", Ratio(balance.dist_ratio_vision_time));
  if (data.has_times)
    ratios.cells.emplace_back("language time", Ratio(balance.dist_ratio_language_time));
  ColumnGroup steps = {"steps",
                       {{"idle", Percent(balance.idle)},
                        {"number", Integer(balance.steps)},
                        {"holed", Integer(balance.holed_steps)}}};
  if (Grouped(data))
    steps.cells.emplace_back("tokens per rank", Integer(std::llround(balance.mean_rank_tokens)));
  return {MicroBatches(data, rule, made), filled, ratios, steps};
}

std::string OversizeNote(const v1::PackDatasetSummary& summary) {
  const int64_t count = summary.rule().oversize_sample_count();
  if (count == 0) return "";
  const int listed = std::min(kListedRows, summary.oversize_sample_index_size());
  const auto first = summary.oversize_sample_index().begin();
  std::string list = absl::StrJoin(first, first + listed, ", ");
  if (count > listed) list += ", ...";
  return fmt::format(
      "<p>Samples that exceed a cap on their own: {}, {}. By index: {}.</p>\n", Integer(count),
      summary.rejected_sample_count() > 0 ? "in no pack" : "each in a pack of its own", list);
}

}  // namespace

std::string CaseTable(const ReportData& data, const v1::BatchRule& rule) {
  std::string groups = "<tr><th></th>", names = "<tr><th></th>", rows;
  for (const ColumnGroup& group : Columns(data, rule, data.cases.back())) {
    groups += fmt::format("<th colspan=\"{}\" class=\"group\">{}</th>", group.cells.size(),
                          group.heading);
    for (const auto& [name, cell] : group.cells) names += "<th scope=\"col\">" + name + "</th>";
  }
  for (const ReportCase& made : data.cases) {
    rows +=
        fmt::format("<tr><th scope=\"row\"><span class=\"key {}\">{}</span><small>{}</small></th>",
                    made.style, Escaped(made.name), Escaped(made.order_text));
    for (const ColumnGroup& group : Columns(data, rule, made)) {
      for (const auto& [name, cell] : group.cells) rows += "<td>" + Escaped(cell) + "</td>";
    }
    rows += "</tr>\n";
  }
  return "<section>\n<h2>Numbers</h2>\n<div class=\"scroll\"><table>\n<thead>\n" + groups +
         "</tr>\n" + names + "</tr>\n</thead>\n<tbody>\n" + rows +
         "</tbody>\n</table></div>\n</section>\n";
}

std::string ReportNotes(const ReportData& data, const v1::PackDatasetSummary& summary) {
  std::string notes;
  const int64_t bound = summary.rule().pack_count_lower_bound();
  if (bound > 0) {
    notes +=
        fmt::format("<p>No packing under these caps has fewer than {} packs: proven by {}.</p>\n",
                    Integer(bound), Escaped(summary.lower_bound_method()));
  }
  notes += fmt::format(
      "<p>DistRatio of a step: sum over ranks of (most - own) / (most x ranks), mean over steps. "
      "Vision and language parts are {}. Idle: the share of all steps that ranks wait for the "
      "slowest, both parts one after the other. {}</p>\n",
      data.has_times ? "times that the cost model predicts"
                     : "units and tokens, since no times were given",
      Grouped(data)
          ? "Shared (CR): the share of packs, counted once per GPU, that several GPUs share. One "
            "group has the length, "
            "SP, ranks and packs per rank of the longest. These groups in random order: packs as "
            "here, but dealt to steps at random."
          : "Padding: what micro-batches would waste if samples were padded to the longest; packs "
            "are laid end to end. ISF ran with the same caps and its own defaults.");
  notes += fmt::format(
      "<p>Order of this packing: spread of step means {} of a random order's (1: random), trend "
      "over the epoch {} (0: none){}.</p>\n",
      Significant(summary.step_spread()), Decimal(summary.step_trend(), 3),
      Grouped(data) ? ", both among the steps of a group" : "");
  return "<footer>\n" + notes + OversizeNote(summary) + "</footer>\n";
}

}  // namespace evenkeel::cli
