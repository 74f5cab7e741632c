#include "client/cli/pack/report_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "client/cli/pack/pack_style.h"
#include "client/cli/pack/render_pack.h"
#include "client/cli/pack/report_charts.h"
#include "client/cli/report/page.h"
#include "client/cli/report/svg.h"
#include "client/cli/text.h"

namespace evenkeel::cli {
namespace {

constexpr size_t kListedInputs = 8;
constexpr int kListedSamples = 40;

std::string Ratio(double value) { return fmt::format("{:.4f}", value); }

class Page {
 public:
  Page(const ReportData& data, const v1::PackDatasetSummary& summary,
       const v1::PackDatasetStart& start, const SampleLengths& samples)
      : data_(data), summary_(summary), rule_(summary.rule()), start_(start), samples_(samples) {}

  std::string Render() const {
    return HtmlPage("Packing report", kPackStyle,
                    Header() + Tiles() + PackSection() + StepSection() + CaseTable() + Notes());
  }

 private:
  const ReportCase& ours() const { return data_.cases.back(); }

  std::string Header() const {
    std::string inputs;
    for (size_t i = 0; i < std::min(kListedInputs, samples_.parts.size()); ++i) {
      const std::string& path = samples_.parts[i].path;
      inputs += (i > 0 ? ", " : "") + path.substr(path.find_last_of('/') + 1);
    }
    if (samples_.parts.size() > kListedInputs) {
      inputs += fmt::format(" and {} more", samples_.parts.size() - kListedInputs);
    }
    const std::string units =
        data_.has_units ? fmt::format("{} units and ", Integer(data_.unit_cap)) : "";
    return fmt::format(
        "<header>\n<h1>Packing report</h1>\n<p>{} samples of {}, at most {}{} tokens in a pack, on "
        "{} ranks with {} pack{} each in a step. Packer {}, order window {}, seed {}, epoch {}.</p>"
        "\n</header>\n",
        Integer(summary_.sample_count()), Escaped(inputs), units, Integer(data_.token_cap),
        start_.data_parallel(), start_.packs_per_rank(), start_.packs_per_rank() == 1 ? "" : "s",
        PackerName(rule_.packer()),
        rule_.order_window() >= std::max<int64_t>(2, summary_.step_count())
            ? "all"
            : Integer(std::max<int64_t>(1, rule_.order_window())),
        rule_.seed(), start_.epoch());
  }

  // "random 0.281" and "ISF 0.0702", a line each.
  template <typename Value>
  std::string Before(Value value) const {
    std::string text;
    for (const ReportCase& made : data_.cases) {
      if (&made == &ours()) break;
      text += (text.empty() ? "" : "\n") + std::string(made.style == "isf" ? "ISF " : "random ") +
              value(made.balance);
    }
    return text;
  }

  std::string Tiles() const {
    const int64_t bound = rule_.pack_count_lower_bound();
    std::string tiles = Tile(
        "Packs", Integer(rule_.pack_count()),
        bound == 0 ? "no bound computed"
        : rule_.pack_count() <= bound
            ? "as few as any\npacking has"
            : fmt::format("lower bound {},\n{} above", Integer(bound), Percent(BoundGap(rule_))));
    tiles += Tile("Samples per pack", Significant(rule_.samples_per_pack()),
                  "laid end to end,\nno padding");
    tiles +=
        Tile("Tokens filled", Percent(summary_.token_fill()),
             "of the cap" + (data_.has_units ? "\nunits " + Percent(summary_.unit_fill()) : ""));
    const auto add = [&](const std::string& name, auto value) {
      tiles += Tile(name, Significant(value(ours().balance)),
                    Before([&](const planner::Balance& b) { return Significant(value(b)); }));
    };
    if (data_.has_units) {
      add("DistRatio vision", [](const planner::Balance& b) { return b.dist_ratio_vision_time; });
    }
    add("DistRatio language", [](const planner::Balance& b) { return b.dist_ratio_language_time; });
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
    return "<section>\n<h2>What a micro-batch holds</h2>\n<p class=\"lead\">Equal work in every "
           "micro-batch leaves nothing to wait for. Random micro-batches have as many samples on "
           "average. Mean ± standard deviation; each row has its own height.</p>\n<div "
           "class=\"charts\">\n" +
           charts + "</div>\n</section>\n";
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
    // As in the charts above: vision first, attention last.
    const auto add = [&](const std::string& kind, auto chart) {
      const std::string cards[] = {Card(title(name) + kind, chart(name, other)),
                                   Card(title(text) + kind, chart(text, language))};
      charts += data_.has_units ? cards[0] + cards[1] : cards[1] + cards[0];
    };
    add(", step by step", StepChart);
    add(", how often how much", ShareChart);
    return "<section>\n<h2>What ranks wait for</h2>\n<p class=\"lead\">DistRatio of each step: the "
           "share of it that the mean rank waits for the slowest. Lines are means, bands reach "
           "from "
           "least to most of the steps that share a place. The last step may have fewer packs; if "
           "it is "
           "holed, it is left out.</p>\n" +
           Legend() + "<div class=\"charts\">\n" + charts + "</div>\n</section>\n";
  }

