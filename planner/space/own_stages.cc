#include "planner/space/own_stages.h"

#include "planner/base/integers.h"

namespace evenkeel::planner {

std::vector<int64_t> LayersByWeights(const LanguageModel& model, int64_t layers, int64_t stages) {
  const Wide layer = (4 * Wide{model.heads} * model.head_dim + 3 * Wide{model.ffn}) * model.hidden;
  const Wide all = layer * layers + Wide{model.vocab} * model.hidden;
  std::vector<int64_t> counts;
  int64_t taken = 0;
  for (int64_t i = 1; i <= layers; ++i) {
    const int64_t stage = static_cast<int64_t>(counts.size()) + 1;
    if (stage == stages || layer * i * stages <= all * stage) continue;
    counts.push_back(i - taken);
    taken = i;
  }
  counts.push_back(layers - taken);
  if (counts.back() == 0 || static_cast<int64_t>(counts.size()) < stages) return {};
  return counts;
}

}  // namespace evenkeel::planner
