#include "client/cli/pack/report_page.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "client/cli/base/text.h"
#include "client/cli/job/option_names.h"
#include "client/cli/pack/group_sections.h"
#include "client/cli/pack/pack_style.h"
#include "client/cli/pack/report_charts.h"
#include "client/cli/pack/report_table.h"
#include "client/cli/render/pack.h"
#include "client/cli/report/page.h"
#include "client/cli/report/svg.h"

namespace evenkeel::cli {
namespace {

constexpr size_t kListedInputs = 8;

class Page {
 public:
  Page(const ReportData& data, const v1::PackDatasetSummary& summary,
       const v1::PackDatasetStart& start, const SampleLengths& samples)
      : data_(data), summary_(summary), rule_(summary.rule()), start_(start), samples_(samples) {}

  std::string Render() const {
    return HtmlPage("Packing report", kPackStyle,
                    Header() + Tiles() + GroupTableSection(summary_) +
                        (grouped() ? GroupPackSection(data_, summary_) : PackSection()) +
                        StepSection() + CaseTable(data_, rule_) + ReportNotes(data_, summary_));
  }

 private:
  bool grouped() const { return summary_.groups_size() > 0; }
  const ReportCase& ours() const { return data_.cases.back(); }

  std::string Header() const {
    std::vector<std::string> names;
    for (size_t i = 0; i < std::min(kListedInputs, samples_.parts.size()); ++i) {
      const std::string& path = samples_.parts[i].path;
      names.push_back(path.substr(path.find_last_of('/') + 1));
    }
    std::string inputs = absl::StrJoin(names, ", ");
    if (samples_.parts.size() > kListedInputs) {
      inputs += fmt::format(" and {} more", samples_.parts.size() - kListedInputs);
    }
    const std::string order =
        fmt::format("Packer {}, order window {}, seed {}, epoch {}.", PackerName(rule_.packer()),
                    rule_.order_window() >= std::max<int64_t>(2, summary_.step_count())
                        ? "all"
                        : Integer(std::max<int64_t>(1, rule_.order_window())),
                    rule_.seed(), start_.epoch());
    if (grouped()) {
      return fmt::format(
          "<header>\n<h1>Packing report</h1>\n<p>{} samples of {}, in {} packing group{}; each "
          "step runs one of them. {}</p>\n</header>\n",
          Integer(summary_.sample_count()), Escaped(inputs), summary_.groups_size(),
          summary_.groups_size() == 1 ? "" : "s", order);
    }
    const std::string units =
        data_.has_units ? fmt::format("{} units and ", Integer(data_.unit_cap)) : "";
    return fmt::format(
        "<header>\n<h1>Packing report</h1>\n<p>{} samples of {}, at most {}{} tokens in a pack, on "
        "{} ranks with {} pack{} each in a step. {}</p>\n</header>\n",
        Integer(summary_.sample_count()), Escaped(inputs), units, Integer(data_.token_cap),
        start_.data_parallel(), start_.packs_per_rank(), start_.packs_per_rank() == 1 ? "" : "s",
        order);
  }

  // Returns "random 0.281" and "ISF 0.0702", one per line.
  template <typename Value>
  std::string Before(Value value) const {
    std::vector<std::string> lines;
    for (const ReportCase& made : data_.cases) {
      if (&made == &ours()) break;
      const char* name = made.style == "isf" ? (grouped() ? "random order " : "ISF ")
                         : grouped()         ? "one group "
                                             : "random ";
      lines.push_back(name + value(made.balance));
    }
    return absl::StrJoin(lines, "\n");
  }

  // Shows the packs, and how full they are.
  std::string PackTiles() const {
    // Groups need not have unit caps.
    const bool capped = data_.has_units && (!grouped() || summary_.unit_fill() > 0);
    const std::string units = capped ? "\nunits " + Percent(summary_.unit_fill()) : "";
    if (grouped()) {
      return Tile("Packs", Integer(rule_.pack_count()),
                  fmt::format("in {} step{},\n{} samples each", Integer(summary_.step_count()),
                              summary_.step_count() == 1 ? "" : "s",
                              Significant(rule_.samples_per_pack()))) +
             Tile("Tokens filled", Percent(summary_.token_fill()),
                  fmt::format("of the lengths{}\none group {}", units,
                              Percent(data_.cases.front().token_fill))) +
             Tile("Shared packs (CR)", Percent(summary_.communication_ratio()),
                  "one group " + Percent(data_.cases.front().communication_ratio)) +
             (data_.has_units
                  ? ""  // as many tiles as fit into a row
                  : Tile("Tokens per rank", Integer(std::llround(summary_.mean_rank_tokens())),
                         "and step (Ave-T)"));
    }
    const int64_t bound = rule_.pack_count_lower_bound();
    return Tile("Packs", Integer(rule_.pack_count()),
                bound == 0 ? "no bound computed"
                : rule_.pack_count() <= bound
                    ? "as few as any\npacking has"
                    : fmt::format("lower bound {},\n{} above", Integer(bound),
                                  Percent(BoundGap(rule_)))) +
           Tile("Samples per pack", Significant(rule_.samples_per_pack()),
                "laid end to end,\nno padding") +
           Tile("Tokens filled", Percent(summary_.token_fill()), "of the cap" + units);
  }

