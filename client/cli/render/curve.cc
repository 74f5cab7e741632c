#include "client/cli/render/curve.h"

#include <absl/strings/match.h>
#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/table.h"
#include "client/cli/render/fitting_table.h"
#include "client/cli/render/plan.h"
#include "client/cli/render/words.h"

namespace evenkeel::cli {
namespace {

constexpr int kBarWidth = 12, kIndent = 2;

bool Fits(const v1::CurvePoint& point) { return point.state() == v1::CURVE_POINT_STATE_FITS; }

// Marks a size: see Legend.
std::string Marks(const v1::CurvePoint& point) {
  std::string marks;
  if (point.dominated()) marks += point.estimated() ? "?" : "=";
  if (point.overlaps_previous()) marks += "~";
  if (point.resize().reshards_weights()) marks += "r";
  if (point.estimated()) marks += "e";
  if (MissesBatch(static_cast<double>(point.global_batch_samples()),
                  point.samples_per_second() * point.step_seconds()))
    marks += "b";
  return marks;
}

// Returns by how many percent a time differs from another.
double PercentOver(double seconds, double than) { return 100 * (seconds / than - 1); }

class CurveTable {
 public:
  CurveTable(const Style& style, const v1::Curve& curve) : style_(style), curve_(curve) {
    for (const v1::CurvePoint& point : curve.points()) {
      prices_ = prices_ || point.cost() > 0;
      most_ = std::max(most_, point.llm_tokens_per_second());
    }
  }

  std::string Render() const {
    std::string remark = "nodes of " + Counted(curve_.gpus_per_node(), "GPU");
    if (curve_.price_per_gpu_hour() > 0)
      remark += fmt::format(", {} per GPU-hour", Decimal(curve_.price_per_gpu_hour(), 2));
    std::string text = Section(style_, Plain(style_, curve_.gpu_type()), remark);
    if (most_ > 0) text += Sizes();
    return text + LeftOut();
  }

 private:
  std::string Sizes() const {
    std::vector<FittingTable::Column> columns = {{"nodes"},
                                                 {"marks", Align::kLeft},
                                                 {"split", Align::kLeft},
                                                 {"step"},
                                                 {"range", Align::kRight, 4},
                                                 {"tokens/s"},
                                                 {"", Align::kLeft, 1},
                                                 {"effic.", Align::kRight, 4},
                                                 {"+ tokens/s/node", Align::kRight, 3},
                                                 {"GPU-days"}};
    if (prices_) columns.push_back({"cost"});
    columns.push_back({"GiB", Align::kRight, 2});
    columns.push_back({"change", Align::kRight, 5});
    FittingTable table(columns);
    for (const v1::CurvePoint& point : curve_.points()) {
      if (Fits(point)) table.Add(Row(point));
    }
    const std::string left_out = table.LeftOut(style_, kIndent);
    return table.Render(style_, kIndent) + (left_out.empty() ? "" : Paragraph(style_, left_out));
  }

  std::vector<std::string> Row(const v1::CurvePoint& point) const {
    std::vector<std::string> cells = {
        Integer(point.nodes()),
        Marks(point),
        SplitText(point.parallelism()),
        Duration(point.step_seconds()),
        fmt::format("{:+.0f}% {:+.0f}%",
                    PercentOver(point.step_low_seconds(), point.step_seconds()),
                    PercentOver(point.step_high_seconds(), point.step_seconds())),
        Significant(point.llm_tokens_per_second()),
        Bar(style_, point.llm_tokens_per_second() / most_, kBarWidth),
        Percent(point.scaling_efficiency_ratio()),
        point.has_next_node() ? Significant(point.next_node().added_llm_tokens_per_second()) : "",
        Significant(point.gpu_days())};
    if (prices_) cells.push_back(Decimal(point.cost(), 2));
    cells.push_back(Gib(point.peak_memory_bytes()));
    cells.push_back(point.has_resize() ? Duration(point.resize().total_seconds()) : "");
    return cells;
  }

  // Neighbouring sizes without a plan share a paragraph. Their reasons differ in figures, so only
  // that of the last, which comes nearest to fitting, is shown.
  std::string LeftOut() const {
    std::string text;
    std::vector<const v1::CurvePoint*> alike;
    const auto flush = [&] {
      if (!alike.empty()) text += Paragraph(style_, Plain(style_, WhyLeftOut(alike)));
      alike.clear();
    };
    for (const v1::CurvePoint& point : curve_.points()) {
      if (!alike.empty() && alike.back()->state() != point.state()) flush();
      if (!Fits(point)) alike.push_back(&point);
    }
    flush();
    return text;
  }

  static std::string WhyLeftOut(const std::vector<const v1::CurvePoint*>& alike) {
    std::vector<std::string> nodes;
    for (const v1::CurvePoint* point : alike) nodes.push_back(Integer(point->nodes()));
    const v1::CurvePoint& last = *alike.back();
    std::string text =
        last.state() == v1::CURVE_POINT_STATE_MISFIT ? "Does not fit on " : "No plan on ";
    text += absl::StrJoin(nodes, ", ") + (last.nodes() == 1 ? " node" : " nodes");
    if (alike.size() > 1) text += fmt::format(". On {}", nodes.back());
    return fmt::format("{}: {}", text, WithThousands(last.reason()));
  }

