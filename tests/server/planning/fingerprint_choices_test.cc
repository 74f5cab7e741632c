// Tests that ids tell apart what newer choices say, and are those of before where nothing is said.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "planner/job.h"
#include "planner/space/offload.h"
#include "server/planning/fingerprint.h"
#include "tests/planner/jobs.h"

namespace evenkeel::server {
namespace {

using planner::Job;

using Changes = std::vector<std::function<void(Job&)>>;

void ExpectAllDiffer(const Job& job, const Changes& changes) {
  std::set<std::string> ids;
  for (const auto& change : changes) {
    Job changed = job;
    change(changed);
    ids.insert(PlanId(changed));
  }
  EXPECT_EQ(ids.size(), changes.size());
}

TEST(PlanId, TellsWhatFsdpDoesApart) {
  ExpectAllDiffer(planner::TextJob("llama3-8b", "h100-sxm-80gb", 8),
                  {[](Job&) {}, [](Job& j) { j.training.execution.pools_gradients = true; },
                   [](Job& j) { j.training.execution.tensor_loss_bytes_per_logit = 4; },
                   [](Job& j) { j.training.execution.gather_traffic_bytes = 4; },
                   [](Job& j) { j.training.execution.reduce_traffic_bytes = 4; },
                   [](Job& j) { j.training.execution.reduces_fp32 = true; },
                   [](Job& j) { j.training.execution.autocast = true; },
                   [](Job& j) { j.training.execution.fused_activation = planner::Fusion::kApart; },
                   [](Job& j) { j.training.execution.fused_activation = planner::Fusion::kFused; },
                   [](Job& j) { j.training.execution.fused_rotary = planner::Fusion::kApart; },
                   [](Job& j) { j.training.execution.rms_norm_bytes = 3; },
                   [](Job& j) { j.training.execution.stores_weight_remainders = true; },
                   [](Job& j) { j.training.execution.copies_tensor_rows = true; },
                   [](Job& j) { j.training.execution.fp32_adapters = true; },
                   [](Job& j) { j.training.execution.repeats_expert_exchanges = true; },
                   [](Job& j) { j.training.execution.adapter_gather_ns = 4e5; }});
}

TEST(PlanId, TellsModulesTablesAndSortedMicroBatchesApart) {
  Job job = planner::TextJob("mixtral-8x7b", "h100-sxm-80gb", 8);
  job.model.language_model.train = planner::TrainMode::kLora;
  job.training.micro_batch_samples = 4;
  const Changes changes = {
      [](Job&) {},
      [](Job& j) { planner::AskModuleOffload(0, &j); },
      [](Job& j) { planner::AskModuleOffload(planner::kOffloadQkv, &j); },
      [](Job& j) { planner::AskModuleOffload(planner::kOffloadExpertFc1, &j); },
      [](Job& j) { planner::AskActivationOffload(0, &j); },
      [](Job& j) { j.model.language_model.lora.train_embedding = true; },
      [](Job& j) { j.model.language_model.lora.train_head = true; },
      [](Job& j) { j.model.language_model.lora.dropout = true; },
      [](Job& j) { j.training.group_by_length = true; },
      [](Job& j) { j.training.execution.deterministic = true; }};
  ExpectAllDiffer(job, changes);
}

}  // namespace
}  // namespace evenkeel::server
