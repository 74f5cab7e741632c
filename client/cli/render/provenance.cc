// Shows the assumptions of a plan.
#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "client/cli/base/table.h"
#include "client/cli/render/plan.h"
#include "client/cli/render/words.h"

namespace evenkeel::cli {
namespace {

// Returns "" if nothing was measured.
std::string CalibrationText(const v1::Provenance& provenance) {
  if (provenance.profile_revisions_size() == 0) return "";
  return fmt::format(", calibration {} (profile revisions {})", provenance.calibration_version(),
                     fmt::join(provenance.profile_revisions(), ", "));
}

using Figures = std::vector<const v1::FigureBasis*>;

// Returns whether a recorded profile stands behind the figure (planner/cost/apply_calibration.cc).
bool IsRecorded(const v1::FigureBasis& figure) {
  const std::string& name = figure.figure();
  return figure.basis() == v1::BASIS_MEASURED &&
         (name.starts_with("layer_times.") || name == "step_time.total" || name == "memory.rest" ||
          name == "network.collectives");
}

std::string FigureTable(const Style& style, const char* basis, const Figures& figures) {
  if (figures.empty()) return "";
  int width = 0;
  for (const auto* figure : figures) width = std::max(width, DisplayWidth(figure->figure()));
  const int detail_width = std::max(20, style.width - 2 - width - 2);
  Table table({{"figure", Align::kLeft}, {basis, Align::kLeft}});
  for (const auto* figure : figures) {
    const std::string detail =
        figure->figure() == "dataset" ? WithThousands(figure->detail()) : figure->detail();
    table.Add({Plain(style, figure->figure()),
               absl::StrJoin(Wrap(Plain(style, detail), detail_width), "\n")});
  }
  return table.Render(style);
}

}  // namespace

std::string RenderBasis(const Style& style, const v1::Plan& plan) {
  const v1::Provenance& provenance = plan.provenance();
  Figures assumed, recorded;
  int others = 0;
  for (const v1::FigureBasis& figure : provenance.figures()) {
    if (figure.basis() == v1::BASIS_ASSUMED) {
      assumed.push_back(&figure);
    } else if (IsRecorded(figure)) {
      recorded.push_back(&figure);
    } else if (figure.basis() != v1::BASIS_GIVEN) {
      ++others;
    }
  }
  if (assumed.empty() && recorded.empty() && others == 0) return "";
  std::string text =
      Section(style, "Assumptions",
              fmt::format("planner {}, catalogue {}{}", provenance.planner_version(),
                          provenance.catalog_version(), CalibrationText(provenance)));
  text += FigureTable(style, "assumed", assumed) + FigureTable(style, "recorded by you", recorded);
  if (others == 0) return text;
  return text + Paragraph(style,
                          fmt::format("{} {} fitted, published or measured: --output json has the "
                                      "sources.",
                                      Counted(others, "other figure"), others == 1 ? "is" : "are"),
                          2);
}

}  // namespace evenkeel::cli