  const Style& style_;
  const v1::Curve& curve_;
  bool prices_ = false;
  double most_ = 0;
};

// Explains the marks that occur, and two columns. Returns "" if no size fits.
std::string Legend(const Style& style, const v1::PlanCurveResponse& response) {
  std::string marks;
  bool any = false, resized = false;
  for (const v1::Curve& curve : response.curves()) {
    for (const v1::CurvePoint& point : curve.points()) {
      if (!Fits(point)) continue;
      any = true;
      resized = resized || point.has_resize();
      marks += Marks(point);
    }
  }
  if (!any) return "";
  const std::pair<const char*, std::string> meanings[] = {
      {"=", "no gain: a smaller size is at least as fast"},
      {"?", "the short search found no gain over a smaller size; without --short there may be one"},
      {"~", fmt::format("the step's range ({:.0f}% of runs) overlaps that of the size above",
                        100 * response.interval_coverage_ratio())},
      {"r", "weights are split differently than at the size above"},
      {"e", "estimated by a short search"},
      {"b", fmt::format("a step has over {:.0f}% more or fewer samples than the batch: packs are "
                        "whole",
                        100 * kBatchTolerance)}};
  std::vector<std::pair<std::string, std::string>> signs;
  for (const auto& [mark, meaning] : meanings)
    if (absl::StrContains(marks, mark)) signs.emplace_back(std::string("mark ") + mark, meaning);
  signs.emplace_back("range", fmt::format("of the step in {:.0f}% of runs, from the step shown",
                                          100 * response.interval_coverage_ratio()));
  signs.emplace_back("GiB", "peak memory of the fullest GPU");
  signs.emplace_back("effic.",
                     "samples per second and GPU, relative to the smallest size that fits");
  if (resized)
    signs.emplace_back("change", "time without training when a job moves here from the size above");
  const std::string text = Section(style, "How to read it") + NameValues(style, signs);
  if (!resized) return text;
  std::vector<std::pair<std::string, std::string>> figures;
  for (const v1::FigureBasis& figure : response.resize_figures()) {
    const char* basis = figure.basis() == v1::BASIS_GIVEN ? "given" : "assumed";
    figures.emplace_back(Plain(style, fmt::format("{} ({})", figure.figure(), basis)),
                         Plain(style, figure.detail()));
  }
  return text + Section(style, "Figures behind a change") + NameValues(style, figures);
}

std::string CsvText(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::string RenderCurve(const Style& style, const v1::PlanCurveResponse& response,
                        const std::string& computed_by) {
  std::string text;
  for (const v1::Curve& curve : response.curves()) text += CurveTable(style, curve).Render();
  text += Legend(style, response);
  const std::string label = response.label().empty() ? "" : ", label \"" + response.label() + "\"";
  return text + Paragraph(style, Plain(style, "Plan ids: --csv or --output json. " + computed_by +
                                                  label + "."));
}

std::string CurveCsv(const v1::PlanCurveResponse& response) {
  std::string text =
      "gpu_type,nodes,gpus,state,plan_id,estimated,parallelism,global_batch_samples,step_seconds,"
      "step_low_seconds,step_high_seconds,samples_per_second,llm_tokens_per_second,"
      "training_seconds,gpu_days,cost,peak_memory_bytes,scaling_efficiency_ratio,dominated,"
      "overlaps_previous,added_llm_tokens_per_second,added_gpu_days,resize_seconds,"
      "reshards_weights,reshards_optimizer,reason\n";
  for (const v1::Curve& curve : response.curves()) {
    for (const v1::CurvePoint& p : curve.points()) {
      std::string state = v1::CurvePointState_Name(p.state());
      state = state.substr(std::string("CURVE_POINT_STATE_").size());
      text += fmt::format("{},{},{},{},{},{},{},{},", CsvText(curve.gpu_type()), p.nodes(),
                          p.gpu_count(), state, p.plan_id(), p.estimated(),
                          CsvText(p.parallelism_text()), p.global_batch_samples());
      const std::string cost =
          curve.price_per_gpu_hour() > 0 ? fmt::format("{}", p.cost()) : std::string();
      text += fmt::format("{},{},{},{},{},{},{},{},{},", p.step_seconds(), p.step_low_seconds(),
                          p.step_high_seconds(), p.samples_per_second(), p.llm_tokens_per_second(),
                          p.training_seconds(), p.gpu_days(), cost, p.peak_memory_bytes());
      text += fmt::format("{},{},{},{},{},", p.scaling_efficiency_ratio(), p.dominated(),
                          p.overlaps_previous(), p.next_node().added_llm_tokens_per_second(),
                          p.next_node().added_gpu_days());
      text +=
          fmt::format("{},{},{},{}\n", p.resize().total_seconds(), p.resize().reshards_weights(),
                      p.resize().reshards_optimizer(), CsvText(p.reason()));
    }
  }
  return text;
}

}  // namespace evenkeel::cli
