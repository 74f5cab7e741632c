// The conditions under which a job's layers can be updated inside the backward pass
// (Training::fused_step).
#ifndef EVENKEEL_PLANNER_SPACE_FUSED_STEP_H_
#define EVENKEEL_PLANNER_SPACE_FUSED_STEP_H_

#include <vector>

#include "planner/job.h"

namespace evenkeel::planner {

// Why a job cannot use a fused step.
enum class FusedStepObstacle {
  kTrainer,        // the trainer has no fused step
  kZeroStage,      // the stage is not ZeroStage::kWeights
  kWholeMatrices,  // the optimizer updates whole matrices
  kAdapters,       // adapters train, and their gradients are small
  kOffload,        // the optimizer or weights are offloaded
  kGroups,         // steps of packing groups have several micro-batches
  kPipeline,       // the job asks for a pipeline
  kExpertParallel  // the job asks for it, and the trainer has no fused step with it
};

// Returns all obstacles to a fused step, in that order, except for the number of micro-batches.
std::vector<FusedStepObstacle> FusedStepObstacles(const Job& job);

inline bool AdmitsFusedStep(const Job& job) { return FusedStepObstacles(job).empty(); }

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SPACE_FUSED_STEP_H_
