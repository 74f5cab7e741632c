// Predicts runs of a job that a trainer can express, by the planner's own cost model and on the
// packs of the job's plan.
#ifndef EVENKEEL_PLANNER_LAUNCH_TRIALS_H_
#define EVENKEEL_PLANNER_LAUNCH_TRIALS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/base/stop.h"
#include "planner/evaluate_plan.h"
#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/plan.h"

namespace evenkeel::planner {

struct Trial {
  PlanSpec spec;
  int64_t step_ns = 0;   // as in Prediction
  double sample_ns = 0;  // step_ns over the samples that a step trains on
  std::vector<StagePlan> stages;
  std::optional<Misfit> misfit;  // only if it does not fit: the stage that lacks most memory
  bool fits() const { return !misfit; }
};

// The trials for one plan, which must fit. All arguments must outlive it.
class Trials {
 public:
  Trials(const Job& job, const Batching& batching, const Plan& plan, const Stop& stop);

  const Job& job() const { return job_; }
  const Plan& plan() const { return plan_; }
  const Batching& batching() const { return batching_; }
  const Trial& base() const { return base_; }  // the plan itself
  bool stopped() const { return stop_(); }

  // Predicts a spec. Degrees that differ from the plan's need a `job` that allows them.
  Trial Predict(const PlanSpec& spec) const { return Predict(job_, spec); }
  Trial Predict(const Job& job, const PlanSpec& spec) const;

  // Returns the job with the plan's degrees and schedule as constraints. Recompute stays as the job
  // states it.
  Job AsPlanned() const;

  // Returns the best plan of a job that differs only in constraints and training, or nullopt if
  // nothing fits.
  std::optional<Trial> Best(const Job& job) const;

 private:
  const Job& job_;
  const Batching& batching_;
  const Plan& plan_;
  const Stop stop_;
  Trial base_;
};

// Returns the time per sample of `trial` over that of `other`, less 1.
double SlowerBy(const Trial& trial, const Trial& other);

// Returns whether both run the same layers with the same recompute in the same order.
bool SameRun(const PlanSpec& a, const PlanSpec& b);

// Returns whether every layer is recomputed whole or not at all, or as `also` says.
bool RecomputesWholeLayers(const PlanSpec& spec, RecomputeParts also = 0);
bool RecomputesAnything(const PlanSpec& spec);

// Returns the number of a chunk's transformer layers of the language model.
int64_t LanguageLayers(const ChunkSpec& chunk);

// Returns whether the whole encoder runs in the first chunk.
bool TowerIsFirst(const PlanSpec& spec);

// Returns "1.3% longer", "0.2% shorter" or "as long".
std::string LongerText(double slower_by);

// Returns the values with `separator` between them.
std::string Joined(const std::vector<int64_t>& values, const char* separator = ",");

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_LAUNCH_TRIALS_H_
