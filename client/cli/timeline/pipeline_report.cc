#include "client/cli/timeline/pipeline_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/text.h"
#include "client/cli/render/plan.h"
#include "client/cli/render/words.h"
#include "client/cli/report/page.h"
#include "client/cli/report/svg.h"
#include "client/cli/timeline/group_sections.h"
#include "client/cli/timeline/operation_names.h"
#include "client/cli/timeline/pipeline_picture.h"
#include "client/cli/timeline/stage_charts.h"
#include "client/cli/timeline/timeline_style.h"

namespace evenkeel::cli {
namespace {

class Report {
 public:
  Report(const v1::Plan& plan, const v1::Timeline& timeline)
      : plan_(plan), timeline_(timeline), peaks_(StagePeaks(plan, timeline)) {}

  std::string Render() const {
    return HtmlPage(Title(), kTimelineStyle,
                    Header() + Tiles() + GroupsSection(plan_) + PictureSection() + TimeSection() +
                        MemorySection() + StepSection() + StageTable() + Facts() + Notes());
  }

 private:
  std::string Title() const {
    const v1::PlanSubject& subject = plan_.subject();
    return fmt::format("{} on {} × {}", subject.model(), subject.gpu_count(), subject.gpu_type());
  }

  std::string Header() const {
    std::string text = ParallelismText(plan_.parallelism());
    for (size_t at; (at = text.find(" x ")) != std::string::npos;) text.replace(at, 3, " × ");
    text += fmt::format("; {}", timeline_.schedule_name());
    if (timeline_.virtual_stages() > 1) {
      text += fmt::format(" with {} virtual stages each", timeline_.virtual_stages());
    }
    text += fmt::format(", {} per rank and step.", Counted(timeline_.micro_batches(), "pack"));
    if (grouped()) {
      text += fmt::format(
          " Of {} packing groups, pictures and stages show one step of the longest: packs of {} "
          "tokens.",
          plan_.packing_groups_size(), Integer(plan_.packing_groups().rbegin()->length_tokens()));
    }
    if (!plan_.plan_id().empty()) text += " " + plan_.plan_id();
    return fmt::format("<header>\n<h1>{}</h1>\n<p>{}</p>\n{}</header>\n", Escaped(Title()),
                       Escaped(text), Verdict());
  }

  // Returns the verdict and the notes that the text of `plan` begins with.
  std::string Verdict() const {
    const bool fits = !plan_.has_misfit();
    if (fits && plan_.predictions().step().total_seconds() <= 0) return "";
    const std::string risk = MemoryRiskText(plan_);
    std::string text =
        fmt::format("<p class=\"verdict\">{}</p>\n",
                    Escaped(fits ? FitText(plan_) : "Does not fit: " + MisfitText(plan_.misfit())));
    std::vector<std::string> notes = PlanNotes(plan_);
    for (std::string& note : notes) note = "Note: " + note + ".";
    if (!risk.empty()) notes.insert(notes.begin(), risk);
    for (const std::string& note : notes)
      text += fmt::format("<p class=\"note\">{}</p>\n", Escaped(note));
    return text;
  }

  bool grouped() const { return plan_.packing_groups_size() > 0; }

  // Returns the end of a section's heading if the section shows only one step.
  std::string OfLongest() const { return grouped() ? ", a step of the longest group" : ""; }

  // Returns the idle share of all stages until the last pass.
  double Bubble() const {
    double busy = 0;
    for (const v1::StageTimeline& stage : timeline_.stages()) {
      const v1::StageTime& time = stage.time();
      busy += time.forward_seconds() + time.recompute_seconds() + time.backward_seconds() +
              time.weight_gradient_seconds();
    }
    const double whole = timeline_.pipeline_seconds() * timeline_.stages_size();
    return whole > 0 ? 1 - busy / whole : 0;
  }

