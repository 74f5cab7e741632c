// How the steps of a class of lengths run, for one family of parallelisms: these share the split of
// the model and differ in how many GPUs share the tokens of a pack.
#ifndef EVENKEEL_PLANNER_GROUPS_GROUP_STEPS_H_
#define EVENKEEL_PLANNER_GROUPS_GROUP_STEPS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "planner/base/stop.h"
#include "planner/groups/length_classes.h"
#include "planner/job.h"

namespace evenkeel::planner {

// Parallelisms that differ only in `context` (ascending) and `data`, whose product is the same for
// all.
using Family = std::vector<Parallelism>;
std::vector<Family> Families(const Job& job);

// A step of mean packs of one class.
struct GroupStep {
  Parallelism parallelism;
  int64_t micro_batches = 0;
  double tokens = 0;    // per step
  int64_t step_ns = 0;  // with even stages and the least recompute that fits
  double ns_per_token() const { return static_cast<double>(step_ns) / tokens; }
};

// The batch of one step: the job's global batch, or one pack per rank as in HBP's selection.
enum class GroupBatch { kGlobal, kOnePackPerRank };

// The work that several GroupSteps may spend together, in simulated passes.
struct GroupWork {
  int64_t left = 0;
  Stop stop;          // its Spend throws once the work is to end
  bool over = false;  // once true, classes have no steps, and results are invalid
};

// Computes the steps of every class (from, to) under one family.
class GroupSteps {
 public:
  // All arguments must outlive it. All of `family` have the same number of virtual stages. If
  // `work` is null, there is no limit. Of the degrees whose batch would be larger than the job's,
  // those of `least_data` ranks or fewer count; 0 stands for the least of the family.
  GroupSteps(const Job& job, const LengthClasses& classes, const Family& family, GroupBatch batch,
             GroupWork* work = nullptr, int64_t least_data = 0);

  // Returns the step with the degree of least time per token that fits, or nullptr if none fits.
  // Each class is computed once.
  const GroupStep* Best(size_t from, size_t to);
  // Returns the step with `context` GPUs per pack, or nullptr if it does not fit.
  const GroupStep* With(size_t from, size_t to, int64_t context);
  // Returns a lower bound on the ns per token of every degree, with any number of virtual stages
  // that the job allows; it also holds for jobs whose constraints allow only one degree. Without a
  // pipeline the bound is exact, except for degrees that are not chosen because their batch is too
  // large. It is infinite if nothing fits.
  double Bound(size_t from, size_t to) { return At(from, to).bound; }

 private:
  struct Entry {
    std::vector<GroupStep> steps;  // those that fit, context ascending
    double bound = 0;
  };
  const Entry& At(size_t from, size_t to);
  bool Spend(const Parallelism& p);  // returns false if the work has run out
  // Returns a lower bound on the ns per token over all partitions, recompute choices and numbers of
  // virtual stages of a pipeline.
  double PipelineRate(const LayerProfile& profile, const GroupStep& step) const;
  std::optional<GroupStep> StepOf(const Parallelism& p, const ClassPacks& packs,
                                  double& bound) const;

  const Job& job_;
  const LengthClasses& classes_;
  const Family& family_;
  const GroupBatch batch_;
  GroupWork* const work_;
  const int64_t least_data_;
  std::map<std::pair<size_t, size_t>, Entry> entries_;
};

// Returns the mean tokens of the job's global batch.
double StepTokens(const Job& job, const LengthClasses& classes);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_GROUPS_GROUP_STEPS_H_
