#include "server/convert/job/fused_step_from_proto.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "evenkeel/v1/job.pb.h"
#include "planner/candidates/parallelisms.h"
#include "planner/space/degrees.h"
#include "planner/space/fused_step.h"
#include "planner/trainer/trainers.h"
#include "server/convert/job/trainer_names.h"

namespace evenkeel::server {
namespace {

void Refuse(planner::FusedStepObstacle obstacle, const planner::Trainer& trainer,
            const FieldPath& path, ViolationSink& sink) {
  using Obstacle = planner::FusedStepObstacle;
  const FieldPath training = path.Child("training"), constraints = path.Child("constraints");
  const FieldPath field = training.Child("fused_step");
  const std::string title(trainer.title);
  switch (obstacle) {
    case Obstacle::kTrainer:
      return sink.Add(field, "must be false: " + title +
                                 " updates all layers after the backward pass; accepted with "
                                 "trainers " +
                                 TrainersThat([](const planner::Trainer& t) {
                                   return t.fused_step != planner::FusedStep::kNone;
                                 }));
    case Obstacle::kZeroStage:
      return sink.Add(field,
                      "must be false: layers are updated in the backward pass only with "
                      "ZERO_STAGE_3");
    case Obstacle::kWholeMatrices:
      return sink.Add(field,
                      "must be false with an optimizer that needs whole matrices; accepted: any "
                      "training.optimizer but OPTIMIZER_MUON");
    case Obstacle::kAdapters:
      return sink.Add(field, "must be false with adapters, which have few gradients to free");
    case Obstacle::kOffload:
      return sink.Add(field,
                      std::string(kNotYet) +
                          "a fused step with an offload of the optimizer or of weights, where "
                          "the backward pass would wait for each layer's update on the "
                          "host; accepted: training.offload of activations alone");
    case Obstacle::kGroups:
      return sink.Add(field, std::string(kNotYet) +
                                 "a fused step with packing groups, whose steps run several "
                                 "micro-batches on a rank; accepted: training.group_selection "
                                 "GROUP_SELECTION_ONE");
    case Obstacle::kPipeline:
      return sink.Add(constraints.Child("pipeline_parallel"),
                      "must allow 1, without several stage_layers: training.fused_step has no "
                      "pipeline");
    case Obstacle::kExpertParallel:
      return sink.Add(
          constraints.Child("expert_parallel"),
          "must allow 1: " + title + " cannot combine a fused step with expert parallelism");
  }
}

}  // namespace

void FusedStepFromProto(const v1::Job& from, const FieldPath& path, ViolationSink& sink,
                        planner::Job* job) {
  job->training.fused_step = from.training().fused_step();
  if (!job->training.fused_step) return;
  for (const planner::FusedStepObstacle obstacle : planner::FusedStepObstacles(*job))
    Refuse(obstacle, *job->training.trainer, path, sink);
}

void CheckMicroBatches(const planner::Job& job, const FieldPath& path, ViolationSink& sink) {
  const planner::Training& training = job.training;
  if (!training.fused_step) return;
  const planner::Dataset::Totals all = job.dataset.totals();
  const double samples = static_cast<double>(all.samples);
  double of_micro_batch = static_cast<double>(training.micro_batch_samples);  // at most
  if (of_micro_batch == 0) {
    if (training.token_cap < all.longest_tokens || all.tokens <= 0) return;
    of_micro_batch = samples * static_cast<double>(training.token_cap) / all.tokens;
  }
  int64_t ranks = 0;
  planner::ForEachDegrees(job, [&ranks](const planner::Parallelism& p, const auto&) {
    ranks = std::max(ranks, p.data);
    return true;
  });
  if (ranks == 0) return;
  const double batch = static_cast<double>(training.global_batch_samples);
  const int64_t micro_batches = planner::MicroBatches(batch / of_micro_batch, ranks);
  if (micro_batches <= 1) return;
  sink.Add(path.Child("training").Child("global_batch_samples"),
           "must be smaller: training.fused_step allows one micro-batch per rank and step, but "
           "this makes at least " +
               std::to_string(micro_batches) + " on each of " + std::to_string(ranks) +
               " ranks; accepted: for example " +
               std::to_string(std::max<int64_t>(
                   1, std::llround(std::floor(of_micro_batch * static_cast<double>(ranks))))));
}

}  // namespace evenkeel::server