  // Shows the step time of the verdict of `plan`, which is the mean over steps with real packs. The
  // pictures show one simulated step, whose time is given if it differs.
  std::string StepTile() const {
    const double predicted = plan_.predictions().step().total_seconds();
    const std::string drawn = Duration(timeline_.step_seconds());
    const std::string simulated = timeline_.ranks_size() > 0
                                      ? "as simulated with\nthe packs of one step"
                                      : "as simulated with\nmean packs";
    if (!(predicted > 0)) return Tile("Step", drawn, simulated);
    std::string below = grouped() ? "mean of the steps of\nall groups, real packs;\n"
                                  : "mean of steps\nwith real packs";
    if (grouped()) {
      below += fmt::format("the longest group:\nits mean is {}",
                           Duration(plan_.packing_groups().rbegin()->step_seconds()));
    }
    if (drawn != Duration(predicted)) {
      below += fmt::format(";\nthe step drawn: {}\n{}", drawn, simulated);
    }
    return Tile("Step", Duration(predicted), below);
  }

  std::string Tiles() const {
    const v1::Predictions& predictions = plan_.predictions();
    std::string tiles = StepTile();
    tiles += Tile("Pipeline idle", Percent(Bubble()),
                  "of the time until\nthe last backward,\nmean over the stages");
    if (plan_.has_predictions()) {
      tiles += Tile("MFU", Percent(predictions.mfu()), "of the vendor's\ndense peak");
      const std::string cost = GpuTime(predictions.gpu_days());
      const size_t blank = cost.find(' ');
      tiles += Tile("Training", cost.substr(0, blank),
                    cost.substr(blank + 1) + ",\n" + Counted(plan_.subject().epochs(), "epoch"));
      tiles += Tile("Speed", BigCount(predictions.llm_tokens_per_second()), "tokens per second");
    }
    tiles += FullestTile();
    return "<section class=\"tiles\">\n" + tiles + "</section>\n";
  }

  std::string FullestTile() const {
    size_t fullest = peaks_.size();
    double most = -1;
    for (size_t s = 0; s < peaks_.size(); ++s) {
      int64_t bytes = 0;
      for (const auto& [name, part] : peaks_[s].parts) bytes += part;
      if (peaks_[s].capacity_bytes <= 0) continue;
      const double share =
          static_cast<double>(bytes) / static_cast<double>(peaks_[s].capacity_bytes);
      if (share > most) most = share, fullest = s;
    }
    if (fullest == peaks_.size()) return "";
    return Tile("Fullest GPU", Percent(most),
                fmt::format("stage {}, of\n{} GiB{}", fullest, Gib(peaks_[fullest].capacity_bytes),
                            most > 1 ? ":\ndoes not fit" : ""));
  }

  Legend OperationLegend() const {
    const std::pair<v1::OperationKind, const char*> known[] = {
        {v1::OPERATION_KIND_FORWARD, "forward"},
        {v1::OPERATION_KIND_RECOMPUTE, "recompute"},
        {v1::OPERATION_KIND_BACKWARD, "backward"},
        {v1::OPERATION_KIND_WEIGHT_GRADIENT, "weight gradient"},
        {v1::OPERATION_KIND_SEND_ACTIVATION, "p2p send"},
        {v1::OPERATION_KIND_PARAMETER_GATHER, "parameter gather"},
        {v1::OPERATION_KIND_GRADIENT_SYNC, "gradient reduction"},
        {v1::OPERATION_KIND_OPTIMIZER, "optimizer"}};
    Legend legend;
    for (const auto& [kind, name] : known) {
      bool any = false;
      for (const v1::StageTimeline& stage : timeline_.stages()) {
        const auto& kinds = stage.operations().kinds();
        any = any || std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
      }
      if (any) legend.emplace_back(OperationStyle(kind), name);
    }
    legend.emplace_back("idle", "idle");
    return legend;
  }

  std::string PictureSection() const {
    const std::vector<Window> windows = PictureWindows(timeline_);
    if (windows.empty() || timeline_.stages_size() == 0) return "";
    const char* titles[] = {"The whole step", "First passes", "Last passes"};
    std::string charts = LegendText(OperationLegend());
    for (size_t i = 0; i < windows.size(); ++i) {
      charts += Card(titles[i], PipelinePicture(timeline_, windows[i]));
    }
    std::string lead =
        "What each stage computes when; numbers are packs. The strip below each stage shows its "
        "communication.";
    if (DrawsShares(timeline_, windows[0]))
      lead += fmt::format(
          " In the whole step, single passes are too narrow to draw: the height of a colour is its "
          "share of the time{}.",
          windows.size() > 1 ? ", and the first and last passes are drawn one by one below" : "");
    if (timeline_.virtual_stages() > 1) lead += " Later virtual stages are paler.";
    lead += timeline_.ranks_size() > 0
                ? fmt::format(
                      " This is one step with real packs, on data-parallel rank {}, the "
                      "slowest.",
                      timeline_.data_index())
                : std::string(" Every pack is the mean pack.");
    return PageSection(std::string("The pipeline") + OfLongest(), lead + DrawnStepText(), charts);
  }

