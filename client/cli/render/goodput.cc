// Shows the effect of node failures on a plan.
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/table.h"
#include "client/cli/render/plan.h"
#include "client/cli/render/words.h"

namespace evenkeel::cli {

std::string RenderGoodput(const Style& style, const v1::Plan& plan) {
  if (!plan.predictions().has_goodput()) return "";
  const v1::Goodput& goodput = plan.predictions().goodput();
  std::vector<std::pair<std::string, std::string>> pairs;
  pairs.emplace_back("training",
                     fmt::format("{} from start to end, {}{}", Duration(goodput.finish_seconds()),
                                 GpuTime(goodput.gpu_days()),
                                 goodput.cost() > 0 ? ", cost " + Decimal(goodput.cost(), 2) : ""));
  pairs.emplace_back("goodput", fmt::format("{} of that time is useful training",
                                            Percent(goodput.useful_share())));
  pairs.emplace_back(
      "a checkpoint",
      fmt::format("every {}: {}, written in {}",
                  Counted(goodput.checkpoint_interval_steps(), "step"),
                  Bytes(goodput.checkpoint_bytes()), Duration(goodput.checkpoint_seconds())));
  pairs.emplace_back(
      "node failure",
      fmt::format("every {} on average", Duration(goodput.mean_time_between_failures_seconds())));
  return Section(style, "With failures of nodes", "expected values") + NameValues(style, pairs);
}

}  // namespace evenkeel::cli
