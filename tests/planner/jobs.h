// Jobs for tests and benchmarks, as server/convert would hand them to the planner.
#ifndef EVENKEEL_TESTS_PLANNER_JOBS_H_
#define EVENKEEL_TESTS_PLANNER_JOBS_H_

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "planner/catalog/catalog.h"
#include "planner/catalog/default_dataset.h"
#include "planner/hardware/gpus.h"
#include "planner/job.h"

namespace evenkeel::planner {

inline Cluster ClusterOf(std::string_view gpu, int64_t gpu_count) {
  Cluster cluster;
  cluster.gpu = FindGpu(gpu)->spec;
  cluster.gpu_count = gpu_count;
  cluster.gpus_per_node = std::min<int64_t>(8, gpu_count);
  const bool linked = cluster.gpu.scaleup_bytes_per_second > 0 && !cluster.gpu.scaleup_pairs_only;
  cluster.intra_node_bytes_per_second =
      linked ? cluster.gpu.scaleup_bytes_per_second : cluster.gpu.pcie_bytes_per_second;
  cluster.inter_node_bytes_per_second = 12.5e9;
  return cluster;
}

// Makes a job with the defaults of the contract: 512 samples per step, data assumed.
inline Job TextJob(std::string_view language_model, std::string_view gpu, int64_t gpu_count) {
  Job job;
  job.model.language_model = FindLanguageModel(language_model)->spec;
  job.model.name = job.model.language_model.name;
  job.dataset = DefaultTextDataset();
  job.cluster = ClusterOf(gpu, gpu_count);
  job.training.global_batch_samples = 512;
  return job;
}

// Makes a job whose trainer can cut the encoder. Ranks share no images.
inline Job VisionJob(std::string_view encoder, std::string_view language_model,
                     std::string_view gpu, int64_t gpu_count) {
  Job job = TextJob(language_model, gpu, gpu_count);
  Encoder e = FindEncoder(encoder)->spec;
  if (e.tokens_per_unit == 0) e.tokens_per_unit = 1025;
  if (e.llm_tokens_per_unit == 0) e.llm_tokens_per_unit = 256;
  job.model.towers.push_back({e, DefaultProjector(e, job.model.language_model.hidden)});
  job.dataset = DefaultVisionLanguageDataset(e.llm_tokens_per_unit);
  job.training.trainer = FindTrainer("unlimited");
  job.constraints.encoder_data = {1, 1};
  return job;
}

// Makes OmniBal's main case (table 9, row 2).
inline Job QuickstartJob() {
  return VisionJob("internvit-6b-448px-v1.5", "internlm2-20b", "a100-sxm-80gb", 32);
}

inline void FixDegrees(Job& job, int64_t tensor, int64_t pipeline, int64_t data) {
  job.constraints.tensor_parallel = {tensor, tensor};
  job.constraints.pipeline_parallel = {pipeline, pipeline};
  job.constraints.data_parallel = {data, data};
}

// Frees every degree of the contract: TP x PP x DP x CP x EP x virtual stages.
inline Job WholeSpace(Job job) {
  job.constraints.context_parallel = job.constraints.expert_parallel =
      job.constraints.virtual_stages = job.constraints.encoder_data = {1, 0};
  return job;
}

}  // namespace evenkeel::planner

#endif  // EVENKEEL_TESTS_PLANNER_JOBS_H_