  // Returns the reason why the step in the pictures takes another time than the predicted one, or
  // "".
  std::string DrawnStepText() const {
    const std::string predicted = Duration(plan_.predictions().step().total_seconds());
    const std::string drawn = Duration(timeline_.step_seconds());
    if (plan_.predictions().step().total_seconds() <= 0 || drawn == predicted || grouped())
      return "";
    if (timeline_.ranks_size() > 0)
      return fmt::format(
          " It takes {}, because steps differ in their packs: {} is the mean over many.", drawn,
          predicted);
    return fmt::format(" Such a step takes {}. Real packs are unequal: with them, the mean is {}.",
                       drawn, predicted);
  }

  std::string TimeSection() const {
    if (timeline_.stages_size() == 0 || !(timeline_.step_seconds() > 0)) return "";
    std::string charts =
        LegendText(TimeParts(timeline_)) + Card("Time of each stage by part", TimeBars(timeline_));
    if (const std::string ranks = RankChart(timeline_); !ranks.empty()) {
      charts += Card("Compute time of each data-parallel rank (red: slowest)", ranks);
    }
    return PageSection(std::string("Where the step goes") + OfLongest(),
                       "Every stage's bar is the whole step that the pictures show.", charts);
  }

  std::string MemorySection() const {
    if (peaks_.empty()) return "";
    std::string charts =
        LegendText(PeakParts(peaks_)) + Card("Peak of each stage by part", PeakBars(peaks_));
    const std::string curves = MemoryCurves(timeline_, peaks_);
    if (!curves.empty()) {
      charts += Card("Over the step; the dot is the peak, the broken line the capacity", curves);
    }
    return PageSection(std::string("Memory of one GPU") + OfLongest(),
                       "What the stage holds at its fullest moment.", charts);
  }

  std::string StepSection() const {
    const v1::StepTime& step = plan_.predictions().step();
    if (!(step.total_seconds() > 0)) return "";
    const std::pair<const char*, double> parts[] = {
        {"encoder compute", step.encoder_compute_seconds()},
        {"language compute", step.language_compute_seconds()},
        {"recompute", step.recompute_seconds()},
        {"communication in layers", step.tensor_communication_seconds()},
        {"pipeline bubble", step.pipeline_bubble_seconds()},
        {"imbalance of packs", step.imbalance_seconds()},
        {"data-parallel sync", step.data_sync_seconds()},
        {"optimizer", step.optimizer_seconds()}};
    constexpr double kRow = 24, kName = 200, kRight = 900;
    constexpr double kWorthShowing = 1e-4;  // of the step
    double largest = 0;
    int shown = 0;
    const auto is_shown = [&](double seconds) {
      return seconds >= kWorthShowing * step.total_seconds();
    };
    for (const auto& [name, seconds] : parts)
      largest = std::max(largest, seconds), shown += is_shown(seconds) ? 1 : 0;
    Svg svg(kChartWidth, kRow * shown + 4, "step time by part");
    double top = 4;
    for (const auto& [name, seconds] : parts) {
      if (!is_shown(seconds)) continue;
      svg.Text("axis", kName - 10, top + 13, "end", name);
      const double width = (kRight - kName) * seconds / largest;
      svg.Box("forward", kName, top, width, 16);
      svg.Text("tick", kName + width + 8, top + 13, "start",
               fmt::format("{}, {}", Duration(seconds), Percent(seconds / step.total_seconds())));
      top += kRow;
    }
    std::string lead = fmt::format(
        "The predicted step with real packs: {}. Its parts are means over {}the stages.",
        Duration(step.total_seconds()),
        grouped() ? "the steps of an epoch, of all groups, and " : "");
    if (const std::string sum = StepSumText(plan_); !sum.empty()) lead += " " + sum;
    return PageSection("Step time by part", lead,
                       Card("Parts of the predicted step", svg.Finish()));
  }

