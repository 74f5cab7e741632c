// Figures of each packing group and of all of them, and the normalizers that make the losses of
// steps comparable.
#ifndef EVENKEEL_PLANNER_PACKING_GROUP_FIGURES_H_
#define EVENKEEL_PLANNER_PACKING_GROUP_FIGURES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "planner/base/stop.h"
#include "planner/packing/length_groups.h"
#include "planner/packing/metrics.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

struct GroupFigure {
  LengthGroup group;
  int64_t samples = 0;  // samples that belong to it by length
  int64_t fillers = 0;  // samples of shorter groups in its packs
  int64_t packs = 0;
  double share = 0;  // packs x context over that of all groups
  double mean_tokens = 0;
  double mean_loss_tokens = 0;  // per pack
  Balance balance;
};

struct GroupFigures {
  std::vector<GroupFigure> of;
  std::vector<int32_t> step_group;       // by step
  std::vector<double> loss_normalizers;  // by step: T_ave
  int64_t curriculum_steps = 0;
  double communication_ratio = 0;  // CR: share of groups with context above 1
};

// Returns T_ave of each step: the loss tokens of its packs over ranks x packs per rank, even if the
// step has fewer packs. A rank's loss is (sum of its tokens' losses) / (packs_per_rank x T_ave);
// the mean over ranks then weighs every token of the step equally. `loss_tokens` are per pack.
std::vector<double> LossNormalizers(std::span<const int64_t> loss_tokens, const GroupedOrder& order,
                                    std::span<const LengthGroup> groups);

// Returns the loss tokens of each pack. `loss_tokens` are per sample; if empty, all tokens count.
std::vector<int64_t> LossTokensOf(const Packing& packing, const Lengths& lengths,
                                  std::span<const int32_t> loss_tokens);

// Returns the figures of each group, with spread and trend among its own steps, and sets *all to
// the figures over all steps. In *all, spread and trend are means over groups, weighted by steps,
// and a rank of `context` GPUs counts as `context` times as fast.
GroupFigures FiguresOf(const Lengths& lengths, const GroupedPacking& packed,
                       const GroupedOrder& order, std::span<const LengthGroup> groups,
                       std::span<const PackSums> sums, std::span<const PackWork> work,
                       std::span<const int32_t> loss_tokens, Balance* all, const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_GROUP_FIGURES_H_
