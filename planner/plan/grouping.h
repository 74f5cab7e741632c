// The packing groups of a plan.
#ifndef EVENKEEL_PLANNER_PLAN_GROUPING_H_
#define EVENKEEL_PLANNER_PLAN_GROUPING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "planner/plan/prediction.h"
#include "planner/plan/stages.h"
#include "planner/space/parallelism.h"

namespace evenkeel::planner {

// A packing group and how its steps run. Counts are per epoch; figures are as in BatchRule.
struct GroupPlan {
  // Tokens. The group takes the samples longer than those of the group before.
  int64_t longest_sample = 0;
  int64_t token_cap = 0, unit_cap = 0;
  Parallelism parallelism;    // the plan's, except for context and data
  int64_t micro_batches = 0;  // packs per rank and step
  std::vector<StagePlan> stages;
  StepTime step;
  // Samples of its own lengths, and shorter samples that fill up its packs.
  int64_t samples = 0, fillers = 0;
  int64_t packs = 0, steps = 0;
  double share = 0;  // packs x context, as a share of the sum over all groups
  double mean_tokens = 0;
  double dist_ratio_tokens = 0, dist_ratio_attention = 0, idle_ratio = 0;
  std::string reason;  // why this length and degree, in words
  int64_t recomputed_layers() const {
    int64_t layers = 0;
    for (const StagePlan& stage : stages)
      for (const LayerGroup& group : stage.layers) layers += group.recomputed_count();
    return layers;
  }
};

// A summary of a set of packing groups.
struct GroupLengths {
  std::vector<int64_t> lengths, contexts;  // tokens of a pack, GPUs that share it
  double gpu_days = 0;                     // with mean packs and even stages; 0 if it does not fit
};

// Ways to batch samples of different lengths, on the split of the plan.
enum class BatchingMethod { kNaivePacking, kSorted, kFlexSp, kGroups, kBalancedGroups };
struct BatchingBaseline {
  BatchingMethod method = BatchingMethod::kNaivePacking;
  bool fits = true;
  double gpu_days = 0;
  int64_t step_ns = 0;                                     // mean
  double pad_ratio = 0;                                    // PR
  double dist_ratio_tokens = 0, dist_ratio_attention = 0;  // DBR, ABR
  double communication_ratio = 0;                          // CR
  double mean_rank_tokens = 0;                             // Ave-T
};

// How the packing groups were chosen.
struct GroupChoice {
  std::vector<int64_t> candidate_lengths;
  GroupLengths published, exact;
  int64_t examined_sets = 0;
  std::vector<BatchingBaseline> baselines;  // worst first
  int64_t curriculum_steps = 0;
  double communication_ratio = 0;
  double mean_rank_tokens = 0;
};

// The packing groups of a plan.
struct Grouping {
  std::vector<GroupPlan> groups;  // ascending in length: at least two
  GroupChoice choice;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PLAN_GROUPING_H_
