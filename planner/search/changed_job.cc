#include "planner/search/changed_job.h"

#include "planner/cost/apply_calibration.h"
#include "planner/trainer/carried.h"
#include "planner/trainer/trainers.h"

namespace evenkeel::planner {

Cluster Resized(const Cluster& cluster, int64_t gpu_count) {
  Cluster resized = cluster;
  resized.gpu_count = gpu_count;
  if (gpu_count <= cluster.gpus_per_full_node) {
    resized.gpus_per_node = gpu_count;
  } else if (gpu_count % cluster.gpus_per_full_node == 0) {
    resized.gpus_per_node = cluster.gpus_per_full_node;
  }
  return resized;
}

void PinDegrees(const Parallelism& p, Constraints* constraints) {
  Constraints& c = *constraints;
  c.tensor_parallel = {p.tensor, p.tensor}, c.pipeline_parallel = {p.pipeline, p.pipeline};
  c.data_parallel = {p.data, p.data}, c.context_parallel = {p.context, p.context};
  c.expert_parallel = {p.expert, p.expert};
}

void ChangeZeroStage(ZeroStage stage, Training* training) {
  const Trainer& trainer = *training->trainer;
  training->execution = Carried(DefaultExecution(trainer, training->zero_stage),
                                training->execution, DefaultExecution(trainer, stage));
  const bool fp32 = AccumulatesInFp32(trainer, training->zero_stage, /*float16=*/false);
  if (trainer.sharded_gradients_16bit && training->distributed_gradients_fp32 == fp32)
    training->distributed_gradients_fp32 = AccumulatesInFp32(trainer, stage, /*float16=*/false);
  training->zero_stage = stage;
  training->stage_by_gpus = false;
}

void ChangePrecision(Precision precision, Job* job) {
  Training& training = job->training;
  training.precision = precision;
  if (training.gradients_follow_float16)
    training.distributed_gradients_fp32 =
        AccumulatesInFp32(*training.trainer, training.zero_stage, /*float16=*/false);
  training.gradients_follow_float16 = false;
  job->calibration = WithoutTimes(job->calibration);
}

void ChangeGpuCount(int64_t gpu_count, Job* job) {
  job->cluster = Resized(job->cluster, gpu_count);
  if (!job->training.stage_by_gpus) return;
  ChangeZeroStage(gpu_count == 1 ? ZeroStage::kNone : job->training.trainer->zero_stage,
                  &job->training);
  job->training.stage_by_gpus = true;
}

}  // namespace evenkeel::planner
