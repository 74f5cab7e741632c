// What a job needs so that its layers can be updated inside the backward pass
// (Training::fused_step).
#ifndef EVENKEEL_PLANNER_SPACE_FUSED_STEP_H_
#define EVENKEEL_PLANNER_SPACE_FUSED_STEP_H_

#include <vector>

#include "planner/job.h"

namespace evenkeel::planner {

// Why a job cannot use a fused step.
enum class FusedStepObstacle {
  kTrainer,        // which has none
  kZeroStage,      // other than ZeroStage::kWeights
  kWholeMatrices,  // that the optimizer needs
  kAdapters,       // whose gradients are small
  kOffload,        // of the optimizer or of weights
  kGroups,         // whose steps have several micro-batches
  kPipeline,       // asked for
  kExpertParallel  // asked for, and the trainer has none with it
};

// Returns all obstacles to a fused step, in that order, except for the number of micro-batches.
std::vector<FusedStepObstacle> FusedStepObstacles(const Job& job);

inline bool AdmitsFusedStep(const Job& job) { return FusedStepObstacles(job).empty(); }

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SPACE_FUSED_STEP_H_
