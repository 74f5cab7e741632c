// Shows what a plan assumes.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "client/cli/render_plan.h"
#include "client/cli/table.h"

namespace evenkeel::cli {
namespace {

std::string Joined(const std::vector<std::string>& lines) {
  return fmt::format("{}", fmt::join(lines, "\n"));
}

// Returns "" if nothing was measured.
std::string CalibrationText(const v1::Provenance& provenance) {
  if (provenance.profile_revisions_size() == 0) return "";
  return fmt::format(", calibration {} (profile revisions {})", provenance.calibration_version(),
                     fmt::join(provenance.profile_revisions(), ", "));
}

}  // namespace

std::string RenderBasis(const Style& style, const v1::Plan& plan) {
  const v1::Provenance& provenance = plan.provenance();
  std::vector<const v1::FigureBasis*> assumed;
  int others = 0, figure_width = 0;
  for (const v1::FigureBasis& figure : provenance.figures()) {
    if (figure.basis() == v1::BASIS_ASSUMED) {
      assumed.push_back(&figure);
      figure_width = std::max(figure_width, DisplayWidth(figure.figure()));
    } else if (figure.basis() != v1::BASIS_GIVEN) {
      ++others;
    }
  }
  if (assumed.empty() && others == 0) return "";
  std::string text =
      Section(style, "Assumptions",
              fmt::format("planner {}, catalogue {}{}", provenance.planner_version(),
                          provenance.catalog_version(), CalibrationText(provenance)));
  if (!assumed.empty()) {
    const int detail_width = std::max(20, style.width - 2 - figure_width - 2);
    Table table({{"figure", Align::kLeft}, {"assumed", Align::kLeft}});
    for (const auto* figure : assumed) {
      table.Add({Plain(style, figure->figure()),
                 Joined(Wrap(Plain(style, figure->detail()), detail_width))});
    }
    text += table.Render(style);
  }
  if (others == 0) return text;
  return text + Paragraph(style,
                          fmt::format("{} other figure{} fitted, published or measured: --output "
                                      "json has the sources.",
                                      others, others == 1 ? " is" : "s are"),
                          2);
}

}  // namespace evenkeel::cli