  std::string StageTable() const {
    if (plan_.stages_size() == 0) return "";
    std::string rows;
    for (const v1::Stage& stage : plan_.stages()) {
      int recomputed = 0;
      for (const v1::LayerGroup& group : stage.layers()) recomputed += group.recomputed_count();
      const std::string cells[] = {std::to_string(recomputed),
                                   Duration(stage.forward_seconds()),
                                   Duration(stage.backward_seconds()),
                                   Duration(stage.recompute_seconds()),
                                   Duration(stage.send_seconds()),
                                   BigCount(static_cast<double>(stage.parameter_count())),
                                   Gib(stage.memory().total_bytes()) + " GiB",
                                   Gib(stage.free_bytes()) + " GiB"};
      rows += fmt::format("<tr><th scope=\"row\">stage {}</th><td class=\"text\">{}</td>",
                          stage.index(), Escaped(LayersText(stage.layers(), 1000)));
      for (const std::string& cell : cells) rows += "<td>" + Escaped(cell) + "</td>";
      rows += "</tr>\n";
    }
    std::string head = "<tr><th></th><th scope=\"col\" class=\"text\">layers</th>";
    for (const char* name : {"recomputed", "forward", "backward", "recompute", "send", "parameters",
                             "memory", "free"}) {
      head += fmt::format("<th scope=\"col\">{}</th>", name);
    }
    return PageSection(std::string("Stages") + OfLongest(),
                       "Times are of one mean pack; parameters and memory of one GPU.",
                       "<div class=\"scroll\"><table>\n<thead>\n" + head +
                           "</tr>\n</thead>\n<tbody>\n" + rows + "</tbody>\n</table></div>\n");
  }

  std::string Facts() const {
    std::vector<std::pair<std::string, std::string>> facts;
    const v1::BatchRule& rule = plan_.batch_rule();
    if (plan_.has_batch_rule()) {
      std::string caps = Integer(rule.token_cap()) + " tokens";
      if (rule.unit_cap() > 0) caps = Integer(rule.unit_cap()) + " units and " + caps;
      facts.emplace_back("packs", fmt::format("at most {}{}; {} in one on average", caps,
                                              grouped() ? " in the longest group" : "",
                                              CountedMean(rule.samples_per_pack(), "sample")));
    }
    // Evaluated plans have no such bound, and not every plan with groups has one.
    if (plan_.proof().lower_bound_seconds() > 0) {
      facts.emplace_back("proof", BoundText(plan_));
    }
    if (plan_.has_placement()) {
      const std::string nodes = PipelineNodesText(plan_);
      facts.emplace_back("placement", fmt::format("{} of {}, ranks in order {}{}",
                                                  Counted(plan_.placement().node_count(), "node"),
                                                  Counted(plan_.placement().gpus_per_node(), "GPU"),
                                                  plan_.placement().rank_order(),
                                                  nodes.empty() ? "" : "; " + nodes));
    }
    if (!plan_.provenance().planner_version().empty()) {
      facts.emplace_back("versions", fmt::format("planner {}, catalogue {}, calibration {}",
                                                 plan_.provenance().planner_version(),
                                                 plan_.provenance().catalog_version(),
                                                 plan_.provenance().calibration_version()));
    }
    if (facts.empty()) return "";
    return "<section>\n<h2>The plan</h2>\n" + FactsTable(facts) + "</section>\n";
  }

  std::string Notes() const {
    return "<footer>\n<p>Simulated pass by pass with predicted times, not measured. Gradients are "
           "reduced before any optimizer starts, since their norm is global. Point at a mark to "
           "read its figures.</p>\n</footer>\n";
  }

  const v1::Plan& plan_;
  const v1::Timeline& timeline_;
  std::vector<StagePeak> peaks_;
};

}  // namespace

std::string PipelineReport(const v1::Plan& plan, const v1::Timeline& timeline) {
  return IsWellFormed(timeline) ? Report(plan, timeline).Render() : "";
}

}  // namespace evenkeel::cli