  std::string Tiles() const {
    std::string tiles = PackTiles();
    const auto add = [&](const std::string& name, auto value) {
      tiles += Tile(name, Significant(value(ours().balance)),
                    Before([&](const planner::Balance& b) { return Significant(value(b)); }));
    };
    if (data_.has_units) {
      add("DistRatio vision", [](const planner::Balance& b) { return b.dist_ratio_vision_time; });
    }
    if (data_.has_units || !grouped()) {
      add("DistRatio language",
          [](const planner::Balance& b) { return b.dist_ratio_language_time; });
    }
    if (!data_.has_units) {
      add("DistRatio attention", [](const planner::Balance& b) { return b.dist_ratio_attention; });
    }
    tiles += Tile("Idle", Percent(ours().balance.idle),
                  Before([](const planner::Balance& b) { return Percent(b.idle); }));
    return "<section class=\"tiles\">\n" + tiles + "</section>\n";
  }

  template <typename Value>
  std::string Packs(const std::string& what, int64_t cap, Value value) const {
    std::vector<PackRow> rows;
    for (const ReportCase& made : data_.cases) {
      PackRow row = {made.name, made.style, {}};
      row.values.reserve(made.packs.size());
      for (const planner::PackSums& sums : made.packs) row.values.push_back(value(sums));
      rows.push_back(std::move(row));
    }
    return PackChart(what, rows, cap);
  }

  std::string PackSection() const {
    std::string charts;
    if (data_.has_units) {
      charts += Card(
          "Units: work of the vision part",
          Packs("units", data_.unit_cap, [](const planner::PackSums& sums) { return sums.units; }));
    }
    charts += Card("Tokens: work of the language part",
                   Packs("tokens", data_.token_cap,
                         [](const planner::PackSums& sums) { return sums.tokens; }));
    if (!data_.has_units) {
      charts += Card(
          "Attention: sum of squared sample lengths",
          Packs("squared tokens", 0, [](const planner::PackSums& sums) { return sums.squared; }));
    }
    return PageSection("What a micro-batch holds",
                       "Equal work in every micro-batch leaves nothing to wait for. Random "
                       "micro-batches have as many samples on average. Mean ± standard deviation; "
                       "each row has its own height.",
                       "<div class=\"charts\">\n" + charts + "</div>\n");
  }

  std::string Legend() const {
    std::string legend;
    for (const ReportCase& made : data_.cases) {
      legend += fmt::format("<span class=\"key {}\">{} ({})</span>\n", made.style,
                            Escaped(made.name), Escaped(made.order_text));
    }
    return "<p class=\"legend\">\n" + legend + "</p>\n";
  }

  std::vector<StepRow> Steps(std::vector<double> ReportCase::*ratios) const {
    std::vector<StepRow> rows;
    for (const ReportCase& made : data_.cases) rows.push_back({made.style, &(made.*ratios)});
    return rows;
  }

  std::string StepSection() const {
    std::string charts;
    const std::vector<StepRow> language = Steps(&ReportCase::language_steps);
    const std::vector<StepRow> other =
        Steps(data_.has_units ? &ReportCase::vision_steps : &ReportCase::attention_steps);
    const std::string name = data_.has_units ? "vision part" : "attention";
    const auto title = [](std::string text) {
      text[0] = static_cast<char>(text[0] - 'a' + 'A');
      return text;
    };
    const std::string text = "language part";
    // The order is that of the charts above: vision first, attention last.
    const auto add = [&](const std::string& kind, auto chart) {
      const std::string cards[] = {Card(title(name) + kind, chart(name, other)),
                                   Card(title(text) + kind, chart(text, language))};
      charts += data_.has_units ? cards[0] + cards[1] : cards[1] + cards[0];
    };
    add(", step by step", StepChart);
    add(": distribution of waiting time", ShareChart);
    return PageSection(
               "What ranks wait for",
               std::string("DistRatio of each step: the share of it that the mean rank waits for "
                           "the slowest. Lines are means; a band spans the minimum and maximum of "
                           "the steps drawn at one point. ") +
                   (grouped() ? "Steps in which some rank has no pack are left out."
                              : "The last step may have fewer packs; if it is holed, it is left "
                                "out."),
               Legend() + "<div class=\"charts\">\n" + charts + "</div>\n") +
           GroupStepSection(data_, summary_);
  }

  const ReportData& data_;
  const v1::PackDatasetSummary& summary_;
  const v1::BatchRule& rule_;
  const v1::PackDatasetStart& start_;
  const SampleLengths& samples_;
};

}  // namespace

std::string RenderReport(const ReportData& data, const v1::PackDatasetSummary& summary,
                         const v1::PackDatasetStart& start, const SampleLengths& samples) {
  return Page(data, summary, start, samples).Render();
}

}  // namespace evenkeel::cli
