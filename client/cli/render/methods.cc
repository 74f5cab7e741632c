#include "client/cli/render/methods.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>

#include "client/cli/base/table.h"
#include "client/cli/render/plan.h"

namespace evenkeel::cli {
namespace {

const char* MethodName(v1::PartitionMethod method) {
  switch (method) {
    case v1::PARTITION_METHOD_BMP:
      return "BMP (OmniBal)";
    case v1::PARTITION_METHOD_PARAMETERS:
      return "equal parameters";
    case v1::PARTITION_METHOD_LAYERS:
      return "equal layers";
    case v1::PARTITION_METHOD_PROFILE:
      return "profile (PipeDream)";
    default:
      return "exact (ours)";
  }
}

// Returns the layers per stage, such as "22,23,24,24".
std::string LayersPerStage(const v1::Plan& plan) {
  std::vector<int> layers;
  for (const v1::Stage& stage : plan.stages()) {
    layers.push_back(0);
    for (const v1::LayerGroup& group : stage.layers())
      layers.back() += IsTransformer(group.kind()) ? group.layer_count() : 0;
  }
  return absl::StrJoin(layers, ",");
}

}  // namespace

std::vector<v1::PartitionMethod> PartitionMethods() {
  return {v1::PARTITION_METHOD_EXACT, v1::PARTITION_METHOD_BMP, v1::PARTITION_METHOD_PROFILE,
          v1::PARTITION_METHOD_PARAMETERS, v1::PARTITION_METHOD_LAYERS};
}

std::string RenderMethods(const Style& style, const std::vector<v1::Plan>& plans) {
  Table table({{"method", Align::kLeft},
               {"split", Align::kLeft},
               {"step"},
               {"GPU-days"},
               {"slower by"},
               {"recomputed"},
               {"layers per stage", Align::kLeft, /*shrink=*/true, 8}});
  const std::vector<v1::PartitionMethod> methods = PartitionMethods();
  const double ours = plans.empty() ? 0 : plans.front().predictions().gpu_days();
  for (size_t i = 0; i < std::min(plans.size(), methods.size()); ++i) {
    const v1::Plan& plan = plans[i];
    const char* name = MethodName(methods[i]);
    if (plan.has_misfit()) {
      table.Add({name, "no fit", "-", "-", "-", "-", ""});
      continue;
    }
    const double days = plan.predictions().gpu_days();
    table.Add({name, SplitText(plan.parallelism()),
               Duration(plan.predictions().step().total_seconds()), Significant(days),
               i > 0 && ours > 0 ? Percent(days / ours - 1) : "-", Integer(RecomputedLayers(plan)),
               LayersPerStage(plan)});
  }
  return Section(style, "Ways to cut the model",
                 "under 1F1B, each with its best split and recompute; compared in GPU-days") +
         table.Render(style);
}

}  // namespace evenkeel::cli
