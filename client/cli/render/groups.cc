// Shows the packing groups of a plan for long context.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/table.h"
#include "client/cli/render/group_tables.h"
#include "client/cli/render/plan.h"

namespace evenkeel::cli {

std::string RenderGroups(const Style& style, const v1::Plan& plan) {
  if (!plan.has_group_choice()) return "";
  auto texts = GroupChoiceTexts(plan);
  for (auto& [name, text] : texts) text = Plain(style, text);
  return Section(style, "Packing groups", kPlannedGroupsRemark) +
         Table(PlannedGroups(plan)).Render(style) + NameValues(style, texts);
}

std::string RenderBatchingMethods(const Style& style, const v1::Plan& plan) {
  const auto& baselines = plan.group_choice().baselines();
  if (baselines.empty()) return "";
  double most = 0;
  for (const v1::BatchingBaseline& way : baselines) most = std::max(most, way.gpu_days());
  const int bar_width = std::max(8, style.width - 92);
  TextTable methods = BatchingMethods(plan.group_choice());
  methods.headings.emplace_back();
  for (int i = 0; i < baselines.size(); ++i) {
    const double share = most > 0 ? baselines[i].gpu_days() / most : 0;
    methods.rows[static_cast<size_t>(i)].push_back(
        baselines[i].fits() ? Bar(style, share, bar_width) : "");
  }
  return Section(style, kBatchingMethodsTitle, kBatchingMethodsRemark) +
         Table(std::move(methods)).Render(style);
}

}  // namespace evenkeel::cli
