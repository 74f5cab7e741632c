#include "planner/check/fused_step_checker.h"

#include <algorithm>

#include "planner/base/integers.h"
#include "planner/check/faults.h"
#include "planner/cost/kernel_time.h"
#include "planner/cost/layer_profile.h"
#include "planner/cost/optimizer_time.h"
#include "planner/simulate/stage_sync.h"

namespace evenkeel::planner {

std::vector<std::string> CheckFusedStep(const Job& job, const Batching& batching,
                                        const Plan& plan) {
  if (!job.training.fused_step) return {};
  Faults faults("fused step: ");
  const Parallelism& p = plan.parallelism;
  const FusedStep ability = job.training.trainer->fused_step;
  faults.Require(ability != FusedStep::kNone && job.training.zero_stage == ZeroStage::kWeights &&
                     !RecordOf(job.training.optimizer).whole_matrices &&
                     job.training.offload.ratio == 0,
                 "a job that cannot have it");
  faults.Require(plan.prediction.micro_batches == 1 && p.pipeline == 1 && plan.stages.size() == 1,
                 "several micro-batches or stages");
  faults.Require(ability == FusedStep::kAny || p.expert == 1, "with expert parallelism");
  if (!faults.empty()) return faults.Take();

  Job separate = job;
  separate.training.fused_step = false;
  const LayerProfile profile = BuildLayerProfile(separate, p, batching.mean, batching.largest);
  int64_t weights = 0, states = 0, of_layer = 0, backward = 0;
  TrainedParameters trained;
  for (int64_t i = 0; i < profile.size(); ++i) {
    const LayerCost& layer = profile.at(i);
    weights += layer.weight_bytes, states += layer.optimizer_bytes;
    of_layer = std::max(of_layer, layer.gradient_bytes);
    backward += layer.backward_ns;
    trained += TrainedBy(layer);
  }
  const StagePlan& stage = plan.stages.front();
  faults.Require(stage.memory.weights == weights && stage.memory.optimizer == states,
                 "other weights or states than those of a separate step");
  faults.Require(stage.memory.gradients == 0, "gradients that outlast their layer");
  faults.Require(stage.memory.workspace >= of_layer,
                 "no room for the gradients of the largest layer");
  // A separate step may clip gradients, too. Each layer pays for launches of its own. Its time is
  // rounded.
  const KernelTime kernels(job.cluster.gpu, job.constants);
  const auto all_ns = [&](const Job& of) {
    return UpdateTime(of, kernels, p.tensor, static_cast<double>(trained.all));
  };
  const int64_t update = Nearest(all_ns(job) / all_ns(separate) *
                                 static_cast<double>(SyncOf(separate, p, trained).optimizer_ns));
  const int64_t off = profile.size() + 1;
  // Measured times are of layers without an update, and the host's work for an update may hide a
  // gather.
  faults.Require(!job.calibration.empty() || stage.backward_ns + off >= backward + update,
                 "updates that take no time");
  faults.Require(plan.prediction.step.optimizer_ns + off >= update &&
                     plan.prediction.step.optimizer_ns <= stage.backward_ns,
                 "a time of the optimizer that is not that of the updates");
  return faults.Take();
}

}  // namespace evenkeel::planner
