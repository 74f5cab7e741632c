// Shows what a plan's figures rest on.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "client/cli/render_plan.h"
#include "client/cli/table.h"

namespace evenkeel::cli {
namespace {

const char* BasisName(v1::Basis basis) {
  switch (basis) {
    case v1::BASIS_GIVEN:
      return "given";
    case v1::BASIS_MEASURED:
      return "measured";
    case v1::BASIS_FITTED:
      return "fitted";
    case v1::BASIS_PUBLISHED:
      return "published";
    case v1::BASIS_ASSUMED:
      return "ASSUMED";
    default:
      return "?";
  }
}

// Returns the place in the order. What the reader should doubt most comes first.
int DoubtOrder(v1::Basis basis) {
  switch (basis) {
    case v1::BASIS_ASSUMED:
      return 0;
    case v1::BASIS_FITTED:
      return 1;
    case v1::BASIS_PUBLISHED:
      return 2;
    case v1::BASIS_MEASURED:
      return 3;
    default:
      return 4;
  }
}

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
  std::vector<const v1::FigureBasis*> figures;
  for (const v1::FigureBasis& figure : plan.provenance().figures()) {
    if (figure.basis() != v1::BASIS_GIVEN) figures.push_back(&figure);
  }
  std::stable_sort(figures.begin(), figures.end(), [](const auto* a, const auto* b) {
    return DoubtOrder(a->basis()) < DoubtOrder(b->basis());
  });
  const v1::Provenance& provenance = plan.provenance();
  std::string text;
  if (!figures.empty()) {
    int figure_width = 0;
    for (const auto* figure : figures) {
      figure_width = std::max(figure_width, DisplayWidth(figure->figure()));
    }
    const int detail_width = std::max(20, style.width - 2 - 9 - 2 - figure_width - 2);
    Table table({{"basis", Align::kLeft}, {"figure", Align::kLeft}, {"detail", Align::kLeft}});
    for (const auto* figure : figures) {
      table.Add({BasisName(figure->basis()), Plain(style, figure->figure()),
                 Joined(Wrap(Plain(style, figure->detail()), detail_width))});
    }
    text += Section(style, "What the figures rest on",
                    fmt::format("planner {}, catalogue {}{}", provenance.planner_version(),
                                provenance.catalog_version(), CalibrationText(provenance))) +
            table.Render(style);
  }
  return text;
}

}  // namespace evenkeel::cli
