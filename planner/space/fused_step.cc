#include "planner/space/fused_step.h"

#include <algorithm>

namespace evenkeel::planner {
namespace {

bool HasAdapters(const ModelSpec& model) {
  return model.language_model.train == TrainMode::kLora ||
         std::any_of(model.towers.begin(), model.towers.end(), [](const EncoderTower& tower) {
           return tower.encoder.train == TrainMode::kLora ||
                  tower.projector.train == TrainMode::kLora;
         });
}

}  // namespace

std::vector<FusedStepObstacle> FusedStepObstacles(const Job& job) {
  const Training& training = job.training;
  const Constraints& c = job.constraints;
  const FusedStep ability = training.trainer->fused_step;
  std::vector<FusedStepObstacle> found;
  const auto add = [&found](bool stands, FusedStepObstacle obstacle) {
    if (stands) found.push_back(obstacle);
  };
  add(ability == FusedStep::kNone, FusedStepObstacle::kTrainer);
  add(training.zero_stage != ZeroStage::kWeights, FusedStepObstacle::kZeroStage);
  add(RecordOf(training.optimizer).whole_matrices, FusedStepObstacle::kWholeMatrices);
  add(HasAdapters(job.model), FusedStepObstacle::kAdapters);
  add(training.offload.choose || training.offload.ratio > 0, FusedStepObstacle::kOffload);
  add(training.group_selection != GroupSelection::kOne, FusedStepObstacle::kGroups);
  add(c.pipeline_parallel.min > 1 || c.stage_layers.size() > 1, FusedStepObstacle::kPipeline);
  add(ability == FusedStep::kWithoutExpertParallel && c.expert_parallel.min > 1,
      FusedStepObstacle::kExpertParallel);
  return found;
}

}  // namespace evenkeel::planner