  std::string CaseRow(const ReportCase& made) const {
    const int64_t bound = rule_.pack_count_lower_bound();
    const int64_t packs = static_cast<int64_t>(made.packs.size());
    const bool random = made.style == "random";
    std::string above = "-";
    if (bound > 0 && !random) {
      above = Percent(static_cast<double>(packs) / static_cast<double>(bound) - 1);
    }
    std::vector<std::string> cells = {
        Integer(packs), above, Significant(made.samples_per_pack), Percent(made.pad_ratio),
        Percent(packs == 0 ? 0 : static_cast<double>(made.over_caps) / static_cast<double>(packs))};
    if (data_.has_units) cells.push_back(Percent(made.unit_fill));
    cells.push_back(Percent(made.token_fill));
    if (data_.has_units) cells.push_back(Ratio(made.balance.dist_ratio_units));
    cells.push_back(Ratio(made.balance.dist_ratio_tokens));
    cells.push_back(Ratio(made.balance.dist_ratio_attention));
    if (data_.has_times) {
      if (data_.has_units) cells.push_back(Ratio(made.balance.dist_ratio_vision_time));
      cells.push_back(Ratio(made.balance.dist_ratio_language_time));
    }
    cells.push_back(Percent(made.balance.idle));
    cells.push_back(Integer(made.balance.steps));
    cells.push_back(Integer(made.balance.holed_steps));
    std::string row = fmt::format(
        "<tr><th scope=\"row\"><span class=\"key {}\">{}</span><small>{}"
        "</small></th>",
        made.style, Escaped(made.name), Escaped(made.order_text));
    for (const std::string& cell : cells) row += "<td>" + Escaped(cell) + "</td>";
    return row + "</tr>\n";
  }

  std::string CaseTable() const {
    const bool units = data_.has_units;
    const int ratios = (units ? 3 : 2) + (data_.has_times ? (units ? 2 : 1) : 0);
    std::string head = fmt::format(
        "<tr><th></th><th colspan=\"5\" class=\"group\">micro-batches</th><th colspan=\"{}\" "
        "class=\"group\">filled</th><th colspan=\"{}\" class=\"group\">DistRatio</th><th "
        "colspan=\"3\" class=\"group\">steps</th></tr>\n<tr><th></th>",
        units ? 2 : 1, ratios);
    std::vector<std::string> names = {"number", "over bound", "samples", "padding", "over a cap"};
    if (units) names.push_back("units");
    names.push_back("tokens");
    if (units) names.push_back("units");
    names.insert(names.end(), {"tokens", "attention"});
    if (data_.has_times) {
      if (units) names.push_back("vision time");
      names.push_back("language time");
    }
    names.insert(names.end(), {"idle", "number", "holed"});
    for (const std::string& name : names) head += "<th scope=\"col\">" + name + "</th>";
    std::string rows;
    for (const ReportCase& made : data_.cases) rows += CaseRow(made);
    return "<section>\n<h2>In figures</h2>\n<div class=\"scroll\"><table>\n<thead>\n" + head +
           "</tr>\n</thead>\n<tbody>\n" + rows + "</tbody>\n</table></div>\n</section>\n";
  }

  std::string Notes() const {
    std::string notes;
    const int64_t bound = rule_.pack_count_lower_bound();
    if (bound > 0) {
      notes +=
          fmt::format("<p>No packing under these caps has fewer than {} packs: proven by {}.</p>\n",
                      Integer(bound), Escaped(summary_.lower_bound_method()));
    }
    notes += fmt::format(
        "<p>DistRatio of a step: sum over ranks of (most - own) / (most x ranks), mean over steps. "
        "Vision and language parts are {}. Idle: the share of all steps that ranks wait for the "
        "slowest, both parts one after the other. Padding: what micro-batches would waste if "
        "samples were padded to the longest; packs are laid end to end. ISF ran with the same caps "
        "and its own defaults.</p>\n",
        data_.has_times ? "times that the cost model predicts"
                        : "units and tokens, since no times were given");
    notes += fmt::format(
        "<p>Order of this packing: spread of step means {} of a random order's (1: random), trend "
        "over the epoch {} (0: none).</p>\n",
        Significant(summary_.step_spread()), Decimal(summary_.step_trend(), 3));
    if (rule_.oversize_sample_count() > 0) {
      std::string list;
      const int listed = std::min(kListedSamples, summary_.oversize_sample_index_size());
      for (int i = 0; i < listed; ++i) {
        list += (i > 0 ? ", " : "") + std::to_string(summary_.oversize_sample_index(i));
      }
      if (rule_.oversize_sample_count() > listed) list += ", ...";
      notes += fmt::format(
          "<p>Samples that break a cap alone: {}, {}. By index: {}.</p>\n",
          Integer(rule_.oversize_sample_count()),
          summary_.rejected_sample_count() > 0 ? "in no pack" : "each in a pack of its own", list);
    }
    return "<footer>\n" + notes + "</footer>\n";
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
