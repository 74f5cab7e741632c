// Tests modules whose inputs are kept in host memory, tables that train with adapters, and
// sorted micro-batches: requests, refusals and what answers repeat.
#include <gtest/gtest.h>

#include <string>

#include "evenkeel/v1/planner_service.pb.h"
#include "planner/job.h"
#include "planner/space/offload.h"
#include "server/convert/answer/to_proto.h"
#include "server/convert/job/from_proto.h"
#include "server/planning/fingerprint.h"
#include "tests/server/convert/requests.h"

namespace evenkeel::server {
namespace {

using planner::Job;

v1::PlanJobRequest Asked(const std::string& training, const std::string& rest = "",
                         const std::string& model = "mixtral-8x7b", const std::string& more = "") {
  return Parse("job { model { name: \"" + model + "\" " + more + R"( }
      dataset { histogram { llm_tokens: 4096 sample_count: 9000 } }
      cluster { pools { gpu_type: "a100-sxm-80gb" gpu_count: 32 } } training { )" +
               training + " } " + rest + " }");
}

std::string Faults(const v1::PlanJobRequest& request) {
  Job job;
  std::string lines;
  for (const Violation& v : JobFromProto(request, &job))
    lines += v.field + ": " + v.description + "\n";
  return lines;
}

std::string Offloading(const std::string& offload, const std::string& rest = "") {
  return Faults(Asked("offload { " + offload + " }", rest));
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ModulesTest, AreGivenOrChosen) {
  const planner::ActivationOffload given =
      JobOf(Asked("offload { activation_modules: OFFLOAD_MODULE_CORE_ATTENTION "
                  "activation_modules: OFFLOAD_MODULE_MOE_ACTIVATION optimizer_ratio: 0.5 }"))
          .training.activations;
  EXPECT_TRUE(given.asked && given.of_modules && given.choose);
  EXPECT_EQ(given.given_modules, planner::OffloadModules{planner::kOffloadCoreAttention |
                                                         planner::kOffloadMoeActivation});
  const planner::ActivationOffload chosen =
      JobOf(Asked("offload { choose_activation_modules: true }")).training.activations;
  EXPECT_TRUE(chosen.of_modules && chosen.choose);
  EXPECT_EQ(chosen.given_modules, 0u);
  // A module that the model lacks moves nothing.
  EXPECT_EQ(JobOf(Asked("offload { activation_modules: OFFLOAD_MODULE_QKV activation_modules: "
                        "OFFLOAD_MODULE_ATTENTION_NORM }"))
                .training.activations.given_modules,
            planner::OffloadModules{planner::kOffloadQkv});
}

TEST(ModulesTest, RefusesWhatCannotBe) {
  const std::string qkv = "activation_modules: OFFLOAD_MODULE_QKV ";
  EXPECT_EQ(Offloading(qkv), "");
  EXPECT_TRUE(Has(Offloading(qkv + qkv), "activation_modules[1]: OFFLOAD_MODULE_QKV is listed"));
  EXPECT_TRUE(Has(Offloading("activation_modules: OFFLOAD_MODULE_UNSPECIFIED"),
                  "activation_modules[0]: must be a module; accepted here: OFFLOAD_MODULE_QKV"));
  EXPECT_TRUE(Has(Offloading("activation_modules: 99"), "activation_modules[0]: unknown value 99"));
  EXPECT_TRUE(Has(Offloading("activation_modules: OFFLOAD_MODULE_ATTENTION_PROJECTION"),
                  "needs OFFLOAD_MODULE_CORE_ATTENTION"));
  EXPECT_TRUE(Has(Offloading("activation_modules: OFFLOAD_MODULE_ATTENTION_NORM"),
                  "must list a module that the model has: OFFLOAD_MODULE_QKV"));
  EXPECT_TRUE(Has(Offloading(qkv + "choose_activation_modules: true"),
                  "choose_activation_modules: must be false: activation_modules is set"));
  EXPECT_TRUE(Has(Faults(Asked("offload { activation_layers: 4 " + qkv + " }", "", "llama3.1-8b")),
                  "a trainer offloads either whole layers or modules"));
  EXPECT_TRUE(Has(Offloading(qkv, "constraints { recompute: RECOMPUTE_POLICY_FULL }"),
                  "constraints.recompute: does not go with modules"));
  EXPECT_EQ(Offloading(qkv,
                       "constraints { virtual_stages { min: 2 } schedule: "
                       "PIPELINE_SCHEDULE_INTERLEAVED }"),
            "");
  EXPECT_TRUE(Has(
      Faults(Asked("trainer { name: \"torchtune\" } offload { " + qkv + " }", "", "llama3.1-8b")),
      "accepted with trainers"));
  EXPECT_TRUE(Has(Faults(Asked("group_selection: GROUP_SELECTION_EXACT offload { " + qkv + " }")),
                  "GROUP_SELECTION_ONE"));
}

TEST(ModulesTest, AnswersRepeatWhatWasAsked) {
  const Job job = JobOf(Asked("offload { activation_modules: OFFLOAD_MODULE_EXPERT_FC1 }"));
  planner::Plan plan;
  plan.offload = planner::OffloadPlan{
      .activations_asked = true, .of_modules = true, .modules = planner::kOffloadExpertFc1};
  v1::Plan out;
  PlanToProto(job, plan, "plan-0", &out);
  ASSERT_EQ(out.subject().offload().activation_modules_size(), 1);
  EXPECT_EQ(out.subject().offload().activation_modules(0), v1::OFFLOAD_MODULE_EXPERT_FC1);
  EXPECT_FALSE(out.subject().offload().choose_activation_modules());
  ASSERT_EQ(out.offload().activation_modules_size(), 1);
  EXPECT_FALSE(out.offload().has_activation_layers());
}

TEST(ModulesTest, AdaptersTakeTables) {
  const std::string lora = "language_model_train_mode: TRAIN_MODE_LORA ";
  const planner::LanguageModel& m =
      JobOf(Asked("", "", "llama3.1-8b", lora + "lora { train_embedding: true }"))
          .model.language_model;
  EXPECT_TRUE(m.lora.train_embedding);
  EXPECT_TRUE(planner::SavesEmbedding(m));
  EXPECT_FALSE(planner::SavesHead(m));
  EXPECT_TRUE(Has(Faults(Asked("", "", "internvl-chat-v1.5",
                               "encoder_train_mode: TRAIN_MODE_LORA lora { train_head: true }")),
                  "job.model.lora.train_head: must be false: the language model does not train"));
}

TEST(ModulesTest, AdaptersHaveDropout) {
  const std::string lora = "language_model_train_mode: TRAIN_MODE_LORA ";
  const auto dropout = [&](const std::string& ratio) {
    return JobOf(Asked("", "", "llama3.1-8b", lora + "lora { dropout_ratio: " + ratio + " }"))
        .model.language_model.lora.dropout;
  };
  EXPECT_TRUE(dropout(".05"));
  EXPECT_FALSE(dropout("0"));
  EXPECT_TRUE(Has(Faults(Asked("", "", "llama3.1-8b", lora + "lora { dropout_ratio: 1 }")),
                  "job.model.lora.dropout_ratio: must be"));
}

TEST(ModulesTest, MicroBatchesAreSorted) {
  const Job job = JobOf(Asked("micro_batch_samples: 4 group_by_length: true"));
  EXPECT_TRUE(job.training.group_by_length);
  EXPECT_TRUE(Has(Faults(Asked("group_by_length: true")),
                  "training.group_by_length: must be false without micro_batch_samples"));
  EXPECT_TRUE(Has(Faults(Asked("micro_batch_samples: 4 group_by_length: true "
                               "padding { tokens: 8192 }")),
                  "training.group_by_length: must be false with padding.tokens"));
  for (const char* const multiple : {"-8192", "-2147483648", "0", "65537", "2147483647"}) {
    const std::string training =
        std::string("micro_batch_samples: 4 padding { multiple: ") + multiple + " }";
    const bool usual = multiple == std::string("0");
    EXPECT_EQ(Has(Faults(Asked(training)), "training.padding.multiple: must be"), !usual)
        << multiple;
  }
  v1::Plan out;
  PlanToProto(job, planner::Plan{}, "plan-0", &out);
  EXPECT_TRUE(out.subject().group_by_length());
}

}  // namespace
}  // namespace evenkeel::server
