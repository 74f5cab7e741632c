// How the steps of a class of lengths run: for one family of parallelisms, which share the split of
// the model and differ in how many GPUs share the tokens of a pack.
#ifndef EVENKEEL_PLANNER_GROUPS_GROUP_STEPS_H_
#define EVENKEEL_PLANNER_GROUPS_GROUP_STEPS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "planner/groups/length_classes.h"
#include "planner/job.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// Parallelisms alike but for `context` and `data`, context ascending; their product is the same.
using Family = std::vector<Parallelism>;
std::vector<Family> Families(const Job& job);

// A step of mean packs of one class.
struct GroupStep {
  Parallelism parallelism;
  int64_t micro_batches = 0;
  double tokens = 0;    // of a step
  int64_t step_ns = 0;  // under even stages, with the least recompute that fits
  double ns_per_token() const { return static_cast<double>(step_ns) / tokens; }
};

// What a step is given: the job's global batch, or one pack per rank as HBP's selection has it.
enum class GroupBatch { kGlobal, kOnePackPerRank };

// What several GroupSteps may spend together, in passes simulated.
struct GroupWork {
  int64_t left = 0;
  std::function<bool()> stop;  // asked often; true: no more. May be empty
  bool over = false;           // from now on classes have no steps, and nothing said of them holds
};

// The steps of every class (from, to) under a family.
class GroupSteps {
 public:
  // All must outlive it. `family` has one number of virtual stages. No `work`: no limit.
  GroupSteps(const Job& job, const LengthClasses& classes, const Family& family, GroupBatch batch,
             GroupWork* work = nullptr);

  // The degree of least time per token that fits; null: none does. Worked out once.
  const GroupStep* Best(size_t from, size_t to);
  // That of so many GPUs per pack; null: it does not fit.
  const GroupStep* With(size_t from, size_t to, int64_t context);
  // No degree takes less, with any number of virtual stages that the job allows, also where
  // constraints leave this degree alone; ns per token. Exact without pipeline but for degrees that
  // are not chosen because they take too large a batch; infinite where nothing fits.
  double Bound(size_t from, size_t to) { return At(from, to).bound; }

 private:
  struct Entry {
    std::vector<GroupStep> steps;  // that fit, context ascending
    double bound = 0;
  };
  const Entry& At(size_t from, size_t to);
  bool Spend(const Parallelism& p);  // false: no more
  // No partition, recompute and number of virtual stages of a pipeline takes less, ns per token.
  double PipelineRate(const LayerProfile& profile, const GroupStep& step) const;
  std::optional<GroupStep> StepOf(const Parallelism& p, const ClassPacks& packs,
                                  double& bound) const;

  const Job& job_;
  const LengthClasses& classes_;
  const Family& family_;
  const GroupBatch batch_;
  GroupWork* const work_;
  std::map<std::pair<size_t, size_t>, Entry> entries_;
};

// Tokens of the job's global batch.
double StepTokens(const Job& job, const LengthClasses& classes);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_GROUPS_GROUP_STEPS_H_
