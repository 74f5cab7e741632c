// Jobs of a trainer, and plans of jobs that pass the checker, for tests.
#ifndef EVENKEEL_TESTS_PLANNER_PLANS_H_
#define EVENKEEL_TESTS_PLANNER_PLANS_H_

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "planner/make_plan.h"
#include "planner/space/trainer_recompute.h"
#include "planner/trainer/trainers.h"

namespace evenkeel::planner {

// Returns the job as server/convert makes it for another trainer, where it sets nothing else.
inline Job TrainedBy(Job job, std::string_view trainer) {
  Training& training = job.training;
  training.trainer = FindTrainer(trainer);
  training.zero_stage = training.trainer->zero_stage;
  training.execution = DefaultExecution(*training.trainer, training.zero_stage);
  training.distributed_gradients_fp32 = training.trainer->fp32_gradients;
  job.constraints.recompute = FreestRecompute(*training.trainer);
  if (!training.trainer->tensor_parallel) job.constraints.tensor_parallel = {1, 1};
  if (!training.trainer->expert_parallel) job.constraints.expert_parallel = {1, 1};
  return job;
}

// Makes a job of samples of one length, one in a pack.
inline Job LongTextJob(std::string_view language_model, std::string_view gpu, int64_t gpu_count,
                       int64_t tokens, std::string_view trainer = "megatron-core") {
  Job job = TrainedBy(TextJob(language_model, gpu, gpu_count), trainer);
  job.dataset = {};
  job.dataset.bins = {{.llm_tokens = tokens, .count = 4096}};
  job.training.token_cap = tokens;
  job.training.global_batch_samples = 4 * gpu_count;
  return job;
}

// Plans the job to the end. Faults that the checker finds fail the test.
inline Plan CheckedPlan(const Job& job) {
  const PlanResult result = MakePlan(job, {});
  EXPECT_EQ(result.end, PlanEnd::kComplete);
  for (const std::string& fault : result.faults) ADD_FAILURE() << fault;
  return result.plan;
}

}  // namespace evenkeel::planner

#endif  // EVENKEEL_TESTS_PLANNER_PLANS_H_
