#include "server/convert/answer/catalog_to_proto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "evenkeel/v1/catalog.pb.h"
#include "evenkeel/v1/planner_service.pb.h"
#include "planner/catalog/catalog.h"
#include "planner/hardware/gpus.h"
#include "planner/trainer/trainers.h"
#include "server/convert/config/published_models.h"
#include "server/convert/job/from_proto.h"

namespace evenkeel::server {
namespace {

v1::ListModelsResponse Models(const std::string& filter) {
  v1::ListModelsRequest request;
  request.set_filter(filter);
  v1::ListModelsResponse response;
  EXPECT_TRUE(ListModels(request, &response).empty());
  return response;
}

TEST(ListModels, AllByKindAndName) {
  const v1::ListModelsResponse all = Models("");
  EXPECT_EQ(static_cast<size_t>(all.models_size()),
            planner::LanguageModels().size() + planner::Encoders().size() +
                planner::VisionLanguageModels().size() + PublishedModels().size());
  EXPECT_EQ(all.catalog_version(), planner::kCatalogVersion);
  EXPECT_TRUE(all.next_page_token().empty());
  for (int i = 1; i < all.models_size(); ++i) {
    EXPECT_LT(std::tuple(all.models(i - 1).kind(), all.models(i - 1).name()),
              std::tuple(all.models(i).kind(), all.models(i).name()));
  }
}

TEST(ListModels, FiltersByNameOrAliasInAnyCase) {
  const v1::ListModelsResponse found = Models("InternVL-1.5");
  ASSERT_EQ(found.models_size(), 1);
  const v1::CatalogModel& model = found.models(0);
  EXPECT_EQ(model.name(), "internvl-chat-v1.5");
  EXPECT_EQ(model.layers(), 93);
  EXPECT_EQ(model.llm_tokens_per_unit(), 256);
  EXPECT_EQ(model.components_size(), 2);
  EXPECT_EQ(Models("no such model").models_size(), 0);
}

TEST(ListModels, AllAreAcceptedByName) {
  const v1::ListModelsResponse all = Models("");
  for (const v1::CatalogModel& model : all.models()) {
    EXPECT_TRUE(model.plannable()) << model.name();
    v1::PlanJobRequest request;
    const bool encoder = model.kind() == v1::MODEL_KIND_ENCODER;
    request.mutable_job()->mutable_model()->set_name(encoder ? model.name() + "+qwen3-8b"
                                                             : model.name());
    auto* pool = request.mutable_job()->mutable_cluster()->add_pools();
    pool->set_gpu_type("h100");
    pool->set_gpu_count(8);
    planner::Job job;
    EXPECT_THAT(JobFromProto(request, &job), testing::IsEmpty()) << model.name();
  }
}

TEST(ListModels, PagesCoverAllOnce) {
  std::set<std::string> names;
  v1::ListModelsRequest request;
  request.set_page_size(7);
  do {
    v1::ListModelsResponse page;
    ASSERT_TRUE(ListModels(request, &page).empty());
    ASSERT_LE(page.models_size(), 7);
    for (const v1::CatalogModel& model : page.models()) {
      EXPECT_TRUE(names.insert(model.name()).second) << model.name();
    }
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  EXPECT_EQ(names.size(), static_cast<size_t>(Models("").models_size()));
}

TEST(ListModels, RefusesWhatItCanNotRead) {
  const std::string version(planner::kCatalogVersion);
  for (const std::string& token :
       {std::string("7"), version + "/", version + "/-7", version + "/7x",
        std::string("1999.1.1/7"), version + "/99999999999999999999999"}) {
    v1::ListModelsRequest request;
    request.set_filter(std::string(129, 'a'));
    request.set_page_size(-1);
    request.set_page_token(token);
    v1::ListModelsResponse response;
    const std::vector<Violation> violations = ListModels(request, &response);
    ASSERT_EQ(violations.size(), 3u) << token;
    EXPECT_EQ(violations[0].field, "filter");
    EXPECT_EQ(violations[1].field, "page_size");
    EXPECT_EQ(violations[2].field, "page_token");
    EXPECT_EQ(response.models_size(), 0);
  }
}

TEST(ListModels, APageBeyondTheEndIsEmpty) {
  v1::ListModelsRequest request;
  request.set_page_token(std::string(planner::kCatalogVersion) + "/100000");
  v1::ListModelsResponse response;
  EXPECT_TRUE(ListModels(request, &response).empty());
  EXPECT_EQ(response.models_size(), 0);
}

TEST(ListGpuTypes, AllByName) {
  v1::ListGpuTypesResponse all;
  EXPECT_TRUE(ListGpuTypes({}, &all).empty());
  EXPECT_EQ(static_cast<size_t>(all.gpus_size()), planner::Gpus().size());
  for (int i = 0; i < all.gpus_size(); ++i) {
    const v1::CatalogGpu& gpu = all.gpus(i);
    if (i > 0) {
      EXPECT_LT(all.gpus(i - 1).name(), gpu.name());
    }
    EXPECT_TRUE(gpu.vendor() == "nvidia" || gpu.vendor() == "amd") << gpu.name();
    EXPECT_FALSE(gpu.source().empty()) << gpu.name();
    EXPECT_GT(gpu.memory_bytes(), 0) << gpu.name();
  }
}

TEST(ListGpuTypes, SaysWhichHaveMeasuredKernels) {
  v1::ListGpuTypesRequest request;
  request.set_filter("h100-sxm-80gb");
  v1::ListGpuTypesResponse found;
  EXPECT_TRUE(ListGpuTypes(request, &found).empty());
  ASSERT_GE(found.gpus_size(), 1);
  EXPECT_TRUE(found.gpus(0).measured_kernels());
}

TEST(ListTrainers, ShowsTheirDefaults) {
  v1::ListTrainersResponse all;
  EXPECT_TRUE(ListTrainers({}, &all).empty());
  EXPECT_EQ(static_cast<size_t>(all.trainers_size()), planner::Trainers().size());
  for (int i = 1; i < all.trainers_size(); ++i)
    EXPECT_LT(all.trainers(i - 1).name(), all.trainers(i).name());
  v1::ListTrainersRequest request;
  request.set_filter("Foundry");
  v1::ListTrainersResponse found;
  EXPECT_TRUE(ListTrainers(request, &found).empty());
  ASSERT_EQ(found.trainers_size(), 1);
  const v1::CatalogTrainer& trainer = found.trainers(0);
  EXPECT_EQ(trainer.name(), "llm-foundry");
  EXPECT_EQ(trainer.aliases(0), "fsdp-llm-foundry");
  EXPECT_EQ(trainer.framework(), v1::TRAINING_FRAMEWORK_FSDP);
  EXPECT_EQ(trainer.zero_stage(), v1::ZERO_STAGE_3);
  EXPECT_TRUE(trainer.execution().casts_master_weights());
  EXPECT_FALSE(trainer.execution().fused_kernels());
  EXPECT_EQ(trainer.fitted_run_count(), 58);
  EXPECT_FALSE(trainer.has_offload());
  EXPECT_FALSE(trainer.fused_step());
}

TEST(ListTrainers, ShowsWhatTheyCanKeepInHostMemory) {
  v1::ListTrainersResponse all;
  EXPECT_TRUE(ListTrainers({}, &all).empty());
  std::map<std::string, v1::CatalogTrainer> trainers;
  for (const v1::CatalogTrainer& trainer : all.trainers()) trainers[trainer.name()] = trainer;
  const v1::OffloadAbility& megatron = trainers["megatron-core"].offload();
  ASSERT_EQ(megatron.optimizer_share_stages_size(), 1);
  EXPECT_EQ(megatron.optimizer_share_stages(0), v1::ZERO_STAGE_1);
  EXPECT_EQ(megatron.optimizer_stages_size(), 1);
  EXPECT_TRUE(megatron.optimizer_overlaps());
  EXPECT_FALSE(megatron.weights());
  EXPECT_TRUE(megatron.activations().all_kept() && megatron.activations().any_count());
  EXPECT_FALSE(megatron.activations().pipeline() || megatron.activations().all_layers());
  const v1::OffloadAbility& deepspeed = trainers["deepspeed"].offload();
  EXPECT_EQ(deepspeed.optimizer_stages_size(), 3);
  ASSERT_EQ(deepspeed.optimizer_share_stages_size(), 1);
  EXPECT_EQ(deepspeed.optimizer_share_stages(0), v1::ZERO_STAGE_3);
  EXPECT_TRUE(deepspeed.weights());
  EXPECT_FALSE(deepspeed.has_activations());
  EXPECT_TRUE(trainers["torchtune"].offload().activations().inputs());
  EXPECT_TRUE(trainers["torchtune"].fused_step() && trainers["torchtitan"].fused_step());
  EXPECT_FALSE(trainers["megatron-core"].fused_step());
}

}  // namespace
}  // namespace evenkeel::server
