#include "planner/explain/changed_job.h"

#include "planner/cost/apply_calibration.h"
#include "planner/cost/expert_dispatch.h"
#include "planner/hardware/gpus.h"
#include "planner/space/network_tiers.h"
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

bool CanRun(const GpuSpec& gpu, const Job& job) {
  return (gpu.bfloat16 || !job.cluster.gpu.bfloat16) &&
         HasProducts(gpu, RecipeOf(job.training.precision).products) &&
         UnfitFor(job.training.execution.dispatcher, gpu).empty();
}

Cluster WithGpu(const Cluster& cluster, const GpuSpec& gpu) {
  Cluster changed = cluster;
  changed.gpu = gpu;
  const bool scaleup = gpu.scaleup_bytes_per_second > 0 && !gpu.scaleup_pairs_only;
  changed.intra_node_bytes_per_second =
      scaleup ? gpu.scaleup_bytes_per_second : gpu.pcie_bytes_per_second;
  changed.price_per_gpu_hour = 0;
  changed.domain = DomainOf(gpu, cluster.gpus_per_full_node);
  changed.collectives = nullptr;
  return changed;
}

std::vector<const GpuEntry*> GpusThatCanRun(const Job& job) {
  const GpuEntry* own = FindGpu(job.cluster.gpu.name);
  std::vector<const GpuEntry*> gpus;
  for (const GpuEntry& gpu : Gpus())
    if ((own == nullptr || gpu.vendor == own->vendor) && CanRun(gpu.spec, job))
      gpus.push_back(&gpu);
  return gpus;
}

void ChangeGpu(const GpuSpec& gpu, Job* job) {
  job->cluster = WithGpu(job->cluster, gpu);
  job->calibration = WithoutTimes(job->calibration);
}

void PinDegrees(const Parallelism& p, Constraints* constraints) {
  Constraints& c = *constraints;
  c.tensor_parallel = DegreeRange::Exactly(p.tensor);
  c.pipeline_parallel = DegreeRange::Exactly(p.pipeline);
  c.data_parallel = DegreeRange::Exactly(p.data);
  c.context_parallel = DegreeRange::Exactly(p.context);
  c.expert_parallel = DegreeRange::Exactly(p.expert);
}

void ChangeZeroStage(ZeroStage stage, Training* training) {
  const Trainer& trainer = *training->trainer;
  training->execution = CarryOverrides(DefaultExecution(trainer, training->zero_stage),
                                       training->execution, DefaultExecution(trainer, stage));
  const bool fp32 = AccumulatesInFp32(trainer, training->zero_stage, /*float16=*/false);
  if (trainer.sharded_gradients_16bit && training->distributed_gradients_fp32 == fp32)
    training->distributed_gradients_fp32 = AccumulatesInFp32(trainer, stage, /*float16=*/false);
  if (training->execution.autocast) SetAutocast(training);
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
