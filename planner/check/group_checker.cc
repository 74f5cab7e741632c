#include "planner/check/group_checker.h"

#include <algorithm>
#include <cmath>

#include "planner/base/integers.h"
#include "planner/check/faults.h"
#include "planner/check/plan_checker.h"

namespace evenkeel::planner {
namespace {

constexpr double kSampled = .05;  // packs are made from a sample of each class

class GroupChecker {
 public:
  GroupChecker(const Job& job, const std::vector<const Batching*>& batchings, const Plan& plan)
      : job_(job), batchings_(batchings), plan_(plan) {}

  std::vector<std::string> Run() {
    Require(plan_.grouping && groups().size() >= 2 && groups().size() == batchings_.size(),
            "fewer than two groups");
    if (!faults_.empty()) return faults_.Take();
    for (size_t g = 0; g < groups().size(); ++g) {
      CheckGroup(g);
      if (!faults_.empty()) return faults_.Take();
    }
    CheckCover();
    CheckSums();
    return faults_.Take();
  }

 private:
  const std::vector<GroupPlan>& groups() const { return plan_.grouping->groups; }

  void Require(bool holds, const std::string& fault) { faults_.Require(holds, fault); }

  static std::vector<int64_t> Layers(const std::vector<StagePlan>& stages) {
    std::vector<int64_t> layers;
    for (const StagePlan& stage : stages) {
      for (const LayerGroup& group : stage.layers)
        for (const int64_t v : {static_cast<int64_t>(group.kind), group.first, group.count})
          layers.push_back(v);
    }
    return layers;
  }

  void CheckGroup(size_t g) {
    const GroupPlan& group = groups()[g];
    const std::string name = "group " + std::to_string(g) + ": ";
    const Parallelism &p = group.parallelism, &q = plan_.parallelism;
    Require(p.tensor == q.tensor && p.pipeline == q.pipeline && p.expert == q.expert &&
                p.virtual_stages == q.virtual_stages && p.context * p.data == q.context * q.data,
            name + "another split of the model");
    Require(Layers(group.stages) == Layers(plan_.stages), name + "another partition");
    Require(group.longest_sample <= group.token_cap, name + "its samples exceed its cap");
    const bool ascends = g == 0 || (group.token_cap > groups()[g - 1].token_cap &&
                                    group.longest_sample > groups()[g - 1].longest_sample);
    Require(ascends, name + "not longer than the group before");
    const int64_t step_packs = p.data * group.micro_batches;
    Require(group.packs > 0 && group.steps == CeilDivide(group.packs, step_packs),
            name + "steps do not hold its packs");
    Require(g == 0 || group.packs % step_packs == 0, name + "a holed step of a longer group");
    // Checks stages, memory and the parts of a step as for any plan.
    Plan alone;
    alone.batch_rule = batchings_[g]->rule;
    alone.parallelism = p;
    alone.schedule = plan_.schedule;
    alone.stages = group.stages;
    alone.prediction.micro_batches = group.micro_batches;
    alone.prediction.step = group.step;
    for (const std::string& fault : CheckSteps(job_, *batchings_[g], alone))
      Require(false, name + fault);
  }

  // Checks that every sample has a group, and that the packs hold the tokens of the data.
  void CheckCover() {
    double tokens = 0, packed = 0, last_packs = 0;
    int64_t samples = 0, grouped = 0, longest = 0;
    for (const LengthBin& bin : job_.dataset.bins) {
      tokens += D(bin.count) * D(bin.llm_tokens);
      samples += bin.count;
      longest = std::max(longest, bin.llm_tokens);
    }
    for (const GroupPlan& group : groups()) {
      packed += D(group.packs) * group.mean_tokens;
      last_packs += D(group.token_cap);  // a group's last pack may be almost empty
      grouped += group.samples;
    }
    Require(groups().back().longest_sample >= longest, "groups: a sample is too long for all");
    Require(std::abs(packed - tokens) <= kSampled * tokens + last_packs,
            "groups: packs do not hold the tokens of the data");
    // Each sample counts in one group, that of its length, even if it fills a pack of another.
    Require(grouped == samples, "groups: samples do not add up to the dataset");
    for (const GroupPlan& group : groups()) {
      Require(group.samples >= 0 && group.fillers >= 0, "groups: a negative count");
      for (const double ratio :
           {group.share, group.idle_ratio, group.dist_ratio_tokens, group.dist_ratio_attention})
        Require(ratio >= 0 && ratio <= 1, "groups: a ratio is outside [0, 1]");
    }
  }

  void CheckSums() {
    const Prediction& p = plan_.prediction;
    int64_t steps = 0, packs = 0, slots = 0, shared = 0;
    double epoch = 0;
    for (const GroupPlan& group : groups()) {
      const int64_t gpus = group.packs * group.parallelism.context;
      steps += group.steps, packs += group.packs, slots += gpus;
      shared += group.parallelism.context > 1 ? gpus : 0;
      epoch += D(group.steps) * D(group.step.total_ns);
    }
    Require(p.steps_per_epoch == steps && plan_.batch_rule.packs == packs,
            "groups: steps or packs do not add up");
    Require(Near(p.epoch_seconds, epoch * 1e-9), "groups: the epoch is not the sum of its steps");
    Require(Near(p.gpu_days,
                 epoch * 1e-9 / 86400 * D(job_.training.epochs) * D(job_.cluster.gpu_count)),
            "groups: GPU-days");
    // Means are rounded to whole nanoseconds.
    Require(std::abs(D(p.step.total_ns) * D(steps) - epoch) <= 16 * D(steps),
            "groups: the mean step");
    Require(Near(plan_.grouping->choice.communication_ratio, D(shared) / D(slots)), "groups: CR");
    const Proof& proof = plan_.proof;
    // A lower bound of 0 means that none is known.
    Require(proof.lower_bound_ns >= 0 && proof.lower_bound_ns <= proof.step_ns &&
                proof.plan_lower_bound_ns > 0 && proof.plan_lower_bound_ns <= proof.step_ns,
            "groups: a bound of " + std::to_string(proof.lower_bound_ns) + " or " +
                std::to_string(proof.plan_lower_bound_ns) + " ns for a step of " +
                std::to_string(proof.step_ns) + " ns");
    Require(proof.lower_bound_ns > 0
                ? Near(1 + proof.gap, D(proof.step_ns) / D(proof.lower_bound_ns))
                : proof.gap == 0,
            "groups: gap");
    Require((proof.end == SearchEnd::kWorkLimit) == (proof.parallelisms_unsearched > 0),
            "groups: end of the search");
  }

  const Job& job_;
  const std::vector<const Batching*>& batchings_;
  const Plan& plan_;
  Faults faults_;
};

}  // namespace

std::vector<std::string> CheckGroupedPlan(const Job& job,
                                          const std::vector<const Batching*>& batchings,
                                          const Plan& plan) {
  return GroupChecker(job, batchings, plan).Run();
}

}  // namespace evenkeel::planner
